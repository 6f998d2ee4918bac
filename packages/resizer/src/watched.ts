// SPDX-License-Identifier: Apache-2.0
/**
 * What the resizer watches, and how little of it is kept.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | PersistentVolumeClaim | those with a volume | the fields that the loops read: it is only ever patched |
 * | PersistentVolume | of this driver, and in-tree ones that it may serve | the fields that the loops read |
 * | Pod | those that have not finished and use claims | its claims |
 * | VolumeAttributesClass | all | driver name and parameters |
 *
 * A claim whose PersistentVolume is not kept belongs to another driver, or its PersistentVolume has not arrived yet. Its arrival
 * wakes the loops.
 */
import {
  type Change,
  definedOnly,
  identityOf,
  type InformerOptions,
  isTraceparent,
  type Lister,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  toObjectKey,
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { isInTree, replacesPlugin } from '@csi-sidecars/volume';
import { modifyStatusOf, volumeNameOf, wantedClassOf } from './claim.ts';
import { annotations } from './names.ts';

export interface WatchedOptions {
  readonly driverName: string;
  readonly resyncMs: number;
}

/** Index `class`: by the VolumeAttributesClasses that a claim waits for. */
export function watchedClaims({ resyncMs }: WatchedOptions): InformerOptions<PersistentVolumeClaim> {
  return {
    resource: persistentVolumeClaims,
    resyncMs,
    indexers: {
      class: (claim) => {
        const names = [wantedClassOf(claim), modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? ''];
        return [...new Set(names)].filter((name) => name !== '');
      },
    },
    transform: {
      id: 'resizer claims',
      apply: (claim) => (volumeNameOf(claim) === '' ? undefined : trimClaim(claim)),
    },
  };
}

function trimClaim({ metadata, spec, status }: PersistentVolumeClaim): PersistentVolumeClaim {
  const storage = (map: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> | undefined =>
    map?.['storage'] === undefined ? undefined : { storage: map['storage'] };
  return {
    metadata: {
      ...identityOf(metadata),
      ...definedOnly({
        annotations: keptAnnotations(metadata?.annotations, [
          annotations.storageResizer,
          annotations.nodeExpansionNotRequired,
        ]),
        deletionTimestamp: metadata?.deletionTimestamp,
      }),
    },
    spec: definedOnly({
      volumeName: spec?.volumeName,
      volumeAttributesClassName: spec?.volumeAttributesClassName,
      resources: definedOnly({ requests: storage(spec?.resources?.requests) }),
    }),
    status: definedOnly({
      phase: status?.phase,
      capacity: storage(status?.capacity),
      allocatedResources: storage(status?.allocatedResources),
      allocatedResourceStatuses: storage(status?.allocatedResourceStatuses),
      conditions: status?.conditions,
      currentVolumeAttributesClassName: status?.currentVolumeAttributesClassName,
      modifyVolumeStatus: status?.modifyVolumeStatus,
    }),
  };
}

export function watchedVolumes({ driverName, resyncMs }: WatchedOptions): InformerOptions<PersistentVolume> {
  const mayServeInTree = replacesPlugin(driverName);
  return {
    resource: persistentVolumes,
    resyncMs,
    transform: {
      id: `resizer volumes of ${driverName}`,
      apply: (volume) => {
        const isOurs = volume.spec?.csi?.driver === driverName || (mayServeInTree && isInTree(volume));
        return isOurs ? trimVolume(volume) : undefined;
      },
    },
  };
}

/** Without what only the node side and the scheduler read. Of an in-tree volume everything: its translation reads labels too. */
function trimVolume(volume: PersistentVolume): PersistentVolume {
  const { metadata, spec } = volume;
  if (spec?.csi === undefined) return volume;
  const { driver, volumeHandle, fsType, controllerExpandSecretRef } = spec.csi;
  const { name, namespace, uid } = spec.claimRef ?? {};
  return {
    metadata: {
      ...identityOf(metadata),
      ...definedOnly({
        annotations: keptAnnotations(metadata?.annotations, [
          annotations.preResizeCapacity,
          annotations.modifySecretName,
          annotations.modifySecretNamespace,
        ]),
      }),
    },
    spec: definedOnly({
      accessModes: spec.accessModes,
      capacity: spec.capacity,
      claimRef: spec.claimRef && definedOnly({ name, namespace, uid }),
      csi: { driver, volumeHandle, ...definedOnly({ fsType, controllerExpandSecretRef }) },
      mountOptions: spec.mountOptions,
      volumeAttributesClassName: spec.volumeAttributesClassName,
      volumeMode: spec.volumeMode,
    }),
  };
}

/** Index `claim`: by the claims that a pod uses, its generic ephemeral volumes included. */
export function watchedPods(): InformerOptions<Pod> {
  return {
    resource: pods,
    fieldSelector: 'status.phase!=Failed,status.phase!=Succeeded',
    indexers: { claim: claimsUsedBy },
    transform: {
      id: 'resizer pods',
      apply: ({ metadata, spec }) => {
        const volumes = (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
          persistentVolumeClaim === undefined && ephemeral === undefined
            ? []
            : [
                {
                  name,
                  persistentVolumeClaim: {
                    claimName: persistentVolumeClaim?.claimName ?? `${metadata?.name ?? ''}-${name}`,
                  },
                },
              ],
        );
        return volumes.length === 0 ? undefined : { metadata: identityOf(metadata), spec: { containers: [], volumes } };
      },
    },
  };
}

export function claimsUsedBy({ metadata, spec }: Pod): readonly ObjectKey[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined ? [] : [toObjectKey(metadata?.namespace, persistentVolumeClaim.claimName)],
  );
}

export function watchedClasses(): InformerOptions<VolumeAttributesClass> {
  return {
    resource: volumeAttributesClasses,
    transform: {
      id: 'resizer classes',
      apply: ({ metadata, driverName, parameters }) => ({
        metadata: identityOf(metadata),
        driverName,
        ...definedOnly({ parameters }),
      }),
    },
  };
}

function keptAnnotations(
  found: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const kept = Object.entries(found ?? {}).filter(
    ([name, value]) => names.includes(name) || isTraceparent(name, value),
  );
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** The claim of a PersistentVolume that appears, or that is bound to another claim than before, if it is open. */
export function newlyBoundClaim(
  { previous, current }: Change<PersistentVolume>,
  { claims }: { readonly claims: Pick<Lister<PersistentVolumeClaim>, 'get'> },
  isOpen: (claim: PersistentVolumeClaim) => boolean,
): ObjectKey | undefined {
  const { namespace, name, uid } = current?.spec?.claimRef ?? {};
  if (name === undefined || (previous !== undefined && previous.spec?.claimRef?.uid === uid)) return undefined;
  const key = toObjectKey(namespace, name);
  const claim = claims.get(key);
  return claim !== undefined && isOpen(claim) ? key : undefined;
}

export interface Watched {
  readonly claims: InformerOptions<PersistentVolumeClaim>;
  readonly volumes: InformerOptions<PersistentVolume>;
  readonly pods: InformerOptions<Pod>;
}

export function watchedBy(options: WatchedOptions): Watched {
  return { claims: watchedClaims(options), volumes: watchedVolumes(options), pods: watchedPods() };
}
