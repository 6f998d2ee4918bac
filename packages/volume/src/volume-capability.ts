// SPDX-License-Identifier: Apache-2.0
/** How a volume is used, in CSI's words. A block volume has neither file system nor mount options, whatever its object says. */
import type { VolumeCapabilityInput } from '@csi-sidecars/csi';
import { type AccessModeSupport, toAccessMode } from './access-modes.ts';
import { ok, type Result } from './result.ts';

export interface VolumeUse {
  readonly accessModes: readonly string[];
  /** Anything but `Block` is a file system. */
  readonly volumeMode: string | undefined;
  /** Empty: the driver's default. */
  readonly fsType: string;
  readonly mountOptions: readonly string[];
}

/** Refuses access modes that no single CSI mode stands for. */
export function toVolumeCapability(use: VolumeUse, support: AccessModeSupport): Result<VolumeCapabilityInput> {
  const mode = toAccessMode(use.accessModes, support);
  if (mode.kind === 'error') return mode;
  const accessType =
    use.volumeMode === 'Block' ? { block: {} } : { mount: { fs_type: use.fsType, mount_flags: use.mountOptions } };
  return ok({ ...accessType, access_mode: { mode: mode.value } });
}
