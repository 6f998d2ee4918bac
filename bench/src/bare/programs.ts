// SPDX-License-Identifier: Apache-2.0
/**
 * The least that each program does for the life of a volume: the same watches, requests and calls as ours in the same order, one event for
 * each result, and nothing else. No cache but what a request needs, no queue, no retries but of conflicts, no lease, no metrics, no care.
 */
import { type CSINode, removedFinalizer, type VolumeAttachment } from '@csi-sidecars/runtime';
import { snapshotController, snapshotter } from './snapshots.ts';
import {
  type Claim,
  claims,
  firstTimes,
  inBackground,
  pathOf,
  record,
  type Tools,
  type Volume,
  volumes,
  type With,
} from './tools.ts';

type Attachment = With<VolumeAttachment>;
const attachments = '/apis/storage.k8s.io/v1/volumeattachments';

const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } };
const bytesOf = (text: string): string => String(Number.parseInt(text, 10) * 2 ** 30);

async function provisioner({ api, call, driver }: Tools): Promise<void> {
  const isFirst = firstTimes();
  const finalizer = 'external-provisioner.volume.kubernetes.io/finalizer';
  const provision = async ({ metadata, spec }: Claim): Promise<void> => {
    const storage = spec?.resources?.requests?.['storage'] ?? '';
    const name = `pvc-${metadata.uid}`;
    const { volume } = await call<{ volume: { volume_id: string } }>('Controller/CreateVolume', {
      name,
      capacity_range: { required_bytes: bytesOf(storage) },
      volume_capabilities: [capability],
    });
    await api.request('POST', volumes, {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name, finalizers: [finalizer], annotations: { 'pv.kubernetes.io/provisioned-by': driver } },
      spec: {
        capacity: { storage },
        accessModes: spec?.accessModes,
        storageClassName: spec?.storageClassName,
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...metadata, finalizers: undefined },
        csi: { driver, volumeHandle: volume.volume_id },
      },
    });
    await record(api, { metadata }, { kind: 'PersistentVolumeClaim', reason: 'ProvisioningSucceeded' });
  };
  const remove = async (volume: Volume): Promise<void> => {
    const { metadata, spec } = volume;
    await call('Controller/DeleteVolume', { volume_id: spec?.csi?.volumeHandle });
    await api.request('DELETE', pathOf(volumes, metadata));
    await api.request('PATCH', pathOf(volumes, metadata), { metadata: removedFinalizer(volume, finalizer) });
  };
  await api.watch<Volume>(volumes, (volume, isGone) => {
    if (isGone || volume.spec?.csi?.driver !== driver || volume.status?.phase !== 'Released') return;
    if (isFirst('delete', volume.metadata)) inBackground(() => remove(volume));
  });
  await api.watch<Claim>(claims, (claim, isGone) => {
    const isOurs = claim.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'] === driver;
    if (isGone || !isOurs || claim.spec?.volumeName !== undefined) return;
    if (isFirst('create', claim.metadata)) inBackground(() => provision(claim));
  });
}

