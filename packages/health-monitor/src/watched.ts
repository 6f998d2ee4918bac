// SPDX-License-Identifier: Apache-2.0
/**
 * What the health monitor watches, and how little of it is kept.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | PersistentVolume | of this driver, and of the in-tree plugin that it replaces | identity, phase, deletion, handle, reference to the claim |
 * | PersistentVolumeClaim | those with a volume of the first row, and those that have health | identity, name of the volume, health |
 *
 * Both are only read, and claims are patched, so partial objects in the cache are enough.
 *
 * A claim does not say which driver has its volume, so its volume has to be known first: claims are listed when the volumes are in the cache. Later
 * the order is that of Kubernetes, which writes a PersistentVolume before the claim that is Bound to it. If the watch of volumes is behind
 * all the same, the claim is not kept; should its volume be reported as unhealthy, then the claim loop reads it (`findClaim`). A claim with health
 * is kept whatever its volume is: it loses the health when its PersistentVolume is gone.
 */
import {
  definedOnly,
  identityOf,
  type InformerOptions,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { toCsiVolume } from '@csi-sidecars/volume';
import { hasHealth, healthOf } from './report/health-status.ts';

export interface Watched {
  /** Index `handle`: by the name that the driver has for the volume. */
  readonly volumes: InformerOptions<PersistentVolume>;
  readonly claims: InformerOptions<PersistentVolumeClaim>;
}

export interface WatchedKinds {
  readonly volumes: PersistentVolume;
  readonly claims: PersistentVolumeClaim;
}

export function watchedBy({ driverName }: { readonly driverName: string }): Watched {
  const volumes: InformerOptions<PersistentVolume> = {
    resource: persistentVolumes,
    indexers: { handle: (volume) => [handleOf(volume)] },
    transform: {
      id: `health-monitor volumes of ${driverName}`,
      apply: (volume) => trimVolume(volume, driverName),
    },
  };
  return {
    volumes,
    claims: {
      resource: persistentVolumeClaims,
      transform: {
        id: 'health-monitor claims',
        apply: (claim) => ((claim.spec?.volumeName ?? '') === '' ? undefined : trimClaim(claim)),
      },
      dependsOn: (informerOf) => {
        const others = informerOf(volumes);
        return {
          whenSynced: (signal) => others.whenSynced(signal),
          keep: (claim) => {
            const volume = others.lister.get(toObjectKey(undefined, claim.spec?.volumeName ?? ''));
            if (volume !== undefined) return withStringsOf(volume, claim);
            return hasHealth(claim) ? claim : undefined;
          },
        };
      },
    },
  };
}

/** Undefined: it is not of this driver. An in-tree volume is kept as the CSI volume that it is for the driver. */
function trimVolume(volume: PersistentVolume, driverName: string): PersistentVolume | undefined {
  const csi = toCsiVolume(volume);
  if (csi.kind !== 'ok' || csi.value.csi.driver !== driverName) return undefined;
  const { apiVersion = 'v1', kind = 'PersistentVolume', metadata, spec, status } = volume;
  const { deletionTimestamp } = metadata ?? {};
  const identity = identityOf(metadata);
  const handle = { driver: driverName, volumeHandle: csi.value.csi.volumeHandle ?? '' };
  // Fields that are written down here take less memory than those that are added later.
  return {
    apiVersion,
    kind,
    metadata: deletionTimestamp === undefined ? identity : { ...identity, deletionTimestamp },
    spec: spec?.claimRef === undefined ? { csi: handle } : { csi: handle, claimRef: trimReference(spec.claimRef) },
    status: definedOnly({ phase: status?.phase }),
  };
}

type Reference = NonNullable<NonNullable<PersistentVolume['spec']>['claimRef']>;

function trimReference({ namespace, name, uid }: Reference): Reference {
  const isWhole = namespace !== undefined && name !== undefined && uid !== undefined;
  return isWhole ? { namespace, name, uid } : definedOnly({ namespace, name, uid });
}

/** What is kept of a claim. */
export function trimClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { apiVersion = 'v1', kind = 'PersistentVolumeClaim' } = claim;
  const healthStatus = healthOf(claim);
  const metadata = identityOf(claim.metadata);
  const spec = claim.spec?.volumeName === undefined ? {} : { volumeName: claim.spec.volumeName };
  if (healthStatus === undefined) return { apiVersion, kind, metadata, spec };
  return { apiVersion, kind, metadata, spec, status: { healthStatus } } as PersistentVolumeClaim;
}

/** The same claim. What it has in common with its volume is in memory once. */
function withStringsOf(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { namespace = '', name = '', uid = '' } = claimRefOf(volume) ?? {};
  const { metadata: own } = claim;
  if (own?.namespace !== namespace || own.name !== name || own.uid !== uid) return claim;
  const { resourceVersion = '' } = own;
  const spec = { volumeName: volume.metadata?.name ?? '' };
  return { ...claim, metadata: { namespace, name, uid, resourceVersion }, spec };
}

/** A claim as a PersistentVolume names it. */
export interface ClaimRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export function handleOf({ spec }: PersistentVolume): string {
  return spec?.csi?.volumeHandle ?? '';
}

/** Undefined: the volume names no claim. */
export function claimRefOf({ spec }: PersistentVolume): ClaimRef | undefined {
  const { namespace = '', name = '', uid = '' } = spec?.claimRef ?? {};
  return name === '' ? undefined : { namespace, name, uid };
}

export function claimKeyOf({ namespace, name }: ClaimRef): ObjectKey {
  return toObjectKey(namespace, name);
}

/** The driver is asked about the volumes that are Bound to a claim and are not being deleted. */
export function isMonitored(volume: PersistentVolume): boolean {
  return (
    volume.status?.phase === 'Bound' &&
    volume.metadata?.deletionTimestamp === undefined &&
    claimRefOf(volume) !== undefined &&
    handleOf(volume) !== ''
  );
}
