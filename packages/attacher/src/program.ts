// SPDX-License-Identifier: Apache-2.0
/** csi-attacher as a program: what is its own between the first argument and the exit code. */
import { capabilityNames, type DriverFacts, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import { createWorkQueueMetrics } from '@csi-sidecars/runtime';
import {
  ExitError,
  exitCodes,
  orExit,
  overCaches,
  type ProgramDeps,
  runSidecar,
  type SidecarContext,
} from '@csi-sidecars/sidecar';
import { inTreePluginOf } from '@csi-sidecars/volume';
import { createAttacher } from './attacher.ts';
import { type AttacherGate, attacherProgram, type AttacherValues } from './flags.ts';
import { lockNameOf } from './names.ts';
import { refusedFlags, toSettings } from './read-settings.ts';

type Context = SidecarContext<AttacherValues, AttacherGate>;

/** Fixed upstream: `--timeout` is for attaching and detaching. */
const startCallsMs = 1_000;

export function runAttacher(deps: ProgramDeps): Promise<number> {
  return runSidecar<AttacherValues, AttacherGate>(deps, attacherProgram, {
    check: ({ values }) => {
      const refused = refusedFlags(values);
      if (refused !== undefined) throw new ExitError(exitCodes.failure, refused);
    },
    driver: (values) => ({
      probeTimeoutMs: values.timeout,
      nameTimeoutMs: startCallsMs,
      isMigrated: (name) => inTreePluginOf(name) !== undefined,
      maxLoggedResponseBytes: values['max-grpc-log-length'],
    }),
    prepare: async (context) => {
      const driver = await askDriver(context);
      const { values, gates } = context.started;
      const settings = toSettings(values, { errorCodes: gates.MutableCSINodeAllocatableCount });
      const { client: api, channel, clock, random, log: logger, metrics } = context;
      const shared = { api, channel, clock, random, logger, metrics, queueMetrics: createWorkQueueMetrics(metrics) };
      return {
        lockName: lockNameOf(driver.name),
        run: overCaches(context, (informers, gate) =>
          createAttacher({ ...shared, informers, gate }, { driver, settings }),
        ),
      };
    },
  });
}

/** Both calls share one deadline. A driver without controller is not asked what its controller can do. */
async function askDriver({ channel, clock, name, signal }: Context): Promise<DriverFacts> {
  const endMs = clock.monotonicMs() + startCallsMs;
  const call = () => ({ timeoutMs: Math.max(endMs - clock.monotonicMs(), 0), signal });
  const pluginCapabilities = capabilityNames(
    await orExit('Failed to get the capabilities of the CSI driver', () => getPluginCapabilities(channel, call())),
  );
  if (!pluginCapabilities.has('CONTROLLER_SERVICE')) {
    return { name, pluginCapabilities, controllerCapabilities: new Set() };
  }
  const controllerCapabilities = capabilityNames(
    await orExit('Failed to get the capabilities of the CSI controller', () =>
      getControllerCapabilities(channel, call()),
    ),
  );
  return { name, pluginCapabilities, controllerCapabilities };
}