async function attacher({ api, call, driver }: Tools): Promise<void> {
  const isFirst = firstTimes();
  const finalizer = `external-attacher/${driver.replaceAll('.', '-')}`;
  const known = new Map<string, Volume>();
  const nodes = new Map<string, string>();
  const requestOf = ({ spec }: Attachment): { volume_id: string; node_id: string | undefined } => ({
    volume_id: known.get(spec.source.persistentVolumeName ?? '')?.spec?.csi?.volumeHandle ?? '',
    node_id: nodes.get(spec.nodeName),
  });
  const attach = async (attachment: Attachment): Promise<void> => {
    const volume = known.get(attachment.spec.source.persistentVolumeName ?? '')!;
    await api.request('PATCH', pathOf(volumes, volume.metadata), { metadata: { finalizers: [finalizer] } });
    const path = pathOf(attachments, attachment.metadata);
    const request = requestOf(attachment);
    const annotations = { 'csi.alpha.kubernetes.io/node-id': request.node_id };
    await api.request('PATCH', path, { metadata: { finalizers: [finalizer], annotations } });
    await call('Controller/ControllerPublishVolume', { ...request, volume_capability: capability });
    await api.request('PATCH', `${path}/status`, { status: { attached: true } });
  };
  const detach = async (attachment: Attachment): Promise<void> => {
    await call('Controller/ControllerUnpublishVolume', requestOf(attachment));
    await api.request('PATCH', pathOf(attachments, attachment.metadata), {
      metadata: removedFinalizer(attachment, finalizer),
    });
  };
  await api.watch<With<CSINode>>('/apis/storage.k8s.io/v1/csinodes', ({ metadata, spec }) => {
    const node = spec.drivers.find(({ name }) => name === driver);
    if (node !== undefined) nodes.set(metadata.name, node.nodeID);
  });
  await api.watch<Volume>(volumes, (volume, isGone) => {
    if (volume.spec?.csi?.driver !== driver) return;
    const { metadata } = volume;
    if (isGone) known.delete(metadata.name);
    else known.set(metadata.name, volume);
    if (isGone || metadata.deletionTimestamp === undefined || !metadata.finalizers?.includes(finalizer)) return;
    if (!isFirst('release', metadata)) return;
    inBackground(() =>
      api.request('PATCH', pathOf(volumes, metadata), { metadata: removedFinalizer(volume, finalizer) }),
    );
  });
  await api.watch<Attachment>(attachments, (attachment, isGone) => {
    const { metadata, spec } = attachment;
    if (isGone || spec.attacher !== driver) return;
    if (metadata.deletionTimestamp === undefined) {
      if (isFirst('attach', metadata)) inBackground(() => attach(attachment));
    } else if (isFirst('detach', metadata)) inBackground(() => detach(attachment));
  });
}

async function resizer({ api, call, driver }: Tools): Promise<void> {
  const isFirst = firstTimes();
  const known = new Map<string, Volume>();
  const expand = async (claim: Claim): Promise<void> => {
    const path = `${pathOf(claims, claim.metadata)}/status`;
    const storage = claim.spec?.resources?.requests?.['storage'] ?? '';
    const volume = known.get(claim.spec?.volumeName ?? '')!;
    const write = (status: object): Promise<unknown> => api.request('PATCH', path, { status });
    await write({
      allocatedResources: { storage },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      conditions: [{ type: 'Resizing', status: 'True' }],
    });
    const capacity_range = { required_bytes: bytesOf(storage) };
    const volume_id = volume.spec?.csi?.volumeHandle;
    await call('Controller/ControllerExpandVolume', { volume_id, capacity_range, volume_capability: capability });
    await api.request('PATCH', pathOf(volumes, volume.metadata), { spec: { capacity: { storage } } });
    await write({ capacity: { storage }, allocatedResourceStatuses: null, conditions: null });
    await record(api, claim, { kind: 'PersistentVolumeClaim', reason: 'VolumeResizeSuccessful' });
  };
  await api.watch<Volume>(volumes, (volume, isGone) => {
    if (volume.spec?.csi?.driver !== driver) return;
    if (isGone) known.delete(volume.metadata.name);
    else known.set(volume.metadata.name, volume);
  });
  await api.watch<Claim>(claims, (claim, isGone) => {
    const wanted = claim.spec?.resources?.requests?.['storage'];
    const isBound = claim.status?.phase === 'Bound' && known.has(claim.spec?.volumeName ?? '');
    if (isGone || !isBound || wanted === claim.status?.capacity?.['storage']) return;
    if (isFirst('expand', claim.metadata)) inBackground(() => expand(claim));
  });
}

export const programs: Readonly<Record<string, (tools: Tools) => Promise<void>>> = {
  'csi-provisioner': provisioner,
  'csi-attacher': attacher,
  'csi-resizer': resizer,
  'csi-snapshotter': snapshotter,
  'snapshot-controller': snapshotController,
};
