// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { toVolumeCapability, type VolumeUse } from './access-modes.ts';

const use: VolumeUse = {
  accessModes: ['ReadWriteOnce'],
  volumeMode: undefined,
  fsType: 'xfs',
  mountOptions: ['noatime', 'discard'],
};
const support = { singleNodeMultiWriter: true };
const mount = { fs_type: 'xfs', mount_flags: ['noatime', 'discard'] };
const access_mode = { mode: 'SINGLE_NODE_MULTI_WRITER' };

it.each([
  { volumeMode: undefined, capability: { mount, access_mode } },
  { volumeMode: 'Filesystem', capability: { mount, access_mode } },
  { volumeMode: 'Block', capability: { block: {}, access_mode } },
])('given the volume mode $volumeMode, then the capability is $capability', ({ volumeMode, capability }) => {
  expect(toVolumeCapability({ ...use, volumeMode }, support)).toEqual({ kind: 'ok', value: capability });
});

it('given access modes that no single mode of CSI represents, then the volume is refused', () => {
  expect(toVolumeCapability({ ...use, accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] }, support)).toEqual({
    kind: 'error',
    message: 'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume',
  });
});
