// SPDX-License-Identifier: Apache-2.0
/** csi-provisioner as a program: the parts between its arguments and its exit code that are its own. */
import { type DriverInfo, getControllerCapabilities, getPluginCapabilities } from '@csi-sidecars/csi';
import { type EventRecorder, neededRules, type OwnerReference } from '@csi-sidecars/runtime';
import {
  type AttributesClassGate,
  ExitError,
  exitCodes,
  type NeededRights,
  orExit,
  type PreparedController,
  type ProgramDeps,
  runSidecarProgram,
  type SidecarProgram,
  type StartContext,
  usesAttributesClasses,
} from '@csi-sidecars/sidecar';
import { replacesPlugin } from '@csi-sidecars/volume';
import { createCapacityGauges } from './capacity/gauges.ts';
import type { CapacityPorts } from './capacity/loops.ts';
import { lookUpOwner, type OwnerQuestion } from './capacity/owner.ts';
import { toWantedCapacity } from './capacity/read-settings.ts';
import type { CapacitySettings } from './capacity/settings.ts';
import { type ProvisionerGate, provisionerProgram, type ProvisionerValues } from './flags.ts';
import { lockNameOf, refusedDriverName } from './names.ts';
import { createProvisioner } from './provisioner.ts';
import { clusterRules, namespaceRules, type RightsContext, rightsFacts } from './rbac.ts';
import { nodeNameOf, refusedFlags, toNodeDeployment, toSettings } from './read-settings.ts';
import type { NodeDeployment, ProvisionerSettings } from './settings.ts';
import { type Sweep, sweepsSnapshots } from './source/protection/sweeps-snapshots.ts';

type Context = StartContext<ProvisionerValues, ProvisionerGate>;

