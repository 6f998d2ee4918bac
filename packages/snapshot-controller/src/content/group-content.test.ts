// SPDX-License-Identifier: Apache-2.0
/** The group content loop. */
import { snapshotFinalizers as finalizers, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aGroup, aGroupContent } from '../../testing/builders.ts';
import { aController } from '../../testing/controller-fixture.ts';
import { learnedInSilence, performed } from '../../testing/single-step.ts';
import { groupKind } from './kinds.ts';
import { performers } from './perform.ts';

const bare = aGroupContent({ metadata: { finalizers: ['a.io/b'] } });
const invalid =
  'Warning GroupContentValidationError groupsnapcontent-uid-of-group: Exactly one of GroupSnapshotHandles and VolumeHandles should be specified';

it.each([
  { given: 'no spec', spec: undefined as never, events: [invalid] },
  { given: 'no source', spec: { ...bare.spec, source: undefined as never }, events: [invalid] },
  { given: 'no reference', spec: { source: { volumeHandles: ['x'] } }, events: [] },
])('[P22] given a content with $given, then nothing crashes, and nothing is written', async ({ spec, events }) => {
  const content: VolumeGroupSnapshotContent = { ...bare, spec };
  const it = await aController({ with: [content, aGroup()] });
  expect(it.events.filter((line) => line.includes('GroupContentValidationError'))).toEqual(events);
  expect(it.groupContent()?.metadata?.finalizers).toEqual(['a.io/b']);
  await it.stop();
});

it('given a content that changed since it was cached, when its finalizer is added, then it is read again, written, and remembered', async () => {
  const stored = { object: bare, cache: 'outdated' } as const;
  const { learned, requests, remembered } = await performed(performers(groupKind), stored, (content) => ({
    row: 'K5',
    kind: 'protect',
    content,
  }));
  const patch = 'patch volumegroupsnapshotcontents';
  expect(requests).toEqual([`${patch} 409`, 'get volumegroupsnapshotcontents 200', `${patch} 200`]);
  expect(learned).toEqual({ protected: 'done' });
  expect(remembered?.metadata?.finalizers).toEqual(['a.io/b', finalizers.groupContent]);
});

it('given an API server that is silent, when the process must stop while the finalizer is added, then the request is cancelled', async () => {
  const action = { row: 'K5', kind: 'protect', content: bare };
  expect(await learnedInSilence(performers(groupKind), action)).toEqual({
    requests: 1,
    learned: { protected: 'aborted' },
  });
});
