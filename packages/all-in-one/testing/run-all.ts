// SPDX-License-Identifier: Apache-2.0
/** The whole combined program over a real driver socket, with an API server in memory and virtual time. */
import type { Handlers } from '@csi-sidecars/csi/testing';
import { systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { aClaim, aClass } from '@csi-sidecars/provisioner/testing';
import type {
  CSINode,
  KubeObject,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
} from '@csi-sidecars/runtime';
import { type DrivenOptions, type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import type { VolumeSnapshotClass, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import { runAll } from '../src/all/run.ts';
import type { Sidecars } from '../src/all/sidecars.ts';

export const driverName = 'test.csi.example.com';
export const four = '--controllers=attacher,provisioner,resizer,snapshotter';

export const capabilities = (...types: readonly string[]) =>
  ({ capabilities: types.map((type) => ({ rpc: { type } })) }) as never;

export const allCapabilities = [
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'EXPAND_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
] as const;

/** A driver that can do everything and does it at once. */
export const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] }),
  '/csi.v1.Controller/ControllerGetCapabilities': () => capabilities(...allCapabilities),
  '/csi.v1.Controller/CreateVolume': () => ({ volume: { volume_id: 'volume-1', capacity_bytes: '5368709120' } }),
  '/csi.v1.Controller/ControllerPublishVolume': () => ({}),
  '/csi.v1.Controller/ControllerExpandVolume': () => ({ capacity_bytes: '2147483648', node_expansion_required: false }),
  '/csi.v1.Controller/CreateSnapshot': () => ({ snapshot: { snapshot_id: 's', ready_to_use: true } }),
};

export interface AllOptions extends Partial<DrivenOptions> {
  readonly args?: readonly string[];
  readonly sidecars?: Sidecars;
}

export function runCombined({
  handlers = {},
  types = snapshotTypes,
  sidecars,
  ...options
}: AllOptions = {}): Promise<DrivenProgram> {
  const own = {
    files: systemSocketFiles(),
    platform: 'unix',
    ...(sidecars === undefined ? {} : { sidecars }),
  } as const;
  return runOverDriver((deps) => runAll({ ...deps, ...own }), {
    ...options,
    types,
    handlers: { ...healthy, ...handlers },
  });
}

/** A command line that ends by itself: its exit code, and what it printed. */
export async function refusedCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const host = fakeHost({ args, env });
  const code = await runAll({ host, lifecycle: host.lifecycle, files: systemSocketFiles(), platform: 'unix' });
  const logged = host.logged();
  const last = logged.trimEnd().split('\n').at(-1) ?? '';
  return { code, printed: host.printed(), last, logged, connections: host.connections() };
}

export interface Ended {
  readonly code: number;
  readonly printed: string;
  readonly logged: string;
  /** The last line of the log. */
  readonly last: string;
  /** API connections that are open. */
  readonly connections: number;
}

export const storageClass: StorageClass = aClass();

/** It waits for csi-provisioner. */
export const waitingClaim = (name = 'data'): PersistentVolumeClaim => aClaim({ name });

/** A volume with its claim, which asks for more than the volume has. */
export function growing(): readonly KubeObject[] {
  const claim: PersistentVolumeClaim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'bound', namespace: 'team', uid: 'uid-bound' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      volumeName: 'pv1',
      resources: { requests: { storage: '2Gi' } },
    },
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  };
  return [claim, volumeOf(claim)];
}

function volumeOf({ metadata }: PersistentVolumeClaim): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv1', uid: 'uid-pv1' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      volumeMode: 'Filesystem',
      claimRef: { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '', uid: metadata?.uid ?? '' },
      csi: { driver: driverName, volumeHandle: 'volume-1' },
    },
    status: { phase: 'Bound' },
  };
}

/** An attachment of `pv1`, and the node. */
export function attaching(): readonly KubeObject[] {
  const node: CSINode = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'node1', uid: 'uid-node1' },
    spec: { drivers: [{ name: driverName, nodeID: 'id-of-node1', topologyKeys: [] }] },
  };
  const attachment: VolumeAttachment = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'va1', uid: 'uid-va1' },
    spec: { attacher: driverName, nodeName: 'node1', source: { persistentVolumeName: 'pv1' } },
    status: { attached: false },
  };
  return [node, attachment];
}

/** A content that asks for a snapshot of the volume. */
export function snapshotting(): readonly KubeObject[] {
  const snapshotClass: VolumeSnapshotClass = {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'gold', uid: 'uid-gold' },
    driver: driverName,
    deletionPolicy: 'Delete',
  };
  const content: VolumeSnapshotContent = {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: {
      name: 'content',
      uid: 'uid-content',
      finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'],
    },
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      source: { volumeHandle: 'volume-1' },
      volumeSnapshotClassName: 'gold',
      volumeSnapshotRef: {
        kind: 'VolumeSnapshot',
        namespace: 'team',
        name: 'snap',
        uid: '11111111-2222-3333-4444-555555555555',
      },
    },
  };
  return [snapshotClass, content];
}

/** Work for each of the four controllers. */
export function workForAll(): readonly KubeObject[] {
  return [storageClass, waitingClaim(), ...growing(), ...attaching(), ...snapshotting()];
}
