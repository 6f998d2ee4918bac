// SPDX-License-Identifier: Apache-2.0
/** The life of a pod as seen from the API: started, running, ready, ended; kubelet removes it once its volumes are unmounted. */
import { ignoreNotFound, pods, type Pod } from '@csi-sidecars/runtime';
import type { ScenarioContext } from './context.ts';
import { eventually } from '../eventually.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

/** Creates the pod, and removes it at the end of the scenario if it still exists. */
export async function startPod(ctx: ScenarioContext, pod: Pod): Promise<void> {
  const created = await ctx.create(pods, pod);
  const name = created.metadata?.name ?? '';
  ctx.cleanUp.defer(() => endPod(atAnyTime(ctx), name));
}

/** A pod is awaited even after Ctrl-C: the processes that mount for it must not end before it. */
export function atAnyTime(ctx: ScenarioContext): Ending {
  const { api, namespace } = ctx;
  const { clock, timeFactor: factor } = ctx.testRun;
  const patience = { clock, factor, signal: new AbortController().signal };
  return {
    api,
    namespace,
    remove: (resource, name) => ctx.remove(resource, name),
    eventually: (what, check, timeoutMs) =>
      eventually(patience, { what, check, ...(timeoutMs !== undefined && { timeoutMs }) }),
  };
}

export async function untilRunning(ctx: ScenarioContext, name: string, timeoutMs?: number): Promise<void> {
  await untilPod(ctx, { name, what: 'runs', check: ({ status }) => status?.phase === 'Running', timeoutMs });
}

export async function untilReady(ctx: ScenarioContext, name: string): Promise<Pod> {
  return await untilPod(ctx, {
    name,
    what: 'is ready',
    check: isReady,
    timeoutMs: 60_000,
  });
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}

export interface PodWait {
  readonly name: string;
  /** The condition in words, for the message: "pod x runs". */
  readonly what: string;
  readonly check: (pod: Pod) => boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

export async function untilPod(ctx: ScenarioContext, { name, what, check, timeoutMs }: PodWait): Promise<Pod> {
  return await ctx.eventually(
    `pod ${name} ${what}`,
    async () => {
      const pod = await getPod(ctx, name);
      return check(pod) === true ? pod : undefined;
    },
    timeoutMs,
  );
}

export async function getPod({ api, namespace }: ScenarioContext, name: string): Promise<Pod> {
  return await api.get(pods, { namespace, name });
}

type Ending = Pick<ScenarioContext, 'api' | 'namespace' | 'remove' | 'eventually'>;

/** Resolves when kubelet has released the pod: no container, nothing mounted. It may already be gone. */
export async function endPod(ctx: Ending, name: string): Promise<void> {
  const { api, namespace } = ctx;
  await ctx.remove(pods, name);
  await ctx.eventually(
    `pod ${name} is gone`,
    async () => (await api.get(pods, { namespace, name }).catch(ignoreNotFound)) === undefined,
  );
}

export function containerOf({ metadata, status }: Pod, name: string): ContainerStatus {
  const container = status?.containerStatuses?.find((each) => each.name === name);
  if (container === undefined) throw new Error(`pod ${metadata?.name} has no container ${name} yet`);
  return container;
}
