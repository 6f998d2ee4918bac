// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it } from 'vitest';
import {
  events,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
  type Pod,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { csiError, fakeCsiChannel, type FakeCsiChannel } from '@csi-sidecars/csi/testing';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { readNodeDriver } from './driver.ts';
import { startSim, type Sim } from '../sim.ts';

const driver = 'csi.example.com';
const signal = new AbortController().signal;
const inUse = `kubernetes.io/csi/${driver}^handle`;

let clock: FakeClock;
let channel: FakeCsiChannel;
let sim: Sim;

beforeEach(async () => {
  clock = new FakeClock();
  channel = aChannel();
  sim = startSim({ clock, random: seededRandom(1) });
  sim.addNode({ name: 'node-1', root: '/kubelet', drivers: [await readNodeDriver(driver, channel, signal)] });
  sim.addNode({ name: 'node-2', root: '/kubelet', drivers: [await readNodeDriver(driver, aChannel(), signal)] });
  arrangeVolume();
  await clock.advance(100);
  return () => sim.stop();
});

function aChannel(): FakeCsiChannel {
  const made = fakeCsiChannel();
  const rpc = (type: 'STAGE_UNSTAGE_VOLUME' | 'EXPAND_VOLUME') => ({ rpc: { type } });
  made.answer('/csi.v1.Node/NodeGetInfo', { node_id: 'id' });
  made.answer('/csi.v1.Node/NodeGetCapabilities', {
    capabilities: [rpc('STAGE_UNSTAGE_VOLUME'), rpc('EXPAND_VOLUME')],
  });
  for (const method of ['Stage', 'Unstage', 'Publish', 'Unpublish'] as const) {
    made.answer(`/csi.v1.Node/Node${method}Volume`, {});
  }
  made.answer('/csi.v1.Node/NodeExpandVolume', { capacity_bytes: String(2 * 2 ** 30) });
  return made;
}

/** A volume and a claim that are bound to each other. */
function arrangeVolume(): void {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv' };
  const capacity = { storage: '1Gi' };
  const claim = sim.server.seed({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec,
    status: { phase: 'Bound', capacity },
  });
  const { uid } = (claim as { metadata: { uid?: string } }).metadata;
  sim.server.seed({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity,
      claimRef: { namespace: 'default', name: 'data', uid },
      csi: { driver, volumeHandle: 'handle', fsType: 'ext4', volumeAttributes: { a: '1' } },
    },
    status: { phase: 'Bound' },
  });
}

async function runPod(name: string, nodeName: string): Promise<void> {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  const spec = { nodeName, containers: [{ name: 'app', image: 'app' }], volumes };
  await sim.client.create(pods, { metadata: { name, namespace: 'default' }, spec });
  await clock.advance(100);
}

async function attach(): Promise<void> {
  for (const { metadata } of sim.server.objects.list(volumeAttachments)) {
    const target = { resource: volumeAttachments, ref: { name: metadata?.name ?? '' } };
    const body = { status: { attached: true, attachmentMetadata: { device: '/dev/x' } } };
    await sim.client.patch(target, { type: 'merge', body }, { subresource: 'status' });
  }
  await clock.advance(100);
}

async function endPod(name: string): Promise<void> {
  await sim.client.delete(pods, { namespace: 'default', name });
  await clock.advance(1000);
}

function pod(name: string): Pod | undefined {
  return sim.server.objects.get(pods, { namespace: 'default', name });
}

function attachments(): readonly VolumeAttachment[] {
  return sim.server.objects.list(volumeAttachments);
}

function called(): readonly string[] {
  return channel.calls.map(({ method }) => method.split('/').at(-1) ?? '').slice(2);
}

