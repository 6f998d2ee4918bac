// SPDX-License-Identifier: Apache-2.0
/**
 * A CSI driver in the cluster of a scenario, as chart csi-driver deploys it: a DaemonSet with driver, registrar and livenessprobe, and a
 * Deployment with the controllers. helm renders, and the objects are created by the suite, which takes them away in reverse order; the
 * pods of the driver's users must have gone before. Scenario I-09 leaves all of that to helm.
 */
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { csiNodes, type Pod } from '@csi-sidecars/runtime';
import { testDriverCommand } from '@csi-sidecars/test-driver';
import { driverOn } from '@csi-sidecars/volume';
import type { RealNode, ServiceAccountRef } from '../control-planes/control-plane.ts';
import { freePorts } from '../control-planes/local/free-ports.ts';
import type { DriverDoor, DriverOptions } from '../driver/driver.ts';
import type { ControllerName } from '../processes/program.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import {
  createObjects,
  isWorkload,
  renderChart,
  untilPodReady,
  withContainers,
  type Container,
  type ContainerChange,
} from './chart-objects.ts';
import {
  csiLabel,
  driverValues,
  mergeValues,
  portNames,
  prefix,
  snapshotControllerValues,
  type DriverPorts,
  type Values,
} from './values.ts';

export interface Deployment {
  readonly node: RealNode;
  readonly driver: DriverDoor;
  /** Below kubelet's folder for plugins: socket, state and journal of the driver. */
  readonly folder: string;
  readonly ports: DriverPorts;
  /** Values of the chart. */
  readonly values: Values;
  /** Who the controllers are for the API server. */
  readonly account: ServiceAccountRef;
}

export const registrarName = 'node-driver-registrar';
export const driverContainer = 'csi-driver';
/** A registrar that finds the driver too slow ends and is started again. */
const deployedWithinMs = 60_000;

export interface DeployOptions extends DriverOptions {
  /** Over those of every scenario. */
  readonly values?: Values;
  /** What the chart has no value for. */
  readonly change?: ContainerChange;
  /** The mode of the driver's socket on the node. Default: the one that the driver gave it, for its own user. */
  readonly socketMode?: number;
}

export interface DeployAllOptions extends DeployOptions {
  /** Default: those that a volume needs to reach a pod. */
  readonly controllers?: readonly ControllerName[];
}

const forPods: readonly ControllerName[] = ['csi-provisioner', 'csi-attacher'];

/** The node's side: resolves when kubelet has registered the driver. */
export async function deployNodeSide(ctx: ScenarioContext, options: DeployOptions = {}): Promise<Deployment> {
  const deployment = await deploy(ctx, [], options);
  await untilRegistered(ctx, deployedWithinMs);
  return deployment;
}

/** Driver and livenessprobe on the node, without a registrar: the driver answers, and kubelet knows nothing of it. */
export async function deployDriverOnly(ctx: ScenarioContext): Promise<Deployment> {
  const change: ContainerChange = (container) => (container.name === registrarName ? undefined : container);
  return await deploy(ctx, [], { change });
}

/** All of it: volumes are provisioned, attached and mounted. */
export async function deployAll(
  ctx: ScenarioContext,
  { controllers = forPods, ...options }: DeployAllOptions = {},
): Promise<Deployment> {
  const deployment = await deploy(ctx, controllers, options);
  await untilRegistered(ctx, deployedWithinMs);
  await untilPodReady(ctx, 'controller');
  return deployment;
}

async function deploy(
  ctx: ScenarioContext,
  controllers: readonly ControllerName[],
  { values = {}, change = (container) => container, socketMode, ...options }: DeployOptions,
): Promise<Deployment> {
  const deployment = await prepareDeployment(ctx, controllers, options);
  const all = mergeValues(deployment.values, values);
  const objects = await renderChart(ctx, 'csi-driver', all);
  await createObjects(
    ctx,
    objects.map((object) => (isWorkload(object) ? withContainers(object, change) : object)),
  );
  await untilPodReady(ctx, 'node');
  await ctx.eventually('the driver listens', () => existsSync(deployment.driver.socket), deployedWithinMs);
  if (socketMode !== undefined) chmodSync(deployment.driver.socket, socketMode);
  return { ...deployment, values: all };
}

