// SPDX-License-Identifier: Apache-2.0
/**
 * The settings of the driver. By default it offers everything; tests remove capabilities, or add unknown ones
 * (a number), to see how callers handle that.
 */
import type {
  ControllerServiceCapability_RPC_Type,
  GroupControllerServiceCapability_RPC_Type,
  NodeServiceCapability_RPC_Type,
  PluginCapability_Service_Type,
  PluginCapability_VolumeExpansion_Type,
} from '@csi-sidecars/csi';
import type { StringMap } from './records.ts';

export interface Capabilities {
  readonly plugin: readonly PluginCapability_Service_Type[];
  readonly expansion: readonly PluginCapability_VolumeExpansion_Type[];
  readonly controller: readonly ControllerServiceCapability_RPC_Type[];
  readonly node: readonly NodeServiceCapability_RPC_Type[];
  readonly group: readonly GroupControllerServiceCapability_RPC_Type[];
}

export interface NodeSettings {
  readonly id: string;
  readonly segments: StringMap;
  /** 0: no limit. */
  readonly maxVolumes: number;
}

/** Finite storage of one kind, in one topology domain or in all of them. */
export interface Pool {
  readonly kind: string;
  readonly totalBytes: bigint;
  readonly segments: StringMap | undefined;
}

export interface Settings {
  readonly name: string;
  readonly vendorVersion: string;
  readonly manifest: StringMap;
  readonly capabilities: Capabilities;
  /** The nodes that exist; with `any`, volumes can be attached to any node that a test names. */
  readonly nodes: readonly NodeSettings[] | 'any';
  readonly pools: readonly Pool[];
  readonly defaultVolumeBytes: bigint;
  readonly maxVolumeBytes: bigint;
  /** Keys that ControllerModifyVolume and `mutable_parameters` accept; `any` means all. */
  readonly mutableParameters: readonly string[] | 'any';
  /** How long a snapshot stays not ready after it was taken. */
  readonly snapshotProcessingMs: number;
  /** Added to every publish context, to check that it arrives on the node unchanged. */
  readonly publishContext: StringMap;
}

export const allCapabilities: Capabilities = {
  plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS', 'GROUP_CONTROLLER_SERVICE'],
  expansion: ['ONLINE'],
  controller: [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    'GET_CAPACITY',
    'CREATE_DELETE_SNAPSHOT',
    'LIST_SNAPSHOTS',
    'CLONE_VOLUME',
    'PUBLISH_READONLY',
    'EXPAND_VOLUME',
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
    'SINGLE_NODE_MULTI_WRITER',
    'MODIFY_VOLUME',
    'GET_SNAPSHOT',
    'GET_VOLUME_HEALTH',
    'LIST_VOLUME_HEALTH',
  ],
  node: [
    'STAGE_UNSTAGE_VOLUME',
    'GET_VOLUME_STATS',
    'EXPAND_VOLUME',
    'SINGLE_NODE_MULTI_WRITER',
    'VOLUME_MOUNT_GROUP',
    'GET_VOLUME_HEALTH',
    'GET_STORAGE_HEALTH',
  ],
  group: ['CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'],
};

const gib = 1024n ** 3n;

export const defaultSettings: Settings = {
  name: 'test.csi.example.com',
  vendorVersion: '0.1.0',
  manifest: {},
  capabilities: allCapabilities,
  nodes: 'any',
  pools: [],
  defaultVolumeBytes: gib,
  maxVolumeBytes: 1024n * gib,
  mutableParameters: 'any',
  snapshotProcessingMs: 0,
  publishContext: {},
};

export function knownNode(settings: Settings, id: string): NodeSettings | undefined {
  if (settings.nodes === 'any') return { id, segments: {}, maxVolumes: 0 };
  return settings.nodes.find((node) => node.id === id);
}
