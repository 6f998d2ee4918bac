// SPDX-License-Identifier: Apache-2.0
/** Objects that helm has rendered from a chart, in the cluster of a scenario: created, found again, and taken away with their pods. */
import { ignoreNotFound, pods, type KubeObject, type Pod } from '@csi-sidecars/runtime';
import { helm, render } from '../../../charts/testing/helm.ts';
import { applyObjects, removeClusterWide, resourceOf } from '../rbac/apply.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { atAnyTime, isReady } from '../scenarios/pod-life.ts';
import type { Values } from './values.ts';

export type PodSpec = NonNullable<Pod['spec']>;
export type Container = PodSpec['containers'][number];

export interface ChartObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NonNullable<KubeObject['metadata']> & { readonly name: string };
}

/** Has a template of its pods. */
export interface Workload extends ChartObject {
  readonly kind: 'Deployment' | 'DaemonSet';
  readonly spec: { readonly template: { readonly metadata?: KubeObject['metadata']; readonly spec: PodSpec } };
}

/** How a container differs from what the chart has, for what no user wants from it; undefined leaves it out. */
export type ContainerChange = (container: Container) => Container | undefined;

export type ChartName = 'csi-driver' | 'snapshot-controller';

export async function renderChart(
  { namespace }: ScenarioContext,
  chart: ChartName,
  values: Values,
): Promise<readonly ChartObject[]> {
  return await render({ chart, namespace, release: namespace, values });
}

/** helm in the namespace of the scenario. */
export async function helmIn(
  { namespace, scratch, testRun }: ScenarioContext,
  args: readonly string[],
  values?: Values,
): Promise<string> {
  const place = ['--namespace', namespace, '--kubeconfig', testRun.controlPlane.adminKubeconfig];
  return await helm([...args, ...place], values, scratch);
}

export function isWorkload(object: ChartObject): object is Workload {
  return object.kind === 'Deployment' || object.kind === 'DaemonSet';
}

/** In helm's order. At the end of the scenario workloads go first, and their pods with them. */
export async function createObjects(ctx: ScenarioContext, objects: readonly ChartObject[]): Promise<void> {
  const others = objects.filter((each) => !isWorkload(each));
  ctx.cleanUp.defer(() => removeClusterWide(ctx.api, others));
  // Applied, not created: a role of upstream's name may be there already.
  await applyObjects(ctx.api, others);
  const workloads = objects.filter(isWorkload);
  ctx.cleanUp.defer(() => removeWorkloads(ctx, workloads));
  for (const workload of workloads) await ctx.create(resourceOf(workload), workload);
}

export function withContainers(workload: Workload, change: ContainerChange): Workload {
  const { template } = workload.spec;
  const containers = template.spec.containers.map(change).filter((each) => each !== undefined);
  const spec = { ...workload.spec, template: { ...template, spec: { ...template.spec, containers } } };
  return { ...workload, spec };
}

/** Who has pods: both charts call theirs `controller`. */
export type Component = 'node' | 'controller' | 'snapshot-controller';

const selectors: Readonly<Record<Component, string>> = {
  node: 'app.kubernetes.io/name=csi-driver,app.kubernetes.io/component=node',
  controller: 'app.kubernetes.io/name=csi-driver,app.kubernetes.io/component=controller',
  // Upstream's manifest has this label only.
  'snapshot-controller': 'app.kubernetes.io/name=snapshot-controller',
};

/** Those that are about to go as well. */
export async function podsOf({ api, namespace }: ScenarioContext, component: Component): Promise<readonly Pod[]> {
  return (await api.list(pods, { namespace, labelSelector: selectors[component] })).items;
}

/** The one that is to stay. */
export async function findPod(ctx: ScenarioContext, component: Component): Promise<Pod | undefined> {
  return (await podsOf(ctx, component)).find(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

/** The name of that pod. */
export async function podNameOf(ctx: ScenarioContext, component: Component): Promise<string> {
  const pod = await findPod(ctx, component);
  if (pod?.metadata?.name === undefined) throw new Error(`there is no pod of the ${component}`);
  return pod.metadata.name;
}

/** Resolves with its name. */
export async function untilPodReady(ctx: ScenarioContext, component: Component): Promise<string> {
  return await ctx.eventually(
    `the pod of the ${component} is ready`,
    async () => {
      const pod = await findPod(ctx, component);
      return pod !== undefined && isReady(pod) ? pod.metadata?.name : undefined;
    },
    60_000,
  );
}

/** A program that starts while its pod ends does not see the signal yet, and is killed at the end of the 30 s that the charts give. */
const endWithinMs = 75_000;

/** After helm has deleted those that own them. */
export async function untilPodsGone(ctx: ScenarioContext, components: readonly Component[]): Promise<void> {
  const { eventually } = atAnyTime(ctx);
  const areGone = async (): Promise<boolean> => {
    for (const component of components) if ((await podsOf(ctx, component)).length > 0) return false;
    return true;
  };
  await eventually(`the pods of ${components.join(', ')} are gone`, areGone, endWithinMs);
}

async function removeWorkloads(ctx: ScenarioContext, workloads: readonly Workload[]): Promise<void> {
  const { api, namespace, eventually } = atAnyTime(ctx);
  const options = { propagationPolicy: 'Foreground' } as const;
  const all = workloads.map((workload) => ({
    resource: resourceOf(workload),
    ref: { namespace, name: workload.metadata.name },
  }));
  for (const { resource, ref } of all) await api.delete(resource, ref, options).catch(ignoreNotFound);
  for (const { resource, ref } of all) {
    await eventually(
      `${resource.kind} ${ref.name} is gone, and its pods`,
      async () => (await api.get(resource, ref).catch(ignoreNotFound)) === undefined,
    );
  }
}
