// SPDX-License-Identifier: Apache-2.0
/** The calls with which kubelet mounts, unmounts and expands, with the requests and paths that it would use. */
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import {
  secrets,
  type ApiClient,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from '@csi-sidecars/runtime';
import { parseQuantity } from '@csi-sidecars/runtime/testing';
import type { CsiChannel, RequestOf } from '@csi-sidecars/csi';
import type { NodeDriver } from './driver.ts';

/** Where mounts would be. The driver creates the last folder of a target, kubelet those above. */
export interface Folders {
  readonly make: (path: string) => Promise<void>;
}

export interface MountDeps {
  readonly client: ApiClient;
  readonly folders: Folders;
  /** Kubelet's own folder. */
  readonly root: string;
}

/** The input of all calls about a volume on a node. */
export interface MountTarget {
  readonly driver: NodeDriver;
  readonly volume: PersistentVolume;
  readonly signal: AbortSignal;
}

export interface PodMount {
  readonly pod: Pod;
  /** The publish context from the attachment's status. */
  readonly publishContext: Readonly<Record<string, string>>;
  readonly readOnly: boolean;
  readonly podInfo: boolean;
}

const timeoutMs = 120_000;
const nanos = 1_000_000_000n;

type VolumeCapability = NonNullable<RequestOf<'/csi.v1.Node/NodeStageVolume'>['volume_capability']>;
type AccessMode = NonNullable<NonNullable<VolumeCapability['access_mode']>['mode']>;
type SecretReference = { readonly name?: string; readonly namespace?: string } | undefined;

export function stagingPath({ root }: MountDeps, volume: PersistentVolume): string {
  const { driver = '', volumeHandle = '' } = volume.spec?.csi ?? {};
  const hash = createHash('sha256').update(volumeHandle).digest('hex');
  return join(root, 'plugins', 'kubernetes.io', 'csi', driver, hash, 'globalmount');
}

export function targetPath({ root }: MountDeps, volume: PersistentVolume, podUid: string): string {
  const name = volume.metadata?.name ?? '';
  if (volume.spec?.volumeMode === 'Block') {
    return join(root, 'plugins', 'kubernetes.io', 'csi', 'volumeDevices', 'publish', name, podUid);
  }
  return join(root, 'pods', podUid, 'volumes', 'kubernetes.io~csi', name, 'mount');
}

export async function stage(
  deps: MountDeps,
  target: MountTarget,
  publishContext: Readonly<Record<string, string>>,
): Promise<void> {
  const { driver, volume } = target;
  const channel = channelFor(driver, 'STAGE_UNSTAGE_VOLUME');
  if (channel === undefined) return;
  const path = stagingPath(deps, volume);
  await deps.folders.make(path);
  const request = {
    volume_id: volume.spec?.csi?.volumeHandle,
    publish_context: publishContext,
    staging_target_path: path,
    volume_capability: capabilityOf(driver, volume),
    secrets: await readSecret(deps, volume.spec?.csi?.nodeStageSecretRef, target.signal),
    volume_context: volume.spec?.csi?.volumeAttributes,
  };
  await channel.call('/csi.v1.Node/NodeStageVolume', request, { timeoutMs, signal: target.signal });
}

export async function unstage(deps: MountDeps, { driver, volume, signal }: MountTarget): Promise<void> {
  const channel = channelFor(driver, 'STAGE_UNSTAGE_VOLUME');
  const request = { volume_id: volume.spec?.csi?.volumeHandle, staging_target_path: stagingPath(deps, volume) };
  await channel?.call('/csi.v1.Node/NodeUnstageVolume', request, { timeoutMs, signal });
}

export async function publish(deps: MountDeps, target: MountTarget, mount: PodMount): Promise<string> {
  const { driver, volume, signal } = target;
  const path = targetPath(deps, volume, mount.pod.metadata?.uid ?? '');
  if (driver.channel === undefined) return path;
  await deps.folders.make(dirname(path));
  const request = {
    volume_id: volume.spec?.csi?.volumeHandle,
    publish_context: mount.publishContext,
    ...(driver.capabilities.has('STAGE_UNSTAGE_VOLUME') ? { staging_target_path: stagingPath(deps, volume) } : {}),
    target_path: path,
    volume_capability: capabilityOf(driver, volume),
    readonly: mount.readOnly,
    secrets: await readSecret(deps, volume.spec?.csi?.nodePublishSecretRef, signal),
    volume_context: { ...volume.spec?.csi?.volumeAttributes, ...(mount.podInfo ? podInfo(mount.pod) : {}) },
  };
  await driver.channel.call('/csi.v1.Node/NodePublishVolume', request, { timeoutMs, signal });
  return path;
}

export async function unpublish({ driver, volume, signal }: MountTarget, path: string): Promise<void> {
  const request = { volume_id: volume.spec?.csi?.volumeHandle, target_path: path };
  await driver.channel?.call('/csi.v1.Node/NodeUnpublishVolume', request, { timeoutMs, signal });
}

/** Expands a volume that is mounted at `path` to the size of its PersistentVolume. */
export async function expand(deps: MountDeps, target: MountTarget, path: string): Promise<void> {
  const { driver, volume, signal } = target;
  const channel = channelFor(driver, 'EXPAND_VOLUME');
  if (channel === undefined) return;
  const request = {
    volume_id: volume.spec?.csi?.volumeHandle,
    volume_path: path,
    staging_target_path: stagingPath(deps, volume),
    capacity_range: { required_bytes: String(bytesOf(volume.spec?.capacity?.['storage'])) },
    volume_capability: capabilityOf(driver, volume),
    secrets: await readSecret(deps, volume.spec?.csi?.nodeExpandSecretRef, signal),
  };
  await channel.call('/csi.v1.Node/NodeExpandVolume', request, { timeoutMs, signal });
}

export function bytesOf(quantity: string | undefined): bigint {
  return (parseQuantity(quantity)?.nanos ?? 0n) / nanos;
}

/** Whether the node has to expand the volume: the claim's status does not show its size yet. */
export function outgrows(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return bytesOf(volume.spec?.capacity?.['storage']) > bytesOf(claim.status?.capacity?.['storage']);
}

function channelFor(driver: NodeDriver, capability: string): CsiChannel | undefined {
  return driver.capabilities.has(capability) ? driver.channel : undefined;
}

function capabilityOf(driver: NodeDriver, volume: PersistentVolume): VolumeCapability {
  const { volumeMode, mountOptions = [], csi } = volume.spec ?? {};
  const access = { access_mode: { mode: accessMode(driver, volume.spec?.accessModes ?? []) } };
  if (volumeMode === 'Block') return { ...access, block: {} };
  return { ...access, mount: { fs_type: csi?.fsType ?? '', mount_flags: [...mountOptions] } };
}

function accessMode(driver: NodeDriver, modes: readonly string[]): AccessMode {
  if (modes.includes('ReadWriteMany')) return 'MULTI_NODE_MULTI_WRITER';
  const single = driver.capabilities.has('SINGLE_NODE_MULTI_WRITER');
  if (modes.includes('ReadWriteOncePod')) return single ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
  if (modes.includes('ReadWriteOnce')) return single ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
  return 'MULTI_NODE_READER_ONLY';
}

function podInfo({ metadata, spec }: Pod): Readonly<Record<string, string>> {
  return {
    'csi.storage.k8s.io/pod.name': metadata?.name ?? '',
    'csi.storage.k8s.io/pod.namespace': metadata?.namespace ?? '',
    'csi.storage.k8s.io/pod.uid': metadata?.uid ?? '',
    'csi.storage.k8s.io/serviceAccount.name': spec?.serviceAccountName ?? 'default',
    'csi.storage.k8s.io/ephemeral': 'false',
  };
}

async function readSecret(
  { client }: MountDeps,
  reference: SecretReference,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { name = '', namespace } = reference ?? {};
  if (name === '') return {};
  const secret = await client.get(secrets, { namespace, name }, { signal });
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}
