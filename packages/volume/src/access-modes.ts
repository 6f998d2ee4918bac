// SPDX-License-Identifier: Apache-2.0
/**
 * Kubernetes access modes to CSI access modes. The table has two uses: the attacher and the resizer have
 * the set of modes of a PersistentVolume and need one CSI mode; the provisioner maps each mode of a claim on its own,
 * so combinations that are errors here (ReadOnlyMany with ReadWriteOnce) give two capabilities there.
 */
import { ok, refuse, type Result } from './result.ts';
import type { VolumeCapabilityInput } from '@csi-sidecars/csi';

export type CsiAccessMode =
  | 'SINGLE_NODE_WRITER'
  | 'SINGLE_NODE_SINGLE_WRITER'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'MULTI_NODE_READER_ONLY'
  | 'MULTI_NODE_MULTI_WRITER';

export interface AccessModeSupport {
  /** The driver has the controller capability SINGLE_NODE_MULTI_WRITER. */
  readonly singleNodeMultiWriter: boolean;
}

/** The order of `modes` and duplicates in it do not matter; unknown modes beside a known one are ignored. */
export function toAccessMode(modes: readonly string[], support: AccessModeSupport): Result<CsiAccessMode> {
  const set = new Set(modes);
  if (set.has('ReadWriteOncePod')) {
    if (set.size > 1) {
      return refuse(
        'Kubernetes does not support use of ReadWriteOncePod with other access modes on the same PersistentVolume',
      );
    }
    return ok(support.singleNodeMultiWriter ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER');
  }
  if (set.has('ReadWriteMany')) return ok('MULTI_NODE_MULTI_WRITER');
  if (set.has('ReadOnlyMany') && set.has('ReadWriteOnce')) {
    return refuse('CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume');
  }
  if (set.has('ReadOnlyMany')) return ok('MULTI_NODE_READER_ONLY');
  if (set.has('ReadWriteOnce')) {
    return ok(support.singleNodeMultiWriter ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER');
  }
  return refuse(`unsupported AccessMode combination: [${modes.join(' ')}]`);
}

/** How a volume is used, as a CSI message. A block volume has neither file system nor mount options, whatever its object contains. */
export interface VolumeUse {
  readonly accessModes: readonly string[];
  /** Any value except `Block` means a file system. */
  readonly volumeMode: string | undefined;
  /** If empty, the driver uses its default. */
  readonly fsType: string;
  readonly mountOptions: readonly string[];
}

/** Refuses access modes that no single CSI mode represents. */
export function toVolumeCapability(use: VolumeUse, support: AccessModeSupport): Result<VolumeCapabilityInput> {
  const mode = toAccessMode(use.accessModes, support);
  if (mode.kind === 'error') return mode;
  const accessType =
    use.volumeMode === 'Block' ? { block: {} } : { mount: { fs_type: use.fsType, mount_flags: use.mountOptions } };
  return ok({ ...accessType, access_mode: { mode: mode.value } });
}
