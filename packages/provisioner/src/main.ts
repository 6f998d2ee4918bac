// SPDX-License-Identifier: Apache-2.0
/** csi-provisioner: the process around the provisioner's loops. */
import { getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import {
  createEventRecorder,
  createInformerFactory,
  createWorkQueueMetrics,
  type EventRecorder,
  type LeadingWork,
} from '@csi-sidecars/runtime';
import { ExitError, exitCodes, orExit, runMain, runSidecar, type SidecarContext } from '@csi-sidecars/sidecar';
import { inTreePluginOf } from '@csi-sidecars/volume';
import { attributesClassSupport } from './attributes-class-support.ts';
import type { DriverFacts } from './driver.ts';
import { type ProvisionerGate, provisionerProgram, type ProvisionerValues } from './flags.ts';
import { createProvisioner } from './provisioner.ts';
import { refusedFlags, toSettings } from './read-settings.ts';
import type { ProvisionerSettings } from './settings.ts';

type Context = SidecarContext<ProvisionerValues, ProvisionerGate>;

void runMain(provisionerProgram.name, (deps) =>
  runSidecar<ProvisionerValues, ProvisionerGate>(deps, provisionerProgram, {
    // Upstream ends through its fatal logger wherever its library does not end first.
    start: { gateExitCode: exitCodes.fatal },
    httpExitCode: exitCodes.fatal,
    clientExitCode: exitCodes.fatal,
    check: ({ values }, env) => {
      if (values['node-deployment'] && (env['NODE_NAME'] ?? '') === '') {
        throw new ExitError(
          exitCodes.fatal,
          'The NODE_NAME environment variable must be set when using --enable-node-deployment.',
        );
      }
      const refused = refusedFlags(values);
      if (refused !== undefined) throw new ExitError(exitCodes.failure, refused);
    },
    kubeconfig: (values, env) => env['KUBECONFIG'] || values.kubeconfig,
    driver: ({ timeout }) => ({
      probeTimeoutMs: timeout,
      nameTimeoutMs: timeout,
      nameExitCode: exitCodes.fatal,
      isMigrated: (name) => inTreePluginOf(name) !== undefined,
    }),
    prepare: async (context) => {
      const driver = await askDriver(context);
      const settings = toSettings(context.started.values, await featuresOf(context), identityOf(context));
      return { lockName: driver.name.replaceAll('/', '-'), run: provisioning(context, driver, settings) };
    },
  }),
);

/** What is missing does not stop the start; it fails each attempt, with an event that names it. */
async function askDriver({ channel, name, started, signal }: Context): Promise<DriverFacts> {
  const call = { timeoutMs: started.values.timeout, signal };
  return await orExit(
    'Failed to get the capabilities of the CSI driver',
    async () => ({
      name,
      pluginCapabilities: named(await getPluginCapabilities(channel, call)),
      controllerCapabilities: named(await getControllerCapabilities(channel, call)),
    }),
    exitCodes.fatal,
  );
}

/** Capabilities that this version does not know arrive as numbers. */
function named(capabilities: ReadonlySet<string | number>): ReadonlySet<string> {
  return new Set([...capabilities].map(String));
}

async function featuresOf({ started, client, log, signal }: Context): Promise<ProvisionerSettings['features']> {
  const { gates, givenGates } = started;
  const isAbsent =
    !givenGates.has('VolumeAttributesClass') && (await attributesClassSupport(client, signal)) === 'absent';
  if (isAbsent && gates.VolumeAttributesClass) {
    const message =
      'Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available';
    log.info(0, message);
  }
  return {
    topology: gates.Topology,
    volumeAttributesClass: gates.VolumeAttributesClass && !isAbsent,
    crossNamespaceVolumeDataSource: gates.CrossNamespaceVolumeDataSource,
  };
}

/** Written into the attributes of every volume: which process made it. */
function identityOf({ clock, random, name }: Context): string {
  return `${Math.trunc(clock.nowMs())}-${Math.trunc(random.next() * 10_000)}-${name}`;
}

function provisioning(
  { client, channel, clock, random, log: logger, metrics, world, name }: Context,
  driver: DriverFacts,
  settings: ProvisionerSettings,
): LeadingWork {
  const recorderOf = (component: string): EventRecorder =>
    createEventRecorder({ client, clock, random, logger }, { component });
  const events = recorderOf(`${name}_${world.hostName}_${random.uuid()}`);
  const driverEvents = recorderOf('external-provisioner');
  const queueMetrics = createWorkQueueMetrics(metrics);
  // client-go's switch, for servers on which streamed lists misbehave.
  const streaming = world.env['KUBE_FEATURE_WatchListClient'] === 'false' ? 'off' : 'preferred';
  return async (signal, gate) => {
    const informers = createInformerFactory({ client, clock, random, logger, metrics, streaming });
    const shared = { api: client, channel, informers, clock, random, logger, metrics };
    const provisioner = createProvisioner(
      { ...shared, queueMetrics, events, driverEvents, gate },
      { driver, settings },
    );
    // The caches outlive an orderly stop, because reconciles that are finishing still read them.
    const following = informers.start(new AbortController().signal);
    try {
      await Promise.race([provisioner.run(signal), following]);
    } finally {
      await informers.shutdown();
    }
    // While the lease is still held: what was done under it is told under it.
    await Promise.all([events.flush(), driverEvents.flush()]);
  };
}
