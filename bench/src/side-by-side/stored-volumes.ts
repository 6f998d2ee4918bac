// SPDX-License-Identifier: Apache-2.0
/** Volumes that the driver of a test environment holds before the program starts. */
import { inParallel } from '@csi-sidecars/e2e';
import { connectCsi } from '@csi-sidecars/csi';
import { silentLogger } from '@csi-sidecars/runtime';
import type { BenchEnvironment } from './environment.ts';

/** Requests at the same time. */
export const concurrency = 32;
const callMs = 30_000;

export interface StoredVolume {
  readonly name: string;
  readonly handle: string;
}

/** `record` writes the objects of the volume. */
export async function createStoredVolumes(
  { cluster, driver }: BenchEnvironment,
  names: readonly string[],
  record: (volume: StoredVolume) => Promise<void>,
): Promise<void> {
  const { clock, patience } = cluster;
  const channel = await connectCsi({ clock, log: silentLogger }, { address: `unix://${driver.socket}` });
  const volume_capabilities = [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } }];
  try {
    await inParallel(names, concurrency, async (name) => {
      const { volume } = await channel.call(
        '/csi.v1.Controller/CreateVolume',
        { name, volume_capabilities },
        { timeoutMs: callMs, signal: patience.signal },
      );
      await record({ name, handle: volume?.volume_id ?? '' });
    });
  } finally {
    channel.close();
  }
}

/** Unique in the cluster. */
export const namesOf = ({ namespace }: BenchEnvironment, what: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${namespace}-${what}-${n}`);