export const provisionerSidecar: SidecarProgram<ProvisionerValues, ProvisionerGate> = {
  program: provisionerProgram,
  // As upstream, whose fatal logger ends the process unless its library ends it first.
  start: { gateExitCode: exitCodes.fatal },
  httpExitCode: exitCodes.fatal,
  clientExitCode: exitCodes.fatal,
  refused: refusedFlags,
  kubeconfig: (values, env) => env['KUBECONFIG'] || values.kubeconfig,
  driver: (values, env) => {
    const node = nodeNameOf(values, env);
    if (node.kind === 'error') throw new ExitError(exitCodes.fatal, node.message);
    return {
      probeTimeoutMs: values.timeout,
      nameTimeoutMs: values.timeout,
      nameExitCode: exitCodes.fatal,
      isMigrated: replacesPlugin,
    };
  },
  prepare: async (context) => {
    const refused = refusedDriverName(context.name);
    if (refused !== undefined) throw new ExitError(exitCodes.fatal, refused, { reason: 'driver' });
    const driver = await askDriver(context);
    const { values } = context.started;
    const node = await nodeOf(context);
    const sweep = await sweepOf(context, driver);
    const features = await featuresOf(context, sweep);
    const settings = toSettings(values, { features, identity: identityOf(context, node), node });
    const capacity = await capacityOf(context, driver, node);
    return {
      lockName: lockNameOf(driver.name),
      driver,
      rights: rightsOf({ driver, settings, sweep, capacity: capacity?.settings }),
      assemble: provisioning(context, { driver, settings, capacity }),
    };
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

function sweepOf(context: Context, driver: DriverInfo): Promise<Sweep> {
  const intervalMs = context.started.values['snapshot-orphan-sweep-interval'];
  return sweepsSnapshots(context, { driver, intervalMs });
}

function rightsOf(known: RightsContext & { readonly capacity: CapacitySettings | undefined }): NeededRights {
  const facts = rightsFacts(known);
  const cluster = neededRules(clusterRules, facts);
  const namespace = known.capacity?.namespace;
  if (namespace === undefined) return { cluster };
  return { cluster, namespaced: [{ namespace, rules: neededRules(namespaceRules, facts) }] };
}

/** What gates and the cluster decide. */
export async function featuresOf(
  context: AttributesClassGate & { readonly started: Pick<Context['started'], 'gates'> },
  sweep: Sweep,
): Promise<ProvisionerSettings['features']> {
  const { gates } = context.started;
  return {
    topology: gates.Topology,
    volumeAttributesClass: await usesAttributesClasses(context),
    crossNamespaceVolumeDataSource: gates.CrossNamespaceVolumeDataSource,
    snapshotSweep: sweep === 'on',
    snapshotTopology: gates.VolumeSnapshotTopology,
  };
}

/** Undefined without `--node-deployment`. */
async function nodeOf({ channel, host, random, started, signal }: Context): Promise<NodeDeployment | undefined> {
  const { values } = started;
  const name = nodeNameOf(values, host.env);
  if (name.kind === 'error' || name.value === undefined) return undefined;
  const { node_id: id, accessible_topology: topology } = await orExit(
    'Failed to get node info from CSI driver',
    () => channel.call('/csi.v1.Node/NodeGetInfo', {}, { timeoutMs: values.timeout, signal }),
    exitCodes.fatal,
  );
  return toNodeDeployment(values, { name: name.value, id, segments: topology?.segments, random: random.next() });
}

/** Undefined if capacity is not published. Every replica looks for the owner, whether it leads or not. */
async function capacityOf(
  context: Context,
  driver: DriverInfo,
  node: NodeDeployment | undefined,
): Promise<CapacityPorts | undefined> {
  const { values } = context.started;
  const wanted = toWantedCapacity(values, context.host.env, node?.name);
  if (wanted.kind === 'error') throw new ExitError(exitCodes.fatal, wanted.message, { reason: 'commandLine' });
  if (wanted.value === undefined) return undefined;
  const { settings, owner } = wanted.value;
  // As upstream, it is asked all the same.
  if (!driver.controllerCapabilities.has('GET_CAPACITY')) {
    context.log.warn('Capacity is published only if GetCapacity succeeds: the CSI driver does not report GET_CAPACITY');
  }
  const reference = owner && (await ownerOf(context, owner));
  if (node !== undefined) logSegment(context, node);
  return {
    settings: { ...settings, owner: reference },
    client: context.withLimit({ qps: values['kube-api-capacity-qps'], burst: values['kube-api-capacity-burst'] }),
    // A standby shows them too.
    gauges: createCapacityGauges(context.metrics),
  };
}

function logSegment({ log }: Context, { segments = {} }: NodeDeployment): void {
  const pairs = Object.entries(segments).map(([key, value]) => `${key}: ${value}`);
  log.info(0, `producing CSIStorageCapacity objects with fixed topology segment [${pairs.join(' ')}]`);
  if (pairs.length === 0) {
    log.warn('The capacity of this node is published for every node: NodeGetInfo reports no accessible topology');
  }
}

async function ownerOf({ client, log, signal }: Context, question: OwnerQuestion): Promise<OwnerReference> {
  const owner = await orExit('look up owner(s) of pod', () => lookUpOwner(client, question, signal), exitCodes.fatal);
  log.info(0, `using ${owner.apiVersion}/${owner.kind} ${owner.name} as owner of CSIStorageCapacity objects`);
  return owner;
}

/** Identifies this process in the attributes of every volume that it creates. */
function identityOf({ clock, random, name }: Context, node: NodeDeployment | undefined): string {
  const identity = `${Math.trunc(clock.nowMs())}-${Math.trunc(random.next() * 10_000)}-${name}`;
  return node === undefined ? identity : `${identity}-${node.name}`;
}

/** Events wait a moment, so that on a busy API server the PersistentVolume is written first. */
const eventDelayMs = 40;

interface Provisioning {
  readonly driver: DriverInfo;
  readonly settings: ProvisionerSettings;
  readonly capacity: CapacityPorts | undefined;
}

function provisioning(context: Context, { driver, settings, capacity }: Provisioning): PreparedController['assemble'] {
  const { channel, host, name, auditBoard, sharedRelease } = context;
  const own = { channel, auditBoard, sharedRelease, capacity };
  return ({ recorderOf, ...ports }) => {
    const eventsOf = (component: string): EventRecorder => recorderOf({ component, delayMs: eventDelayMs });
    const events = eventsOf(`${name}_${host.hostName}_${ports.random.uuid()}`);
    const driverEvents = eventsOf('external-provisioner');
    return createProvisioner({ ...ports, ...own, events, driverEvents }, { driver, settings });
  };
}
