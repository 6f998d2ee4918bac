// SPDX-License-Identifier: Apache-2.0
/**
 * The attach/detach controller of kube-controller-manager, for CSI volumes: creates a VolumeAttachment for each volume of a
 * pod on a node whose driver requires attaching, reports it to kubelet in the node's status, and deletes it when kubelet has unmounted.
 *
 * The key of its loop is the attachment's name, which is derived from volume and node. Attachments that others created under
 * other names are not touched.
 * Not here: detecting that a node is silent. Deleting the node, or changing its Ready condition, starts the six minutes after
 * which a volume is detached from it; the out-of-service taint detaches it at once.
 */
import {
  csiDrivers,
  done,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  requeueAfter,
  toObjectKey,
  volumeAttachments,
  type Node,
  type ObjectKey,
  type Outcome,
  type PersistentVolume,
  type Pod,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import {
  attachmentName,
  decideAttachment,
  unmountMs,
  uniqueVolumeName,
  type AttachmentAction,
  type VolumeOnNode,
} from './attachments.ts';
import { claimKeysOf, isTerminated, nodeOf } from '../pods.ts';
import { createLoop, enqueueFor, type SimController, type SimDeps } from '../loop/loop.ts';

const pendingMs = 20;

export function createAttachDetach(deps: SimDeps): SimController {
  const { client, clock, informers, recorder } = deps;
  const users = informers.informer({ resource: pods, indexers: { claim: claimKeysOf } });
  const claims = informers.informer({ resource: persistentVolumeClaims });
  const volumes = informers.informer({ resource: persistentVolumes });
  const drivers = informers.informer({ resource: csiDrivers });
  const knownNodes = informers.informer({ resource: nodes });
  const attachments = informers.informer({ resource: volumeAttachments, indexers: { volume: volumeOfAttachment } });
  const all = [users, claims, volumes, drivers, knownNodes, attachments];
  /** The volume and node of an attachment's name: the name itself is a hash. */
  const targets = new Map<ObjectKey, VolumeOnNode>();
  /** The last known state of nodes that are gone, by name. */
  const lost = new Map<string, Node>();
  /** When an attachment was first found to be unwanted. */
  const unwantedSinceMs = new Map<ObjectKey, number>();
  /** UIDs of attachments whose deletion has begun, by key. The cache may not show it, and kubelet must not mount what is being detached. */
  const detaching = new Map<ObjectKey, string | undefined>();
  /** Volumes whose VolumeAttachment is being created: as upstream, one operation of a volume at a time. */
  const creating = new Set<string>();

  const loop = createLoop(deps, { name: 'attach-detach', informers: all, reconcile });
  users.addHandler(enqueueFor(loop, (pod) => volumesOf(pod).map((volume) => keyFor(volume, nodeOf(pod)))));
  claims.addHandler(enqueueFor(loop, (claim) => keysForVolume(claim.spec?.volumeName ?? '')));
  volumes.addHandler(enqueueFor(loop, (volume) => keysForVolume(volume.metadata?.name ?? '')));
  attachments.addHandler(enqueueFor(loop, (attachment) => keysForVolume(volumeOfAttachment(attachment)[0] ?? '')));
  knownNodes.addHandler({
    add: ({ metadata }) => lost.delete(metadata?.name ?? ''),
    update: () => undefined,
    delete: ({ object }) => lost.set(object.metadata?.name ?? '', object),
  });
  knownNodes.addHandler(enqueueFor(loop, keysForNode));
  drivers.addHandler(enqueueFor(loop, () => [...targets.keys()]));

  function keyFor(volume: PersistentVolume, nodeName: string): ObjectKey {
    const target = { volume, nodeName };
    const key = toObjectKey(undefined, attachmentName(target));
    if (nodeName !== '') targets.set(key, target);
    return key;
  }

  /** Keys of all nodes on which the volume is, or should be, attached. */
  function keysForVolume(name: string): readonly ObjectKey[] {
    const volume = volumes.lister.get(toObjectKey(undefined, name));
    const attached = attachments.lister.byIndex('volume', name).map(({ spec }) => spec.nodeName);
    if (volume === undefined)
      return [...targets].filter(([, target]) => target.volume.metadata?.name === name).map(([key]) => key);
    const wanted = podsOf(volume).map(nodeOf);
    return [...new Set([...attached, ...wanted])].filter((node) => node !== '').map((node) => keyFor(volume, node));
  }

  function keysForNode(node: Node): readonly ObjectKey[] {
    return [...targets].filter(([, target]) => target.nodeName === node.metadata?.name).map(([key]) => key);
  }

  function volumesOf(pod: Pod): readonly PersistentVolume[] {
    return claimKeysOf(pod).flatMap((key) => {
      const name = claims.lister.get(key)?.spec?.volumeName ?? '';
      const volume = name === '' ? undefined : volumes.lister.get(toObjectKey(undefined, name));
      return volume?.spec?.csi === undefined ? [] : [volume];
    });
  }

  function podsOf(volume: PersistentVolume): readonly Pod[] {
    const { name = '', namespace } = volume.spec?.claimRef ?? {};
    return name === '' ? [] : users.lister.byIndex('claim', toObjectKey(namespace, name));
  }

  function isWanted({ volume, nodeName }: VolumeOnNode): boolean {
    const driver = drivers.lister.get(toObjectKey(undefined, volume.spec?.csi?.driver ?? ''));
    if (driver?.spec.attachRequired === false) return false;
    const name = uniqueVolumeName(volume);
    return podsOf(volume).some(
      (pod) =>
        nodeOf(pod) === nodeName &&
        !isTerminated(pod) &&
        volumesOf(pod).some((each) => uniqueVolumeName(each) === name),
    );
  }

  /** The cached volume, unless it has another handle by now: a restored backup can bring a volume of the same name. */
  function currentOf(target: VolumeOnNode): VolumeOnNode {
    const volume = volumes.lister.get(toObjectKey(undefined, target.volume.metadata?.name ?? '')) ?? target.volume;
    return uniqueVolumeName(volume) === uniqueVolumeName(target.volume) ? { ...target, volume } : target;
  }

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const target = targets.get(key);
    if (target === undefined) return done;
    const current = currentOf(target);
    const { volume } = current;
    const attachment = attachments.lister.get(key);
    const others = attachments.lister.byIndex('volume', volume.metadata?.name ?? '');
    const node = knownNodes.lister.get(toObjectKey(undefined, target.nodeName));
    const isDetaching = attachment !== undefined && detaching.get(key) === attachment.metadata?.uid;
    if (!isDetaching) detaching.delete(key);
    const wanted = isWanted(current) && !isDetaching ? 'wanted' : 'unwanted';
    const elsewhere = others.filter(({ spec }) => spec.nodeName !== target.nodeName);
    const unwantedForMs = unwantedFor(key, wanted);
    const gone = lost.get(target.nodeName);
    const state = { volume, wanted, attachment, elsewhere, node, unwantedForMs } as const;
    const action = decideAttachment(gone === undefined ? state : { ...state, lastSeen: gone });
    if (action.kind === 'create' && creating.has(volume.metadata?.name ?? '')) return requeueAfter(pendingMs);
    if (action.kind === 'delete') detaching.set(key, attachment?.metadata?.uid);
    await perform(current, action, signal);
    if (wanted === 'unwanted' && attachment === undefined && action.kind === 'none') {
      targets.delete(key);
      unwantedSinceMs.delete(key);
    }
    // After that time only a change of the node's health matters, which wakes the key.
    return action.kind === 'wait' && unwantedForMs < unmountMs ? requeueAfter(unmountMs - unwantedForMs) : done;
  }

  function unwantedFor(key: ObjectKey, wanted: 'wanted' | 'unwanted'): number {
    const nowMs = clock.monotonicMs();
    if (wanted === 'wanted') unwantedSinceMs.delete(key);
    else if (!unwantedSinceMs.has(key)) unwantedSinceMs.set(key, nowMs);
    return nowMs - (unwantedSinceMs.get(key) ?? nowMs);
  }

  async function perform(target: VolumeOnNode, action: AttachmentAction, signal: AbortSignal): Promise<void> {
    const { volume, nodeName } = target;
    switch (action.kind) {
      case 'none':
      case 'wait':
        return;
      case 'create': {
        const persistentVolumeName = volume.metadata?.name ?? '';
        const spec = { attacher: volume.spec?.csi?.driver ?? '', nodeName, source: { persistentVolumeName } };
        const metadata = { name: attachmentName(target) };
        creating.add(persistentVolumeName);
        try {
          attachments.remember(await client.create(volumeAttachments, { metadata, spec }, { signal }));
        } finally {
          creating.delete(persistentVolumeName);
        }
        return;
      }
      case 'refuse':
        return warn(
          target,
          `Multi-Attach error for volume "${volume.metadata?.name}" Volume is already exclusively attached to one node and can't be attached to another`,
        );
      case 'fail':
        return warn(target, `AttachVolume.Attach failed for volume "${volume.metadata?.name}" : ${action.message}`);
      case 'report':
      case 'unreport':
        return report(target, action.kind, signal);
      case 'delete':
        await client.delete(volumeAttachments, { name: attachmentName(target) }, { signal });
    }
  }

  function warn({ volume, nodeName }: VolumeOnNode, message: string): void {
    for (const pod of podsOf(volume).filter((each) => nodeOf(each) === nodeName)) {
      recorder.record(pod, { type: 'Warning', reason: 'FailedAttachVolume', message });
    }
  }

  async function report(
    { volume, nodeName }: VolumeOnNode,
    kind: 'report' | 'unreport',
    signal: AbortSignal,
  ): Promise<void> {
    const node = await client.get(nodes, { name: nodeName }, { signal });
    const name = uniqueVolumeName(volume);
    const rest = (node.status?.volumesAttached ?? []).filter((attached) => attached.name !== name);
    const volumesAttached = kind === 'report' ? [...rest, { name, devicePath: '' }] : rest;
    const status = { ...node.status, volumesAttached };
    knownNodes.remember(await client.update(nodes, { ...node, status }, { subresource: 'status', signal }));
  }

  return loop;
}

function volumeOfAttachment({ spec }: VolumeAttachment): readonly string[] {
  return spec.source.persistentVolumeName === undefined ? [] : [spec.source.persistentVolumeName];
}
