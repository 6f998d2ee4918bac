// SPDX-License-Identifier: Apache-2.0
/** csi-attacher as a program: the steps from the first argument to the exit code that only this program has. */
import { type DriverInfo, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import {
  orExit,
  type ProgramDeps,
  runSidecarProgram,
  type SidecarProgram,
  type StartContext,
} from '@csi-sidecars/sidecar';
import { neededRules } from '@csi-sidecars/runtime';
import { replacesPlugin } from '@csi-sidecars/volume';
import { canAttach, createAttacher } from './attacher.ts';
import { type AttacherGate, attacherProgram, type AttacherValues } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';
import { refusedFlags, toSettings } from './read-settings.ts';

type Context = StartContext<AttacherValues, AttacherGate>;

/** The deadline of the calls at start-up. It is fixed in upstream too: `--timeout` applies to attaching and detaching. */
const startCallsMs = 1_000;

export const attacherSidecar: SidecarProgram<AttacherValues, AttacherGate> = {
  program: attacherProgram,
  refused: refusedFlags,
  driver: (values) => ({
    probeTimeoutMs: values.timeout,
    nameTimeoutMs: startCallsMs,
    isMigrated: replacesPlugin,
    maxLoggedResponseBytes: values['max-grpc-log-length'],
  }),
  prepare: async (context) => {
    const driver = await readCapabilities(context);
    const { values, gates } = context.started;
    const settings = toSettings(values, { errorCodes: gates.MutableCSINodeAllocatableCount });
    const { channel, sharedRelease } = context;
    return {
      lockName: lockNameOf(driver.name),
      driver,
      rights: { cluster: neededRules(clusterRules, { attach: canAttach(driver) }) },
      assemble: (ports) => createAttacher({ ...ports, channel, sharedRelease }, { driver, settings }),
    };
  },
};

export function runAttacher(deps: ProgramDeps): Promise<number> {
  return runSidecarProgram(deps, attacherSidecar);
}

/** Both calls share one deadline. A driver without a controller service gets no ControllerGetCapabilities. */
async function readCapabilities({ channel, clock, name, signal }: Context): Promise<DriverInfo> {
  const endMs = clock.monotonicMs() + startCallsMs;
  const call = () => ({ timeoutMs: Math.max(endMs - clock.monotonicMs(), 0), signal });
  const pluginCapabilities = await orExit('Failed to get the capabilities of the CSI driver', () =>
    getPluginCapabilities(channel, call()),
  );
  if (!pluginCapabilities.has('CONTROLLER_SERVICE')) {
    return { name, pluginCapabilities, controllerCapabilities: new Set() };
  }
  const controllerCapabilities = await orExit('Failed to get the capabilities of the CSI controller', () =>
    getControllerCapabilities(channel, call()),
  );
  return { name, pluginCapabilities, controllerCapabilities };
}
