// SPDX-License-Identifier: Apache-2.0
/** csi-resizer as a program: what is its own between the first argument and the exit code. */
import { neededRules } from '@csi-sidecars/runtime';
import { CsiError, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import {
  type AttributesClassGate,
  ExitError,
  exitCodes,
  orExit,
  type ProgramDeps,
  runSidecarProgram,
  type SidecarProgram,
  type StartContext,
  usesAttributesClasses,
} from '@csi-sidecars/sidecar';
import { replacesPlugin } from '@csi-sidecars/volume';
import { canModify, type Expansion, type ResizerDriver } from './driver.ts';
import { type ResizerGate, resizerProgram, type ResizerValues } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules, rightsFacts } from './rbac.ts';
import { refusedFlags, type Timeouts, timeoutsOf, toSettings } from './read-settings.ts';
import { createResizer } from './resizer.ts';
import type { ResizerSettings } from './settings.ts';

type Context = StartContext<ResizerValues, ResizerGate>;

export const resizerSidecar: SidecarProgram<ResizerValues, ResizerGate> = {
  program: resizerProgram,
  refused: refusedFlags,
  requestMetrics: true,
  driver: ({ timeout }) => ({ probeTimeoutMs: timeout, nameTimeoutMs: timeout, isMigrated: replacesPlugin }),
  prepare: async (context) => {
    const { values, given } = context.started;
    const features = await featuresOf(context);
    const timeouts = timeoutsOf(values, given);
    const driver = await askDriver(context, timeouts);
    const settings = toSettings(values, timeouts, features);
    const { channel, name } = context;
    return {
      lockName: lockNameOf(name),
      driver,
      rights: { cluster: neededRules(clusterRules, rightsFacts(driver, settings)) },
      assemble: ({ recorderOf, ...ports }) => {
        const events = recorderOf({ component: `external-resizer ${name}` });
        return createResizer({ ...ports, channel, events }, { driver, settings });
      },
    };
  },
};

export function runResizer(deps: ProgramDeps): Promise<number> {
  return runSidecarProgram(deps, resizerSidecar);
}

/** What gates and the cluster decide. */
export async function featuresOf(
  context: AttributesClassGate & { readonly started: Pick<Context['started'], 'gates'> },
): Promise<ResizerSettings['features']> {
  const { gates } = context.started;
  return {
    annotateFsResize: gates.AnnotateFsResize,
    recovery: gates.RecoverVolumeExpansionFailure,
    volumeAttributesClass: await usesAttributesClasses(context),
  };
}

/** In upstream's order. Rejects with an ExitError: 1 for a failed call or a driver without controller, 255 for one with nothing to do. */
async function askDriver(context: Context, timeouts: Timeouts): Promise<ResizerDriver> {
  const { name, channel, signal } = context;
  const expand = { timeoutMs: timeouts.expandMs, signal };
  const pluginCapabilities = await orExit('Failed to get the capabilities of the CSI driver', () =>
    getPluginCapabilities(channel, expand),
  );
  if (!pluginCapabilities.has('CONTROLLER_SERVICE')) {
    throw new ExitError(exitCodes.failure, 'CSI driver does not support controller service', { reason: 'driver' });
  }
  const controllerCapabilities = await orExit('Failed to get the capabilities of the CSI controller', () =>
    getControllerCapabilities(channel, expand),
  );
  const expansion: Expansion = controllerCapabilities.has('EXPAND_VOLUME')
    ? 'controller'
    : await askNode(context, timeouts);
  // Once more, with the deadline of modifications: a driver that is too slow for them ends the program at its start.
  await orExit('Failed to get the capabilities of the CSI controller', () =>
    getControllerCapabilities(channel, { timeoutMs: timeouts.modifyMs, signal }),
  );
  const driver: ResizerDriver = { name, pluginCapabilities, controllerCapabilities, expansion };
  if (expansion === 'none' && !canModify(driver)) {
    throw new ExitError(exitCodes.fatal, 'CSI driver does not support resize nor modify', { reason: 'driver' });
  }
  return driver;
}

/** A driver whose controller process has no node service cannot expand on nodes as far as this program can know. */
async function askNode({ channel, signal }: Context, { expandMs: timeoutMs }: Timeouts): Promise<Expansion> {
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
