// SPDX-License-Identifier: Apache-2.0
/** How a volume is used, as a CSI message. A block volume has neither file system nor mount options, whatever its object contains. */
import type { VolumeCapabilityInput } from '@csi-sidecars/csi';
import { type AccessModeSupport, toAccessMode } from './access-modes.ts';
import { ok, type Result } from './result.ts';

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
