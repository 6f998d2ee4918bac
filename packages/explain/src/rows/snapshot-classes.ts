// SPDX-License-Identifier: Apache-2.0
/** Row X102: what a snapshot names and does not exist, or does not fit. */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import {
  toCsiVolume,
  type VolumeGroupSnapshot,
  volumeGroupSnapshotClasses,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
} from '@csi-sidecars/volume';
import { valueOf } from '../cluster/reader.ts';
import { nameOf, objectName } from '../facts/objects.ts';
import type { Verdict } from '../verdict.ts';
import { change, type Context, describe, onChange, verdictOf } from './context.ts';
import type { Content, Followed } from './snapshot-contents.ts';

/** The same whether a content was made, as upstream's snapshot-controller does, or not. */
function otherDriver({ spec }: Followed['snapshot'], classDriver: string | undefined, volumeDriver: string): string {
  const name = (spec as VolumeSnapshot['spec'])?.volumeSnapshotClassName;
  const which = name === undefined || name === '' ? 'its class' : `class ${name}`;
  return `${which} is of driver ${classDriver}, and the volume of ${volumeDriver} (row S12 of snapshot-controller)`;
}

/** Row X102: no class, none that exists, one of another driver; no claim. */
export async function withoutSnapshotClass(context: Context, { of, snapshot }: Followed): Promise<Verdict | undefined> {
  const { reader } = context;
  const refuse = (why: string, what: string, field: string): Verdict =>
    verdictOf(['X102', 4, 'user', 'class'], why, {
      changes: [change(what, objectName(of.kind, snapshot), field)],
      retry: onChange('when it fits'),
      next: describe(of.plural, nameOf(snapshot), snapshot.metadata?.namespace),
    });
  const source = (snapshot as VolumeSnapshot).spec?.source?.persistentVolumeClaimName;
  const namespace = snapshot.metadata?.namespace;
  const claim =
    source === undefined
      ? undefined
      : await reader.get(persistentVolumeClaims, { namespace, name: source }, 'whether its claim exists');
  if (claim?.kind === 'absent')
    return refuse(
      `claim ${namespace}/${source} does not exist`,
      'take a snapshot of a claim that exists',
      'spec.source.persistentVolumeClaimName',
    );
  const className =
    'volumeGroupSnapshotClassName' in (snapshot.spec ?? {})
      ? (snapshot as VolumeGroupSnapshot).spec?.volumeGroupSnapshotClassName
      : (snapshot as VolumeSnapshot).spec?.volumeSnapshotClassName;
  if (className === undefined || className === '') return undefined;
  const kind = of.prefix === '' ? volumeSnapshotClasses : volumeGroupSnapshotClasses;
  const read = await reader.get<VolumeSnapshotClass>(kind, { name: className }, 'which driver takes the snapshot');
  if (read.kind === 'absent')
    return {
      ...refuse(
        `class ${className} does not exist (row S4 of snapshot-controller)`,
        'make the class, or the snapshot again with another',
        'spec',
      ),
      actor: 'administrator',
    };
  if (claim?.kind !== 'found' || read.kind !== 'found') return undefined;
  const driver = await driverOfClaim(context, claim.value.spec?.volumeName ?? '');
  if (driver === undefined || driver === read.value.driver) return undefined;
  return refuse(otherDriver(snapshot, read.value.driver, driver), 'take it with a class of that driver', 'spec');
}

async function driverOfClaim({ reader }: Context, volumeName: string): Promise<string | undefined> {
  if (volumeName === '') return undefined;
  const volume = valueOf(await reader.get(persistentVolumes, { name: volumeName }, 'which driver has the volume'));
  const csi = volume === undefined ? undefined : toCsiVolume(volume);
  return csi?.kind === 'ok' ? csi.value.csi.driver : undefined;
}

/** The content names the driver of the class; the volume may be of another. */
export async function foreignDriver(
  context: Context,
  { of, snapshot }: Followed,
  content: Content,
): Promise<Verdict | undefined> {
  const source = (snapshot as VolumeSnapshot).spec?.source?.persistentVolumeClaimName;
  if (content.status !== undefined || source === undefined) return undefined;
  const claim = valueOf(
    await context.reader.get(
      persistentVolumeClaims,
      { namespace: snapshot.metadata?.namespace, name: source },
      'whether its claim exists',
    ),
  );
  const driver = await driverOfClaim(context, claim?.spec?.volumeName ?? '');
  if (driver === undefined || driver === content.spec?.driver) return undefined;
  return verdictOf(['X102', 4, 'user', 'class'], otherDriver(snapshot, content.spec?.driver, driver), {
    changes: [change('take it with a class of that driver', objectName(of.kind, snapshot), 'spec')],
    next: describe(of.plural, nameOf(snapshot), snapshot.metadata?.namespace),
    retry: { will: 'no', because: 'the driver never has the volume' },
  });
}
