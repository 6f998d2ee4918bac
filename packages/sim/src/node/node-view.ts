// SPDX-License-Identifier: Apache-2.0
/** One node's pods and volumes as the API shows them: the read side of the emulated kubelet. */
import {
  csiDrivers,
  keyOf,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  toObjectKey,
  volumeAttachments,
  type CSIDriver,
  type InformerFactory,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { type Informer } from '@csi-sidecars/runtime';
import { attachmentName, uniqueVolumeName } from '../attach-detach/attachments.ts';
import { claimKeysOf, claimUsesOf, isFinished, nodeOf } from '../pods.ts';

export interface PodVolume {
  readonly volume: PersistentVolume;
  readonly readOnly: boolean;
}

/** `unbound`: a claim of the pod has no volume yet. */
export type PodVolumes = readonly PodVolume[] | 'unbound';

export interface Attachment {
  readonly attached: boolean;
  readonly publishContext: Readonly<Record<string, string>>;
}

export interface NodeView {
  /** The caches that the view reads. */
  readonly informers: readonly Pick<Informer<Pod>, 'whenSynced'>[];
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly drivers: Informer<CSIDriver>;
  readonly nodes: Informer<Node>;
  readonly attachments: Informer<VolumeAttachment>;
  readonly node: () => Node | undefined;
  readonly podsHere: () => readonly Pod[];
  readonly volumesOf: (pod: Pod) => PodVolumes;
  /** Pods that need the volume mounted, by uid. A pod that is being deleted or has finished no longer needs volumes. */
  readonly usersOf: (volumeName: string) => ReadonlyMap<string, Pod>;
  readonly attachmentOf: (volume: PersistentVolume) => Attachment;
  /** The claim that the volume is bound to. */
  readonly claimOf: (volume: PersistentVolume) => PersistentVolumeClaim | undefined;
  /** The node's pods that use the claim. */
  readonly podsOfClaim: (claim: PersistentVolumeClaim) => readonly Pod[];
  readonly podInfoWanted: (volume: PersistentVolume) => boolean;
}

export function createNodeView(informers: InformerFactory, nodeName: string): NodeView {
  const users = informers.informer({
    resource: pods,
    indexers: { claim: claimKeysOf, node: (pod) => [nodeOf(pod)] },
  });
  const claims = informers.informer({ resource: persistentVolumeClaims });
  const volumes = informers.informer({ resource: persistentVolumes });
  const drivers = informers.informer({ resource: csiDrivers });
  const allNodes = informers.informer({ resource: nodes });
  const attachments = informers.informer({ resource: volumeAttachments });

  const node = (): Node | undefined => allNodes.lister.get(toObjectKey(undefined, nodeName));
  const podsHere = (): readonly Pod[] => users.lister.byIndex('node', nodeName);
  const driverOf = (volume: PersistentVolume): CSIDriver | undefined =>
    drivers.lister.get(toObjectKey(undefined, volume.spec?.csi?.driver ?? ''));

  function volumesOf(pod: Pod): PodVolumes {
    const found: PodVolume[] = [];
    for (const { key, readOnly } of claimUsesOf(pod)) {
      const claim = claims.lister.get(key);
      const volume = volumes.lister.get(toObjectKey(undefined, claim?.spec?.volumeName ?? ''));
      if (claim?.status?.phase !== 'Bound' || volume === undefined) return 'unbound';
      if (volume.spec?.csi === undefined) continue;
      found.push({ volume, readOnly: readOnly || volume.spec.csi.readOnly === true });
    }
    return found;
  }

  function isUsing(pod: Pod, volumeName: string): boolean {
    if (pod.metadata?.deletionTimestamp !== undefined || isFinished(pod)) return false;
    const mounted = volumesOf(pod);
    return mounted !== 'unbound' && mounted.some(({ volume }) => volume.metadata?.name === volumeName);
  }

  function attachmentOf(volume: PersistentVolume): Attachment {
    if (driverOf(volume)?.spec.attachRequired === false) return { attached: true, publishContext: {} };
    const key = toObjectKey(undefined, attachmentName({ volume, nodeName }));
    const status = attachments.lister.get(key)?.status;
    const isReported = node()?.status?.volumesAttached?.some(({ name }) => name === uniqueVolumeName(volume)) === true;
    return { attached: status?.attached === true && isReported, publishContext: status?.attachmentMetadata ?? {} };
  }

  return {
    informers: [users, claims, volumes, drivers, allNodes, attachments],
    pods: users,
    claims,
    volumes,
    drivers,
    nodes: allNodes,
    attachments,
    node,
    podsHere,
    volumesOf,
    usersOf: (volumeName) =>
      new Map(
        podsHere()
          .filter((pod) => isUsing(pod, volumeName))
          .map((pod) => [pod.metadata?.uid ?? '', pod]),
      ),
    attachmentOf,
    claimOf(volume) {
      const { name = '', namespace } = volume.spec?.claimRef ?? {};
      return name === '' ? undefined : claims.lister.get(toObjectKey(namespace, name));
    },
    podsOfClaim: (claim) => users.lister.byIndex('claim', keyOf(claim)).filter((pod) => nodeOf(pod) === nodeName),
    podInfoWanted: (volume) => driverOf(volume)?.spec.podInfoOnMount === true,
  };
}
