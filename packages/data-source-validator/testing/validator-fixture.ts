// SPDX-License-Identifier: Apache-2.0
/** The whole controller, its real loops, caches, client and recorder, over a fake API server, in virtual time. */
import {
  createApiClient,
  createEventRecorder,
  type Event,
  events,
  type KubeObject,
  noMetrics,
  type ObjectRef,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Resource,
  type Transport,
} from '@csi-sidecars/runtime';
import type { AccessRule, FaultRule } from '@csi-sidecars/runtime/testing';
import {
  createProcess,
  createTestCluster,
  type RunningController,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import { createDataSourceValidator } from '../src/data-source-validator.ts';
import { component } from '../src/names.ts';
import { type VolumePopulator, volumePopulators } from '../src/populator.ts';
import { clusterRules } from '../src/rbac.ts';
import type { DataSourceValidatorSettings } from '../src/settings.ts';
import { populatorType, someSettings } from './builders.ts';

interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

export interface FixtureOptions {
  readonly seed?: readonly KubeObject[];
  readonly settings?: Partial<DataSourceValidatorSettings>;
  /** From the first request on. */
  readonly faults?: readonly FaultRule[];
  /** Default: what `rbac.ts` asks for, and nothing more. */
  readonly rules?: readonly AccessRule[];
  /** The definition of populators. Default: it is installed. */
  readonly definition?: 'missing';
  /** Limits the events that are written, per second. Default: no limit. */
  readonly limit?: RateLimit;
  /** Where events are sent. Default: the API server. */
  readonly eventsTo?: Transport;
  /** Processes beside each other have different ones. Default 2. */
  readonly randomSeed?: number;
  /** A cluster that outlived the process that worked on it. */
  readonly cluster?: TestCluster;
}

export interface Fixture extends RunningController {
  events(): readonly Event[];
  /** The events, by the claim that they are about: `data x2`. */
  warned(): readonly string[];
  /** The results that were counted. */
  counted(): Readonly<Record<string, number>>;
  /** The gauge of claims whose source is unknown. */
  unknown(): number | undefined;
  add(...objects: readonly KubeObject[]): Promise<void>;
  changeClaim(change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim, name?: string): Promise<void>;
  changePopulator(change: (populator: VolumePopulator) => VolumePopulator, name?: string): Promise<void>;
  removeClaim(name?: string): Promise<void>;
  removePopulator(name?: string): Promise<void>;
  /** Virtual time passes. */
  pass(ms: number, stepMs?: number): Promise<void>;
}

const results = ['empty', 'pvc', 'snapshot', 'populator', 'invalid', 'error'];

export async function aValidator(options: FixtureOptions = {}): Promise<Fixture> {
  const cluster = options.cluster ?? newCluster(options);
  cluster.faults.push(...(options.faults ?? []));
  for (const object of options.seed ?? []) cluster.server.seed(object);
  const process = createProcess(cluster, { name: component, interrupt: undefined, seed: options.randomSeed });
  const { ports } = process;
  const { limit = { qps: -1, burst: 1 }, eventsTo } = options;
  const isPlain = options.limit === undefined && eventsTo === undefined;
  const { clock, logger } = ports;
  const sending = { transport: eventsTo ?? cluster.server.transport, clock, logger };
  const client = isPlain ? ports.client : createApiClient(sending, { ...limit, userAgent: component });
  const recorder = createEventRecorder({ ...ports, client }, { component });
  const deps = { ...ports, metrics: noMetrics, events: recorder, validationMetrics: ports.metrics };
  return toFixture(await process.run(createDataSourceValidator(deps, someSettings(options.settings))));
}

function newCluster({ rules = clusterRules, definition }: FixtureOptions): TestCluster {
  const cluster = createTestCluster({ serviceAccount: 'kube-system:validator', rules, driver: {} });
  if (definition !== 'missing') cluster.server.addTypes(populatorType);
  return cluster;
}

function toFixture(running: RunningController): Fixture {
  const { server, metrics, clock } = running;
  const change = async <T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    how: (object: T) => T,
  ): Promise<void> => {
    server.objects.change(resource, ref, how);
    await running.settle();
  };
  const remove = async (resource: Resource, ref: ObjectRef): Promise<void> => {
    server.objects.remove(resource, ref);
    await running.settle();
  };
  const claimRef = (name: string): ObjectRef => ({ namespace: 'team', name });
  return {
    ...running,
    events: () => server.objects.list(events),
    warned: () => server.objects.list(events).map(({ involvedObject, count }) => `${involvedObject.name} x${count}`),
    counted: () =>
      Object.fromEntries(
        results.flatMap((result) => {
          const value = metrics.value('volume_data_source_validator_operation_count', { result });
          return value === undefined ? [] : [[result, value]];
        }),
      ),
    unknown: () => metrics.value('csi_sidecars_claims_with_unknown_source'),
    add: async (...objects) => {
      for (const object of objects) server.seed(object);
      await running.settle();
    },
    changeClaim: (how, name = 'data') => change(persistentVolumeClaims, claimRef(name), how),
    changePopulator: (how, name = 'populator') => change(volumePopulators, { name }, how),
    removeClaim: (name = 'data') => remove(persistentVolumeClaims, claimRef(name)),
    removePopulator: (name = 'populator') => remove(volumePopulators, { name }),
    pass: async (ms, stepMs = 100) => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        await clock.advance(stepMs);
        await running.settle();
      }
    },
  };
}
