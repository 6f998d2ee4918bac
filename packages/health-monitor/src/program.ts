// SPDX-License-Identifier: Apache-2.0
/** csi-external-health-monitor-controller as a program: the steps from the first argument to the exit code that only this program has. */
import { type DriverInfo, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import { neededRules } from '@csi-sidecars/runtime';
import {
  ExitError,
  exitCodes,
  orExit,
  type ProgramDeps,
  runSidecarProgram,
  type SidecarProgram,
  type StartContext,
} from '@csi-sidecars/sidecar';
import { type HealthMonitorGate, healthMonitorProgram, type HealthMonitorValues } from './flags.ts';
import { createHealthMonitor, modeOf } from './health-monitor.ts';
import { componentOf, lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';
import { refusedFlags, toSettings } from './read-settings.ts';

type Context = StartContext<HealthMonitorValues, HealthMonitorGate>;

export const healthMonitorSidecar: SidecarProgram<HealthMonitorValues, HealthMonitorGate> = {
  program: healthMonitorProgram,
  refused: refusedFlags,
  driver: ({ timeout }) => ({ probeTimeoutMs: timeout, nameTimeoutMs: timeout }),
  prepare: async (context) => {
    const { channel, started } = context;
    const driver = await readCapabilities(context);
    const settings = toSettings(started.values);
    return {
      lockName: lockNameOf(driver.name),
      driver,
      rights: { cluster: neededRules(clusterRules, {}) },
      assemble: ({ recorderOf, ...ports }) => {
        const events = recorderOf({ component: componentOf(driver.name) });
        return createHealthMonitor({ ...ports, channel, events }, { driver, settings });
      },
    };
  },
};

export function runHealthMonitor(deps: ProgramDeps): Promise<number> {
  return runSidecarProgram(deps, healthMonitorSidecar);
}

/** Each call has the whole deadline; in upstream they share a second with the call for the name. */
async function readCapabilities({ name, channel, started, signal }: Context): Promise<DriverInfo> {
  const call = { timeoutMs: started.values.timeout, signal };
  const pluginCapabilities = await orExit(
    'Failed to check whether the CSI driver supports the Plugin Controller Service',
    () => getPluginCapabilities(channel, call),
  );
  if (!pluginCapabilities.has('CONTROLLER_SERVICE')) {
    throw lacking('CSI driver does not support Plugin Controller Service, exiting');
  }
  const controllerCapabilities = await orExit('The CSI driver cannot be monitored', () =>
    getControllerCapabilities(channel, call),
  );
  if (modeOf({ controllerCapabilities }) === 'none') {
    const lists = controllerCapabilities.has('LIST_VOLUME_HEALTH');
    const reason = lists ? 'it has LIST_VOLUME_HEALTH without GET_VOLUME_HEALTH' : 'it lacks GET_VOLUME_HEALTH';
    throw lacking(`The CSI driver cannot be monitored: ${reason}`);
  }
  return { name, pluginCapabilities, controllerCapabilities };
}

function lacking(message: string): ExitError {
  return new ExitError(exitCodes.failure, message, { reason: 'driver' });
}
