// SPDX-License-Identifier: Apache-2.0
/** A claim, from its class to the pods that use it. */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  storageClasses,
} from '@csi-sidecars/runtime';
import { valueOf } from '../cluster/reader.ts';
import { classNameOf, isBeingDeleted, nameOf, objectName } from '../facts/objects.ts';
import { isAttachRequired, volumeFactsOf } from '../facts/volume.ts';
import { type Verdict, worst } from '../verdict.ts';
import { change, type Context, getYaml, verdictOf } from './context.ts';
import { deletedClaim } from './deleted-claim.ts';
import { growing, modifying } from './growing.ts';
import { withHealth } from './health.ts';
import type { Judged, Track } from './judged.ts';
import { mounted } from './mounting.ts';
import { driverOf, unbound } from './unbound.ts';

export const deletionTrack: Track = {
  stages: [{ id: 'protect' }, { id: 'release' }, { id: 'detach' }, { id: 'delete' }, { id: 'forget' }],
};

export async function judgeClaim(context: Context, claim: PersistentVolumeClaim): Promise<Judged> {
  const { reader } = context;
  const name = claim.spec?.volumeName ?? '';
  const isBound = claim.status?.phase === 'Bound' && name !== '';
  const className = classNameOf(claim) ?? '';
  const storageClass =
    className === '' || isBeingDeleted(claim)
      ? undefined
      : valueOf(await reader.get(storageClasses, { name: className }, 'which driver makes the volume'));
  const volume = name === '' ? undefined : await reader.get(persistentVolumes, { name }, 'which driver has the volume');
  const facts = volume?.kind === 'found' ? volumeFactsOf(volume.value) : undefined;
  const driver = facts?.driver ?? (volume?.kind === 'found' ? undefined : driverOf(claim, storageClass));
  if (isBeingDeleted(claim)) return { verdict: await deletedClaim(context, claim), driver, track: deletionTrack };
  const attachRequired = !isBound || driver === undefined ? undefined : await isAttachRequired(reader, driver);
  const verdict =
    isBound && volume !== undefined
      ? withHealth(claim, await bound(context, claim, volume))
      : (lost(claim) ?? (await unbound(context, claim)));
  const isLate = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
  const hasSource = (claim.spec?.dataSourceRef ?? claim.spec?.dataSource) !== undefined;
  const track: Track = {
    stages: [
      { id: 'class', detail: className || undefined },
      { id: 'schedule', isSkipped: storageClass !== undefined && !isLate },
      { id: 'source', isSkipped: !hasSource },
      { id: 'provision' },
      { id: 'record' },
      { id: 'bind', detail: name || undefined },
      { id: 'attach', isSkipped: attachRequired === false },
      { id: 'stage' },
      { id: 'use' },
      ...(verdict.stage === 'grow' || verdict.stage === 'modify' ? [{ id: verdict.stage }] : []),
    ],
  };
  return { verdict, driver, attachRequired, track };
}

function lost(claim: PersistentVolumeClaim): Verdict | undefined {
  if (claim.status?.phase !== 'Lost') return undefined;
  return verdictOf(
    ['X10', 4, 'user', 'bind'],
    `PersistentVolume ${claim.spec?.volumeName ?? ''}, to which the claim was bound, is gone`,
    {
      changes: [change('make the claim again', objectName('PersistentVolumeClaim', claim))],
      retry: { will: 'no', because: 'a lost claim is not bound again' },
      next: getYaml('pvc', nameOf(claim), claim.metadata?.namespace),
    },
  );
}

async function bound(
  context: Context,
  claim: PersistentVolumeClaim,
  read: Awaited<ReturnType<typeof context.reader.get<PersistentVolume>>>,
): Promise<Verdict> {
  const name = claim.spec?.volumeName ?? '';
  if (read.kind === 'unknown')
    return verdictOf(['X40', 5, 'other', 'bind'], `the claim is bound; PersistentVolume ${name} cannot be read`, {
      next: getYaml('pv', name),
    });
  if (read.kind === 'absent') {
    return verdictOf(['X10', 4, 'user', 'bind'], `PersistentVolume ${name}, to which the claim is bound, is gone`, {
      retry: { will: 'no', because: 'a volume is not recorded again' },
      next: getYaml('pvc', nameOf(claim), claim.metadata?.namespace),
    });
  }
  const facts = volumeFactsOf(read.value);
  if (facts === undefined) return notCsi(read.value);
  const parts = [
    await mounted(context, { claim, volume: read.value, facts }),
    await growing(context, claim, facts.driver),
    await modifying(context, claim, facts.driver),
  ];
  const verdict = worst(parts.filter((part) => part !== undefined))!;
  return facts.isMigrated
    ? {
        ...verdict,
        sentence: `${verdict.sentence} (X4: in place of its in-tree plugin, driver ${facts.driver} serves the volume)`,
      }
    : verdict;
}

export function notCsi(volume: PersistentVolume): Verdict {
  return verdictOf(
    ['X3', 5, 'other', undefined],
    `no sidecar is involved: PersistentVolume ${nameOf(volume)} is no volume of a CSI driver`,
    { next: getYaml('pv', nameOf(volume)) },
  );
}
