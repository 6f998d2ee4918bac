// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger, seededRandom, settle } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import type { Environment } from '../api/connection/proxy.ts';
import type { Controller } from '../controller/controller.ts';
import { type LeaseGate, openGate } from '../controller/start-gate.ts';
import type { InformerDeps } from '../informer/create-informer.ts';
import type { InformerFactory } from '../informer/factory.ts';
import { persistentVolumes } from '../api/resource.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { listSettings, withCaches } from './with-caches.ts';

interface WorkOptions {
  readonly env?: Environment;
  readonly hasEvents?: boolean;
  readonly client?: ApiClient;
  readonly gate?: LeaseGate;
}

const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'a', uid: 'uid-of-a' } };

/** Work of which each part ends when the test says so. `seen` is what has begun, in order, and how it all ended. */
function someWork({ env = {}, hasEvents = true, client, gate = openGate }: WorkOptions = {}) {
  const seen: unknown[] = [];
  const parts = {
    following: Promise.withResolvers<void>(),
    working: Promise.withResolvers<void>(),
    closing: Promise.withResolvers<void>(),
    ending: Promise.withResolvers<void>(),
  };
  const begin = (part: keyof typeof parts) => (): Promise<void> => {
    seen.push(part);
    return parts[part].promise;
  };
  const begun = begin('working');
  let reason: unknown;
  const controller: Controller = {
    run: (signal) => {
      signal.addEventListener('abort', () => (reason = signal.reason));
      return begun();
    },
  };
  const informers: Partial<InformerFactory> = { start: begin('following'), shutdown: begin('closing') };
  let made: InformerDeps | undefined;
  const ports = {
    client: client ?? ({ create: begin('ending') } as Partial<ApiClient> as ApiClient),
    clock: new FakeClock(),
    random: seededRandom(1),
    logger: recordingLogger(),
    metrics: noMetrics,
  };
  const createInformers = (deps: InformerDeps): InformerFactory => {
    made = deps;
    return informers as InformerFactory;
  };
  let given: ApiClient | undefined;
  const work = withCaches({ ...ports, env, createInformers }, (assembled) => {
    given = assembled.client;
    const events = assembled.recorderOf({ component: 'test', delayMs: 60_000 });
    if (hasEvents) events.record(volume, { type: 'Normal', reason: 'Begun', message: 'begun' });
    return controller;
  });
  work(new AbortController().signal, gate).then(
    () => seen.push('done'),
    (error: unknown) => seen.push(error),
  );
  return { seen, parts, given: () => given, reason: () => reason, streaming: () => made?.streaming };
}

it.each([
  { hasEvents: true, order: ['following', 'working', 'closing', 'ending', 'done'] },
  { hasEvents: false, order: ['following', 'working', 'closing', 'done'] },
])(
  'given a controller that ends, events to write: $hasEvents, then each part is waited for in the order $order',
  async (row) => {
    const { seen, parts } = someWork(row);
    expect(seen).toEqual(row.order.slice(0, 2));
    for (const [at, part] of (['working', 'closing', 'ending'] as const).entries()) {
      parts[part].resolve();
      await settle();
      expect(seen).toEqual(row.order.slice(0, at + 3));
    }
  },
);

it('[runtime#193a] given caches that have nothing to watch, then the controller goes on, and is waited for', async () => {
  const { seen, parts, reason } = someWork({ hasEvents: false });
  for (const part of ['following', 'closing'] as const) parts[part].resolve();
  await settle();
  expect([seen, reason()]).toEqual([['following', 'working'], undefined]);
  parts.working.resolve();
  await settle();
  expect(seen).toEqual(['following', 'working', 'closing', 'done']);
});

it('given caches that fail, then the controller is stopped in order and waited for, the caches are closed, and the failure is thrown', async () => {
  const { seen, parts, reason } = someWork();
  const failure = new Error('a cache failed');
  parts.following.reject(failure);
  await settle();
  expect(reason()).toEqual(new OrderlyStop('the caches or a loop failed'));
  expect(seen).toEqual(['following', 'working']);
  parts.working.resolve();
  await settle();
  expect(seen).toEqual(['following', 'working', 'closing']);
  parts.closing.resolve();
  await settle();
  expect(seen).toEqual(['following', 'working', 'closing', failure]);
});

it('[runtime#223] given a lease that another replica may have, then the client of the controller sends no write', async () => {
  let maySend: (() => boolean) | undefined;
  const client = {
    delete: async (_resource, _ref, options) => void (maySend = options?.maySend),
  } as Partial<ApiClient> as ApiClient;
  const gate = { ...openGate, held: true };
  await someWork({ client, gate }).given()?.delete(persistentVolumes, { name: 'a' });
  expect(maySend?.()).toBe(true);
  gate.held = false;
  expect(maySend?.()).toBe(false);
});

it.each([
  { value: undefined, streaming: 'preferred' },
  { value: 'true', streaming: 'preferred' },
  { value: 'false', streaming: 'off' },
])(
  'given KUBE_FEATURE_WatchListClient=$value, then streamed lists are $streaming, and first lists are current',
  ({ value, streaming }) => {
    const env = { KUBE_FEATURE_WatchListClient: value };
    expect([listSettings(env), someWork({ env }).streaming()]).toEqual([
      { streaming, firstLists: 'current' },
      streaming,
    ]);
  },
);
