// SPDX-License-Identifier: Apache-2.0
/** What csi-resizer asks the driver at its start, in upstream's order. Every failure ends the program. */
import { type CsiChannel, CsiError, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import { ExitError, exitCodes, orExit } from '@csi-sidecars/sidecar';
import { canModify, type Expansion, type ResizerDriver } from './driver.ts';
import type { Timeouts } from './read-settings.ts';

export interface AskedDriver {
  readonly name: string;
  readonly channel: CsiChannel;
  readonly signal: AbortSignal;
}

/** Rejects with an ExitError: 1 for a failed call or a driver without controller, 255 for one with nothing to do. */
export async function askDriver(asked: AskedDriver, timeouts: Timeouts): Promise<ResizerDriver> {
  const { name, channel, signal } = asked;
  const expand = { timeoutMs: timeouts.expandMs, signal };
  const pluginCapabilities = await orExit('Failed to get the capabilities of the CSI driver', () =>
    getPluginCapabilities(channel, expand),
  );
  if (!pluginCapabilities.has('CONTROLLER_SERVICE')) {
    throw new ExitError(exitCodes.failure, 'CSI driver does not support controller service');
  }
  const controllerCapabilities = await orExit('Failed to get the capabilities of the CSI controller', () =>
    getControllerCapabilities(channel, expand),
  );
  const expansion: Expansion = controllerCapabilities.has('EXPAND_VOLUME')
    ? 'controller'
    : await askNode(asked, timeouts);
  // Once more, with the deadline of modifications: a driver that is too slow for them ends the program at its start.
  await orExit('Failed to get the capabilities of the CSI controller', () =>
    getControllerCapabilities(channel, { timeoutMs: timeouts.modifyMs, signal }),
  );
  const driver: ResizerDriver = { name, pluginCapabilities, controllerCapabilities, expansion };
  if (expansion === 'none' && !canModify(driver)) {
    throw new ExitError(exitCodes.fatal, 'CSI driver does not support resize nor modify');
  }
  return driver;
}

/** A driver whose controller process has no node service cannot expand on nodes as far as this program can know. */
async function askNode({ channel, signal }: AskedDriver, { expandMs: timeoutMs }: Timeouts): Promise<Expansion> {
  return orExit('Failed to get the capabilities of the CSI node', async () => {
    try {
      const { capabilities } = await channel.call('/csi.v1.Node/NodeGetCapabilities', {}, { timeoutMs, signal });
      return capabilities.some(({ rpc }) => rpc?.type === 'EXPAND_VOLUME') ? 'trivial' : 'none';
    } catch (error) {
      if (error instanceof CsiError && error.code === 'Unimplemented') return 'none';
      throw error;
    }
  });
}
