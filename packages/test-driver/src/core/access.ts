// SPDX-License-Identifier: Apache-2.0
/** VolumeCapability messages, checked and made comparable. */
import type { VolumeCapability } from '@csi-sidecars/csi';
import type { Access } from './records.ts';
import { refuse } from './refusal.ts';
import type { Settings } from './settings.ts';

const multiNodeModes: readonly string[] = [
  'MULTI_NODE_READER_ONLY',
  'MULTI_NODE_SINGLE_WRITER',
  'MULTI_NODE_MULTI_WRITER',
];
const singleNodeModes: readonly string[] = ['SINGLE_NODE_WRITER', 'SINGLE_NODE_READER_ONLY'];
/** Legal only for drivers that say so. */
const alphaModes: readonly string[] = ['SINGLE_NODE_SINGLE_WRITER', 'SINGLE_NODE_MULTI_WRITER'];

export function isMultiNode(access: Access): boolean {
  return multiNodeModes.includes(access.mode);
}

/** Whether a second target path on the same node is allowed. */
export function isMultiTarget(access: Access): boolean {
  return isMultiNode(access) || access.mode === 'SINGLE_NODE_MULTI_WRITER';
}

export function parseAccess(settings: Settings, capability: VolumeCapability | null): Access {
  if (capability === null) refuse('InvalidArgument', 'volume capability is missing');
  const { block, mount } = capability;
  const mode = capability.access_mode?.mode ?? 'UNKNOWN';
  if (block === undefined && mount === undefined) refuse('InvalidArgument', 'access type is missing');
  if (mode === 'UNKNOWN') refuse('InvalidArgument', 'access mode is missing');
  if (typeof mode === 'number' || !isKnownMode(settings, mode)) {
    refuse('InvalidArgument', `access mode ${mode} is not supported`);
  }
  const mountGroup = mount?.volume_mount_group ?? '';
  if (mountGroup !== '' && !settings.capabilities.node.includes('VOLUME_MOUNT_GROUP')) {
    refuse('InvalidArgument', 'volume_mount_group was sent without the capability VOLUME_MOUNT_GROUP');
  }
  return {
    type: block === undefined ? 'mount' : 'block',
    mode,
    fsType: mount?.fs_type ?? '',
    mountFlags: mount?.mount_flags ?? [],
    mountGroup,
  };
}

function isKnownMode(settings: Settings, mode: string): boolean {
  if (alphaModes.includes(mode)) return settings.capabilities.controller.includes('SINGLE_NODE_MULTI_WRITER');
  return singleNodeModes.includes(mode) || multiNodeModes.includes(mode);
}

/** One or more; a volume cannot be a device and a file system at the same time. */
export function parseAccesses(settings: Settings, capabilities: readonly VolumeCapability[]): readonly Access[] {
  if (capabilities.length === 0) refuse('InvalidArgument', 'volume capabilities are missing');
  const accesses = capabilities.map((capability) => parseAccess(settings, capability));
  if (new Set(accesses.map((access) => access.type)).size > 1) {
    refuse('InvalidArgument', 'block and mount access are requested for one volume');
  }
  return accesses;
}

export function sameAccess(a: Access, b: Access): boolean {
  return (
    a.type === b.type &&
    a.mode === b.mode &&
    a.fsType === b.fsType &&
    a.mountGroup === b.mountGroup &&
    a.mountFlags.length === b.mountFlags.length &&
    a.mountFlags.every((flag, index) => flag === b.mountFlags[index])
  );
}
