// SPDX-License-Identifier: Apache-2.0
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { SubjectKind } from '../command/subject.ts';
import { type Actor, programs, type StageId } from '../verdict.ts';
import { verdictOf } from './context.ts';
import { pageOf, programOf } from './decision.ts';

interface Waits {
  readonly actor: Actor;
  readonly thenActor?: Actor;
  readonly stage?: StageId;
  readonly kind?: SubjectKind;
}

function inCharge({ actor, thenActor, stage, kind = 'PersistentVolumeClaim' }: Waits): string {
  return programOf({ verdict: verdictOf(['X1', 3, actor, stage], '', { thenActor }), kind }) ?? 'none';
}

it.each<readonly [waits: Waits, program: string]>([
  [{ actor: 'csi-attacher', thenActor: 'csi-resizer' }, 'csi-attacher'],
  [{ actor: 'administrator', thenActor: 'csi-snapshotter', stage: 'grow' }, 'csi-snapshotter'],
  [{ actor: 'driver', stage: 'provision' }, 'csi-provisioner'],
  [{ actor: 'storage', stage: 'provision' }, 'csi-provisioner'],
  [{ actor: 'administrator', stage: 'provision' }, 'csi-provisioner'],
  [{ actor: 'user', stage: 'provision' }, 'none'],
  [{ actor: 'kubelet', stage: 'provision' }, 'none'],
  [{ actor: 'driver', stage: 'delete', kind: 'PersistentVolume' }, 'csi-provisioner'],
  [{ actor: 'driver', stage: 'delete' }, 'none'],
  [{ actor: 'driver', stage: 'stage', kind: 'PersistentVolume' }, 'none'],
  [{ actor: 'driver', stage: 'attach', kind: 'VolumeAttachment' }, 'csi-attacher'],
  [{ actor: 'driver', stage: 'grow' }, 'csi-resizer'],
  [{ actor: 'driver', stage: 'modify' }, 'csi-resizer'],
  [{ actor: 'driver', stage: 'stage' }, 'none'],
])('given %j, when asked which program is in charge, then it is: %s', (waits, program) => {
  expect(inCharge(waits)).toBe(program);
});

it.each(programs)('given %s, when its page is named, then it exists', (program) => {
  expect(existsSync(join(import.meta.dirname, '../../../..', pageOf(program)))).toBe(true);
});
