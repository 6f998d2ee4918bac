// SPDX-License-Identifier: Apache-2.0
/** The PersistentVolume that records a created volume: complete with its first write, because nothing is added later. */
import type { DriverInfo, Volume } from '@csi-sidecars/csi';
import { definedOnly, type PersistentVolume, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import {
  formatBytes,
  ok,
  type Result,
  toInTreeVolume,
  toNodeAffinity,
  type VolumeNodeAffinity,
} from '@csi-sidecars/volume';
import { annotations, identityAttribute, volumeFinalizer } from '../names.ts';
import { classNameOf } from '../metadata.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { isBlock } from './claim.ts';
import type { Plan } from './plan.ts';

export interface VolumeFacts {
  readonly claim: PersistentVolumeClaim;
  readonly plan: Plan;
  readonly volume: Volume;
  /** The size that the driver reported, or the requested size if it reported none. */
  readonly bytes: bigint;
  readonly driver: DriverInfo;
  readonly settings: ProvisionerSettings;
  readonly supportsTopology: boolean;
}

type CsiSource = NonNullable<NonNullable<PersistentVolume['spec']>['csi']>;

/** A volume for a class of the in-tree plugin is recorded as one of that plugin, so that older components understand it. */
export function toRecord(facts: VolumeFacts): Result<PersistentVolume> {
  const volume = toPersistentVolume(facts);
  return facts.plan.isMigrated ? toInTreeVolume(volume) : ok(volume);
}

/** As a CSI volume. */
export function toPersistentVolume(facts: VolumeFacts): PersistentVolume {
  const { claim, plan, volume } = facts;
  const { storageClass } = plan;
  const nodeAffinity = affinityOf(volume, facts.supportsTopology);
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: plan.volumeName,
      finalizers: [volumeFinalizer],
      annotations: {
        [annotations.provisionedBy]: storageClass.provisioner,
        ...secretAnnotations(plan),
      },
    },
    spec: {
      capacity: { storage: formatBytes(facts.bytes) },
      accessModes: claim.spec?.accessModes ?? [],
      storageClassName: classNameOf(claim),
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        ...definedOnly({
          namespace: claim.metadata?.namespace,
          name: claim.metadata?.name,
          uid: claim.metadata?.uid,
          resourceVersion: claim.metadata?.resourceVersion,
        }),
      },
      csi: toCsiSource(facts),
      ...definedOnly({
        mountOptions: storageClass.mountOptions,
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
        volumeMode: claim.spec?.volumeMode,
        nodeAffinity,
        volumeAttributesClassName: plan.attributesClass === '' ? undefined : plan.attributesClass,
      }),
    },
  };
}

/** Undefined: the volume can be reached from everywhere. */
export function affinityOf(volume: Volume, supportsTopology: boolean): VolumeNodeAffinity | undefined {
  return supportsTopology ? toNodeAffinity(volume.accessible_topology) : undefined;
}

function toCsiSource({ claim, plan, volume, driver, settings }: VolumeFacts): CsiSource {
  const { secrets } = plan;
  return {
    driver: driver.name,
    volumeHandle: volume.volume_id,
    volumeAttributes: { [identityAttribute]: settings.identity, ...volume.volume_context },
    ...definedOnly({
      fsType: isBlock(claim) || plan.fsType === '' ? undefined : plan.fsType,
      readOnly: settings.controllerPublishReadonly && isReadOnly(plan) ? true : undefined,
      controllerPublishSecretRef: secrets.controllerPublish,
      nodeStageSecretRef: secrets.nodeStage,
      nodePublishSecretRef: secrets.nodePublish,
      controllerExpandSecretRef: secrets.controllerExpand,
      nodeExpandSecretRef: secrets.nodeExpand,
    }),
  };
}

function isReadOnly(plan: Plan): boolean {
  const [first, ...others] = plan.request.volume_capabilities ?? [];
  return others.length === 0 && first?.access_mode?.mode === 'MULTI_NODE_READER_ONLY';
}

/** The deletion annotations exist even without a secret: empty means "none", absent would mean "read the class". */
function secretAnnotations({ secrets }: Plan): Readonly<Record<string, string>> {
  return {
    [annotations.deletionSecretName]: secrets.provisioner?.name ?? '',
    [annotations.deletionSecretNamespace]: secrets.provisioner?.namespace ?? '',
    ...(secrets.controllerModify === undefined
      ? {}
      : {
          [annotations.modifySecretName]: secrets.controllerModify.name,
          [annotations.modifySecretNamespace]: secrets.controllerModify.namespace,
        }),
  };
}
