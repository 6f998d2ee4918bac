// SPDX-License-Identifier: Apache-2.0
/**
 * Whether finalizers that an earlier program left on snapshots are looked for. Asked once, at the start: a cluster that gets the kinds or
 * the permission later is swept after the next restart. Removing the finalizer after a restore does not depend on it.
 */
import type { DriverInfo } from '@csi-sidecars/csi';
import { type ApiClient, apiVersionOf, isForbidden, type Logger, servesKind, toError } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';

export interface SweepPorts {
  readonly client: Pick<ApiClient, 'raw' | 'list'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface SweepOptions {
  readonly driver: DriverInfo;
  /** 0: never. */
  readonly intervalMs: number;
}

/** `forbidden`: it is wanted, and the right is missing. `no snapshots`: the cluster does not serve them. */
export type Sweep = 'on' | 'off' | 'forbidden' | 'no snapshots';

export async function sweepsSnapshots(
  { client, log, signal }: SweepPorts,
  { driver, intervalMs }: SweepOptions,
): Promise<Sweep> {
  if (intervalMs <= 0 || !driver.controllerCapabilities.has('CREATE_DELETE_SNAPSHOT')) return 'off';
  const { kind } = volumeSnapshots;
  const served = await servesKind(client, { groupVersion: apiVersionOf(volumeSnapshots), kind }, signal);
  // A failure proves no absence: if the API server is away for a moment, nothing would be swept until the next restart.
  if (served === 'absent') {
    log.info(0, 'SnapshotFinalizerProtection: disabled, the cluster does not serve VolumeSnapshot');
    return 'no snapshots';
  }
  try {
    await client.list(volumeSnapshots, { limit: 1 }, { signal });
  } catch (error) {
    if (!isForbidden(error)) return 'on';
    const reason = toError(error).message;
    log.info(0, `SnapshotFinalizerProtection: disabled, missing list permission on volumesnapshots: ${reason}`);
    return 'forbidden';
  }
  return 'on';
}
