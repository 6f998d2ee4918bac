// SPDX-License-Identifier: Apache-2.0
/** csi-provisioner as a program: the parts between its arguments and its exit code that are its own. */
import { type DriverInfo, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import { createEventRecorder, type EventRecorder } from '@csi-sidecars/runtime';
import {
  ExitError,
  exitCodes,
  orExit,
  type PreparedController,
  type ProgramDeps,
  runSidecarProgram,
  type SidecarProgram,
  type StartContext,
  usesAttributesClasses,
} from '@csi-sidecars/sidecar';
import { replacesPlugin } from '@csi-sidecars/volume';
import { type ProvisionerGate, provisionerProgram, type ProvisionerValues } from './flags.ts';
import { lockNameOf, refusedDriverName } from './names.ts';
import { createProvisioner } from './provisioner.ts';
import { refusedFlags, toSettings } from './read-settings.ts';
import type { ProvisionerSettings } from './settings.ts';
import { sweepsSnapshots } from './source-protection/sweeps-snapshots.ts';

type Context = StartContext<ProvisionerValues, ProvisionerGate>;

export const provisionerSidecar: SidecarProgram<ProvisionerValues, ProvisionerGate> = {
  program: provisionerProgram,
  // As upstream, whose fatal logger ends the process unless its library ends it first.
  start: { gateExitCode: exitCodes.fatal },
  httpExitCode: exitCodes.fatal,
  clientExitCode: exitCodes.fatal,
  refused: refusedFlags,
  kubeconfig: (values, env) => env['KUBECONFIG'] || values.kubeconfig,
  driver: ({ timeout }) => ({
    probeTimeoutMs: timeout,
    nameTimeoutMs: timeout,
    nameExitCode: exitCodes.fatal,
    isMigrated: replacesPlugin,
  }),
  prepare: async (context) => {
    const refused = refusedDriverName(context.name);
    if (refused !== undefined) throw new ExitError(exitCodes.fatal, refused, { reason: 'driver' });
    const driver = await askDriver(context);
    const settings = toSettings(context.started.values, await featuresOf(context, driver), identityOf(context));
    return { lockName: lockNameOf(driver.name), assemble: provisioning(context, driver, settings) };
  },
};

export function runProvisioner(deps: ProgramDeps): Promise<number> {
  return runSidecarProgram(deps, provisionerSidecar);
}

/** A missing capability does not prevent the start; each attempt fails with an event that names it. */
async function askDriver({ channel, name, started, signal }: Context): Promise<DriverInfo> {
  const call = { timeoutMs: started.values.timeout, signal };
  return await orExit(
    'Failed to get the capabilities of the CSI driver',
    async () => ({
      name,
      pluginCapabilities: await getPluginCapabilities(channel, call),
      controllerCapabilities: await getControllerCapabilities(channel, call),
    }),
    exitCodes.fatal,
  );
}

async function featuresOf(context: Context, driver: DriverInfo): Promise<ProvisionerSettings['features']> {
  const { gates, values } = context.started;
  const intervalMs = values['snapshot-orphan-sweep-interval'];
  return {
    topology: gates.Topology,
    volumeAttributesClass: await usesAttributesClasses(context),
    crossNamespaceVolumeDataSource: gates.CrossNamespaceVolumeDataSource,
    snapshotSweep: await sweepsSnapshots(context, { driver, intervalMs }),
  };
}

/** Identifies this process in the attributes of every volume that it creates. */
function identityOf({ clock, random, name }: Context): string {
  return `${Math.trunc(clock.nowMs())}-${Math.trunc(random.next() * 10_000)}-${name}`;
}

/** Events wait a moment, so that on a busy API server the PersistentVolume is written first. */
const eventDelayMs = 40;

function provisioning(
  context: Context,
  driver: DriverInfo,
  settings: ProvisionerSettings,
): PreparedController['assemble'] {
  const { channel, host, name } = context;
  return (ports) => {
    const recorderOf = (component: string): EventRecorder =>
      createEventRecorder(ports, { component, delayMs: eventDelayMs });
    const events = recorderOf(`${name}_${host.hostName}_${ports.random.uuid()}`);
    const driverEvents = recorderOf('external-provisioner');
    const provisioner = createProvisioner({ ...ports, channel, events, driverEvents }, { driver, settings });
    return {
      run: (signal) => provisioner.run(signal),
      // Flush events before the lease is released.
      end: async () => void (await Promise.all([events.flush(), driverEvents.flush()])),
    };
  };
}
