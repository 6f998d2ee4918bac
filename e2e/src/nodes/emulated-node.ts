// SPDX-License-Identifier: Apache-2.0
/**
 * A node of a scenario: an emulated kubelet in this process, on any control plane. Of a driver it knows either the API side
 * only, or its socket, and then it mounts volumes as kubelet does.
 */
import { mkdir } from 'node:fs/promises';
import {
  createInformerFactory,
  csiNodes,
  linkSignals,
  nodes,
  pods,
  silentLogger,
  systemRandom,
  type EventRecorder,
} from '@csi-sidecars/runtime';
import { createNodeEmulator, type NodeDriver, type NodeEmulator } from '@csi-sidecars/sim';
import { eventually } from '../eventually.ts';
import type { ScenarioContext } from '../scenarios/context.ts';

export interface EmulatedNodeOptions {
  readonly name: string;
  readonly driver: NodeDriver;
  /** Kubelet's folder, for a driver with a socket. */
  readonly root?: string;
}

/** Shorter than kubelet's five minutes, because scenarios wait until the controller-manager learns the status. */
const statusReportMs = 5000;

const make = async (path: string): Promise<void> => void (await mkdir(path, { recursive: true }));

const noEvents: EventRecorder = { record: () => undefined, flush: async () => undefined };

export async function addEmulatedNode(ctx: ScenarioContext, options: EmulatedNodeOptions): Promise<NodeEmulator> {
  const [node] = await addEmulatedNodes(ctx, [options]);
  return node!;
}

/** Resolves when the nodes are in the API and their drivers registered. All of it goes when the scenario ends. */
export async function addEmulatedNodes(
  ctx: ScenarioContext,
  list: readonly EmulatedNodeOptions[],
): Promise<readonly NodeEmulator[]> {
  const { api, cleanUp, testRun } = ctx;
  const base = { client: api, clock: testRun.clock, random: systemRandom(), logger: silentLogger };
  // What they watch is the same.
  const informers = createInformerFactory(base);
  const emulators = list.map(({ name, driver, root }) =>
    createNodeEmulator(
      { ...base, informers, recorder: noEvents },
      { name, drivers: [driver], statusReportMs, ...(root !== undefined && { root, folders: { make } }) },
    ),
  );
  // The scenario's own signal is not used: after a failure the nodes must still unmount their volumes.
  const life = linkSignals([]);
  const runs = emulators.map((emulator) => emulator.run(life.signal));
  const running = Promise.all([...runs, informers.start(life.signal)]).catch((error: unknown) => {
    if (!life.signal.aborted) throw error;
  });
  cleanUp.defer(async () => {
    await drain(ctx, emulators).catch(() => undefined); // after a failure as much as can be had
    life[Symbol.dispose]();
    await informers.shutdown();
    await running;
    for (const { name } of list) await ctx.remove(nodes, name);
  });
  for (const { name, driver } of list) {
    await ctx.eventually(`node ${name} has its driver`, async () => {
      const csiNode = await api.get(csiNodes, { name });
      return csiNode.spec.drivers.some((entry) => entry.name === driver.name);
    });
  }
  return emulators;
}

/** No pod of the scenario is left, and so nothing is mounted. */
async function drain(ctx: ScenarioContext, emulators: readonly NodeEmulator[]): Promise<void> {
  const { api, namespace, testRun } = ctx;
  for (const { metadata } of (await api.list(pods, { namespace })).items) {
    await api.delete(pods, { namespace, name: metadata?.name ?? '' }, { gracePeriodSeconds: 0 });
  }
  const patience = { clock: testRun.clock, factor: testRun.timeFactor, signal: new AbortController().signal };
  const check = (): boolean =>
    emulators.every((node) => [...node.mounts().values()].every((paths) => paths.length === 0));
  await eventually(patience, { what: 'nothing is mounted', timeoutMs: 10_000, check });
}
