// SPDX-License-Identifier: Apache-2.0
/** One loop alone, between a fake API server and the driver's model. Tests see what it makes of a run: counts, references, waits, memory. */
import {
  type Clock,
  createController,
  createTrigger,
  type EventRecorder,
  type KubeObject,
  type Loop,
} from '@csi-sidecars/runtime';
import { allCapabilities, driverInfoOf } from '@csi-sidecars/test-driver';
import { createProcess, createTestCluster, type RunningController } from '@csi-sidecars/test-driver/testing';
import { createInstanceWaits } from '../src/claim/instance-waits.ts';
import { createOwnership } from '../src/ownership.ts';
import { createClaimMemory, type ClaimRecord } from '../src/claim/memory.ts';
import type { ClaimDeps } from '../src/claim/state.ts';
import { clusterRules } from '../src/rbac.ts';
import { createSourceReferences } from '../src/source/references.ts';
import { ownNodeTopology } from '../src/topology/own-node.ts';
import { type Watched, watchedBy } from '../src/watched.ts';
import { aNodeDeployment, driverName, someSettings } from './builders.ts';

export interface LoopAloneOptions {
  readonly seed: readonly KubeObject[];
  /** What is remembered of the claim. */
  readonly entry?: ClaimRecord;
  /** The instance of this node. Its waits are over at once. */
  readonly node?: string;
  /** Called for each call to the driver. */
  readonly fails?: 'DeadlineExceeded' | 'Internal' | 'InvalidArgument';
  /** What recording an event does. Default: nothing. */
  readonly record?: EventRecorder['record'];
}

/** `effects`: `givenUp`, `ownership.end`, `references.release failed`, in the order in which the loop has caused them. */
export async function loopAlone(
  define: (deps: ClaimDeps, watched: Watched, clock: Clock) => Loop,
  { seed, entry, node, fails, record = () => undefined }: LoopAloneOptions,
): Promise<RunningController & { readonly deps: ClaimDeps; readonly effects: readonly string[] }> {
  const cluster = createTestCluster({
    serviceAccount: 'csi:provisioner',
    rules: clusterRules,
    driver: {
      name: driverName,
      capabilities: { ...allCapabilities, controller: ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'] },
      nodes: ['n1', 'n2'].map((id) => ({ id, segments: { node: id }, maxVolumes: 0 })),
    },
  });
  const { clock, driver } = cluster;
  if (fails !== undefined) driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: fails } });
  driver.faults.add({
    method: 'GetCapacity',
    action: { kind: 'answer', set: { available_capacity: '1', maximum_volume_size: null } },
  });
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, { name: 'csi-provisioner', interrupt: undefined, defects: 'expected' });
  const { ports } = process;
  const effects: string[] = [];
  const effect = (...words: readonly string[]): void => void effects.push(words.join(' '));
  const settings = someSettings({ node: node === undefined ? undefined : aNodeDeployment(node) });
  const info = driverInfoOf(driver.settings);
  const memory = createClaimMemory();
  if (entry !== undefined) memory.set(entry);
  const deps: ClaimDeps = {
    driver: info,
    settings,
    supportsTopology: node !== undefined,
    ...(settings.node && { ownTopology: ownNodeTopology(settings.node, driverName) }),
    channel: ports.channel,
    events: { record, flush: () => Promise.resolve() },
    driverEvents: { record, flush: () => Promise.resolve() },
    metrics: {
      provisioned: () => effect('provisioned'),
      provisionFailed: () => effect('provisionFailed'),
      givenUp: () => effect('givenUp'),
      unsettledDeleted: () => undefined,
      deleted: () => undefined,
      deleteFailed: () => undefined,
    },
    memory,
    references: {
      ...createSourceReferences(createTrigger(), clock),
      release: (_claim, last) => effect('references.release', last),
    },
    ownership: {
      leftMs: () => 0,
      begin: () => 0,
      end: () => effect('ownership.end'),
      forget: () => effect('ownership.forget'),
    },
    instanceWaits: createInstanceWaits(clock),
    reschedules: createOwnership(ports),
    saves: createTrigger(),
    claims: createTrigger(),
    capacity: { changed: ({ row }) => effect('capacity', row) },
  };
  const watched = watchedBy(info, { topology: node === undefined ? 'off' : 'on', settings });
  const running = await process.run(createController(ports, [define(deps, watched, clock)]));
  return { ...running, deps, effects };
}
