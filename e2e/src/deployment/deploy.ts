// SPDX-License-Identifier: Apache-2.0
/**
 * A CSI driver in the cluster of a scenario: its folder on the node, its CSIDriver, the pod with driver, registrar and livenessprobe,
 * and a pod per controller sidecar with upstream's rights. Taken away in reverse order; the pods of its users must have gone before.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { csiDrivers, csiNodes } from '@csi-sidecars/runtime';
import { testDriverCommand } from '@csi-sidecars/test-driver';
import type { RealNode } from '../control-planes/control-plane.ts';
import { freePorts } from '../control-planes/local/free-ports.ts';
import type { DriverDoor, DriverOptions } from '../driver/driver.ts';
import type { ControllerName } from '../processes/program.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { aCsiDriver } from '../scenarios/objects.ts';
import { controllerPod, nodePod, registrarName, type Container, type DriverPlacement } from './manifests.ts';
import { startPod, untilReady } from '../scenarios/pod-life.ts';

export interface Deployment {
  readonly node: RealNode;
  readonly driver: DriverDoor;
  readonly placement: DriverPlacement;
}

export const nodePodName = 'csi-node';
/** A registrar that finds the driver too slow ends and is started again. */
const deployedWithinMs = 60_000;

export interface DeployOptions extends DriverOptions {
  /** Default: those that a volume needs to reach a pod. */
  readonly controllers?: readonly ControllerName[];
}

const forPods: readonly ControllerName[] = ['csi-provisioner', 'csi-attacher'];

/** The node's side: resolves when kubelet has registered the driver. `change`: how containers differ from the usual ones. */
export async function deployNodeSide(
  ctx: ScenarioContext,
  options: DriverOptions = {},
  change: (container: Container) => Container = (container) => container,
): Promise<Deployment> {
  const deployment = await prepareDriver(ctx, options);
  const pod = nodePod(nodePodName, deployment.placement);
  await startPod(ctx, { ...pod, spec: { ...pod.spec, containers: pod.spec!.containers.map(change) } });
  await untilReady(ctx, nodePodName);
  await untilRegistered(ctx, deployedWithinMs);
  return deployment;
}

/** The driver's pod without a registrar: it answers, and kubelet knows nothing of it. */
export async function deployDriverOnly(ctx: ScenarioContext): Promise<Deployment> {
  const deployment = await prepareDriver(ctx, {});
  const pod = nodePod(nodePodName, deployment.placement);
  const containers = pod.spec!.containers.filter(({ name }) => name !== registrarName);
  await startPod(ctx, { ...pod, spec: { ...pod.spec, containers } });
  await untilReady(ctx, nodePodName);
  return deployment;
}

/** All of it: volumes are provisioned, attached and mounted. */
export async function deployAll(
  ctx: ScenarioContext,
  { controllers = forPods, ...options }: DeployOptions = {},
): Promise<Deployment> {
  const deployment = await deployNodeSide(ctx, options);
  const { nodeName, folder } = deployment.placement;
  const server = new URL(ctx.testRun.controlPlane.server);
  for (const name of controllers) {
    const { name: serviceAccountName } = await ctx.accountFor(name);
    await startPod(ctx, controllerPod(name, { nodeName, folder, serviceAccountName, server }));
  }
  for (const name of controllers) await untilReady(ctx, name);
  return deployment;
}

/** Everything but the pods. */
async function prepareDriver(ctx: ScenarioContext, { settings, flags = [] }: DriverOptions): Promise<Deployment> {
  const { driverName } = ctx;
  const node = nodeOf(ctx);
  const folder = join(node.kubeletRoot, 'plugins', driverName);
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
  const lifecycle = { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] };
  await ctx.create(csiDrivers, aCsiDriver(driverName, { attachRequired: true, ...lifecycle }));
  const ports = await freePorts(['registrar', 'livenessprobe']);
  // The words before the flags are the command that starts it on this machine.
  const placement = { nodeName: node.name, kubeletRoot: node.kubeletRoot, folder, args: args.slice(1), ports };
  await ctx.eventually('kubelet has its folder for registrations', () => existsSync(registrationFolder(node)));
  return { node, driver, placement };
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
  const { spec } = await ctx.api.get(csiNodes, { name: nodeOf(ctx).name });
  // The last driver that goes leaves a null behind.
  const drivers: readonly { readonly name: string }[] | null = spec.drivers;
  return drivers?.some(({ name }) => name === ctx.driverName) ?? false;
}

export async function untilRegistered(ctx: ScenarioContext, timeoutMs?: number): Promise<void> {
  await ctx.eventually(`CSINode has ${ctx.driverName}`, () => isRegistered(ctx), timeoutMs);
}
