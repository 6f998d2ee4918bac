// SPDX-License-Identifier: Apache-2.0
/** Drivers of several nodes, each with storage of its own, that give no id twice. */
import type { DriverModel } from '@csi-sidecars/test-driver';

/** From here on the ids of this driver are by so many higher than those of a new one. */
export async function skipIds(driver: DriverModel, count: number): Promise<void> {
  const channel = driver.channel();
  const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
  for (let index = 0; index < count; index++) {
    const request = { name: 'skipped', volume_capabilities: [capability] };
    const { volume } = await channel.call('/csi.v1.Controller/CreateVolume', request, { timeoutMs: 1000 });
    const made = { volume_id: volume?.volume_id ?? '' };
    await channel.call('/csi.v1.Controller/DeleteVolume', made, { timeoutMs: 1000 });
  }
  driver.forgetCalls();
}