/** Everything but the objects. */
export async function prepareDeployment(
  ctx: ScenarioContext,
  controllers: readonly ControllerName[],
  { settings, flags = [] }: DriverOptions = {},
): Promise<Deployment> {
  const { driverName, namespace } = ctx;
  const node = nodeOf(ctx);
  const { kubeletRoot } = node;
  const folder = join(kubeletRoot, 'plugins', driverName);
  mkdirSync(folder, { recursive: true });
  const { args, socket, control } = await testDriverCommand({
    folder,
    settings: { ...settings, name: driverName },
    nodeId: node.name,
    // The name of the topology key follows this flag.
    flags: [`--drivername=${driverName}`, ...flags],
  });
  const driver: DriverDoor = { name: driverName, socket, control };
  ctx.useDriver(driver);
  const ports = await freePorts(portNames);
  // The words before the flags are the command that starts it on this machine.
  const placement = { driverName, kubeletRoot, folder, args: args.slice(1), ports, controllers };
  await ctx.eventually('kubelet has its folder for registrations', () => existsSync(registrationFolder(node)));
  const account = { namespace, name: `${prefix}-controller` };
  return { node, driver, folder, ports, account, values: driverValues(ctx.testRun, placement) };
}

/** By its chart, for the whole cluster. The definitions must be installed. */
export async function deploySnapshotController(ctx: ScenarioContext): Promise<void> {
  const { http } = await freePorts(['http']);
  await createObjects(ctx, await renderChart(ctx, 'snapshot-controller', snapshotControllerValues(ctx.testRun, http)));
  await untilPodReady(ctx, 'snapshot-controller');
}

export interface ProgramPod {
  readonly name: string;
  readonly container: typeof registrarName | 'liveness-probe';
  /** Over those of the deployment, for example other ports. */
  readonly values?: Values;
  readonly change?: (container: Container) => Container;
  /** Default: as in a DaemonSet. */
  readonly restartPolicy?: 'Never';
}

/** One of the containers that the chart has beside the driver on each node, in a pod of its own: no DaemonSet starts it again. */
export async function programPod(
  ctx: ScenarioContext,
  deployment: Deployment,
  { name, container, values = {}, change = (same) => same, restartPolicy }: ProgramPod,
): Promise<Pod> {
  const objects = await renderChart(ctx, 'csi-driver', mergeValues(deployment.values, values));
  const daemonSet = objects.find(({ kind }) => kind === 'DaemonSet');
  if (daemonSet === undefined || !isWorkload(daemonSet)) throw new Error('the chart has rendered no DaemonSet');
  const { spec } = daemonSet.spec.template;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    // Without the labels by which the DaemonSet would find it.
    metadata: { name, labels: { [csiLabel.key]: csiLabel.value } },
    spec: {
      ...spec,
      nodeName: deployment.node.name,
      containers: spec.containers.filter((each) => each.name === container).map(change),
      ...(restartPolicy !== undefined && { restartPolicy }),
    },
  };
}

export function registrationFolder({ kubeletRoot }: RealNode): string {
  return join(kubeletRoot, 'plugins_registry');
}

export function nodeOf({ testRun }: ScenarioContext): RealNode {
  const { node } = testRun.controlPlane;
  if (node === undefined) throw new Error(`control plane ${testRun.controlPlane.name} has no node`);
  return node;
}

export async function isRegistered(ctx: ScenarioContext): Promise<boolean> {
  return driverOn(await ctx.api.get(csiNodes, { name: nodeOf(ctx).name }), ctx.driverName) !== undefined;
}

export async function untilRegistered(ctx: ScenarioContext, timeoutMs?: number): Promise<void> {
  await ctx.eventually(`CSINode has ${ctx.driverName}`, () => isRegistered(ctx), timeoutMs);
}