describe('an emulated node', () => {
  it('given a pod, when its volume is attached, then it is staged and published with the metadata of the attachment', async () => {
    await runPod('app', 'node-1');
    expect(called()).toEqual([]);
    await attach();
    const uid = pod('app')?.metadata?.uid;
    const staging = '/kubelet/plugins/kubernetes.io/csi/csi.example.com/';
    const capability = { access_mode: { mode: 'SINGLE_NODE_WRITER' }, mount: { fs_type: 'ext4', mount_flags: [] } };
    const common = {
      volume_id: 'handle',
      publish_context: { device: '/dev/x' },
      volume_capability: capability,
      secrets: {},
      volume_context: { a: '1' },
      staging_target_path: expect.stringMatching(new RegExp(`^${staging}[0-9a-f]{64}/globalmount$`)) as unknown,
    };
    expect(channel.calls.slice(2)).toEqual([
      { method: '/csi.v1.Node/NodeStageVolume', request: common },
      {
        method: '/csi.v1.Node/NodePublishVolume',
        request: { ...common, target_path: `/kubelet/pods/${uid}/volumes/kubernetes.io~csi/pv/mount`, readonly: false },
      },
    ]);
    expect(pod('app')?.status?.phase).toBe('Running');
  });

  it('given a running pod, when it is deleted, then unpublish, unstage, report and detach come in this order', async () => {
    await runPod('app', 'node-1');
    await attach();
    channel.answer('/csi.v1.Node/NodeUnstageVolume', csiError('Internal', 'busy'));
    await endPod('app');
    const before = sim.server.objects.get(nodes, { name: 'node-1' });
    expect([pod('app'), before?.status?.volumesInUse, attachments().length]).toEqual([undefined, [inUse], 1]);
    expect(new Set(called().slice(2))).toEqual(new Set(['NodeUnpublishVolume', 'NodeUnstageVolume']));
    channel.answer('/csi.v1.Node/NodeUnstageVolume', {});
    await clock.advance(10_000);
    expect(attachments()).toEqual([]);
    expect(sim.server.objects.get(nodes, { name: 'node-1' })?.status).not.toHaveProperty('volumesInUse');
  });

  it('given a driver that fails, when staging, then it is repeated until it works', async () => {
    channel.answerOnce('/csi.v1.Node/NodeStageVolume', csiError('Internal', 'not yet'));
    channel.answerOnce('/csi.v1.Node/NodeStageVolume', csiError('Unavailable', 'not yet'));
    await runPod('app', 'node-1');
    await attach();
    await clock.advance(1000);
    expect(called()).toEqual(['NodeStageVolume', 'NodeStageVolume', 'NodeStageVolume', 'NodePublishVolume']);
    expect(pod('app')?.status?.phase).toBe('Running');
  });

  it('given a mounted volume, when its PersistentVolume grows, then the node expands it and the claim shows the size', async () => {
    await runPod('app', 'node-1');
    await attach();
    const body = { spec: { capacity: { storage: '2Gi' } } };
    await sim.client.patch({ resource: persistentVolumes, ref: { name: 'pv' } }, { type: 'merge', body });
    await clock.advance(100);
    expect(channel.calls.at(-1)).toMatchObject({
      method: '/csi.v1.Node/NodeExpandVolume',
      request: { volume_id: 'handle', capacity_range: { required_bytes: String(2 * 2 ** 30) } },
    });
    const claim = await sim.client.get(persistentVolumeClaims, { namespace: 'default', name: 'data' });
    expect(claim.status).toEqual({ phase: 'Bound', capacity: { storage: '2Gi' } });
    const statuses = sim.server
      .writes()
      .filter(({ resource, subresource }) => resource === 'persistentvolumeclaims' && subresource === 'status')
      .map(
        ({ body: sent }) =>
          (sent as { status: { allocatedResourceStatuses?: object } }).status.allocatedResourceStatuses,
      );
    expect(statuses).toEqual([{ storage: 'NodeResizeInProgress' }, undefined]);
  });

  it('given a volume for one node, when a pod on another node needs it, then it waits until the first node has released it', async () => {
    await runPod('app', 'node-1');
    await attach();
    await runPod('other', 'node-2');
    expect(attachments().map(({ spec }) => spec.nodeName)).toEqual(['node-1']);
    const reasons = sim.server.objects.list(events).map(({ reason, involvedObject }) => [reason, involvedObject.name]);
    expect(reasons).toContainEqual(['FailedAttachVolume', 'other']);
    await endPod('app');
    expect(attachments().map(({ spec }) => spec.nodeName)).toEqual(['node-2']);
    await attach();
    expect(pod('other')?.status?.phase).toBe('Running');
  });

  it('given a frozen node, when its pod is deleted, then nothing is detached until the node is declared out of service', async () => {
    await runPod('app', 'node-1');
    await attach();
    sim.nodes.get('node-1')?.freeze();
    await endPod('app');
    await clock.advance(600_000);
    expect([pod('app')?.metadata?.name, attachments().length]).toEqual(['app', 1]);
    const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }];
    await sim.client.patch({ resource: nodes, ref: { name: 'node-1' } }, { type: 'merge', body: { spec: { taints } } });
    await sim.client.delete(pods, { namespace: 'default', name: 'app' }, { gracePeriodSeconds: 0 });
    await clock.advance(1000);
    expect(attachments()).toEqual([]);
    sim.nodes.get('node-1')?.thaw();
    await clock.advance(1000);
    expect(called().slice(2)).toEqual(['NodeUnpublishVolume', 'NodeUnstageVolume']);
  });
});
