// SPDX-License-Identifier: Apache-2.0
/** The class of a snapshot. Pure. */
import {
  refuse,
  type Result,
  snapshotAnnotations,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
} from '@csi-sidecars/volume';
import { classNamed, type ClassKind, defaultClassOf, missingClass } from '../class-resolution.ts';
import type { Problem } from '../save-error.ts';
import { missingClaim, sourceVolume } from '../source-volume.ts';
import * as messages from './messages.ts';
import { snapshotKey } from './snapshot.ts';
import type { Observed } from './observe.ts';

export const classKind: ClassKind = {
  resource: 'volumesnapshotclass.snapshot.storage.k8s.io',
  defaultMark: snapshotAnnotations.isDefaultClass,
  noDefault: 'cannot find default snapshot class',
};

/** The default class of the driver whose volume the claim has. */
export function defaultClassFor(
  { classes, claim, volume: found }: Pick<Observed, 'classes' | 'claim' | 'volume'>,
  snapshot: VolumeSnapshot,
): Result<VolumeSnapshotClass> {
  const claimName = snapshot.spec?.source?.persistentVolumeClaimName;
  if (claimName === undefined) return refuse('the snapshot source PVC name is not specified');
  const key = snapshotKey(snapshot);
  if (claimName === '') return refuse(`the PVC name is not specified in snapshot ${key}`);
  if (claim === undefined) return refuse(missingClaim(claimName));
  const volume = sourceVolume({ claim, volume: found }, 'snapshot');
  if (volume.kind === 'error') return volume;
  const driver = volume.value.spec?.csi?.driver;
  if (driver === undefined) return refuse(`snapshotting non-CSI volumes is not supported, snapshot:${key}`);
  return defaultClassOf(classes, driver, classKind);
}

/** For the metrics. Empty: it is not known. */
export function driverOf(
  { content, classes }: Pick<Observed, 'content' | 'classes'>,
  { spec }: VolumeSnapshot,
): string {
  return content?.spec?.driver ?? classNamed(classes, spec?.volumeSnapshotClassName)?.driver ?? '';
}

/** The class that the snapshot names does not exist. */
export function missingClassOf({ classes }: Pick<Observed, 'classes'>, { spec }: VolumeSnapshot): Problem | undefined {
  const name = spec?.volumeSnapshotClassName;
  return name === undefined || classNamed(classes, name) !== undefined
    ? undefined
    : messages.classFailed(missingClass(classKind, name));
}
