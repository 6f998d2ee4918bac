// SPDX-License-Identifier: Apache-2.0
/** Each action of the source loops alone: its request, what may end it, and what is learned from the answer. */
import { ApiError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { driverName, someSettings } from '../../testing/builders.ts';
import { aContent, aRestore, aSnapshot, boundFinalizer } from '../../testing/source-builders.ts';
import { sourceKey, type SourceRef } from '../source/source.ts';
import { performers } from './perform.ts';
import type { Action, SourceDeps, SourceState } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const { signal } = new AbortController();
const source: SourceRef = { kind: 'snapshot', namespace: 'team', name: 'daily' };
const refusal = (status: number, reason = ''): ApiError => new ApiError({ status, reason, message: 'no' });
const [notFound, forbidden, internal] = [refusal(404, 'NotFound'), refusal(403, 'Forbidden'), refusal(500)];

interface Given {
  readonly action: StepAction;
  /** The answer to every request. */
  readonly answer: unknown;
  readonly origin?: SourceState['origin'];
  /** A claim holds the source while it should be released. */
  readonly held?: boolean;
}

const ignored = { remember: () => undefined, doubt: () => undefined };

async function performed({ action, answer, origin = 'found', held = false }: Given) {
  const requests: unknown[] = [];
  const reply =
    (verb: string) =>
    async (_resource: unknown, ...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters]);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const client = { get: reply('get'), update: reply('update') };
  const deps = {
    driverName,
    settings: someSettings(),
    holds: {
      stanceOf: () => 'unknown',
      whileFree: async (_source: SourceRef, work: () => Promise<void>) => (held ? 'held' : (await work(), 'done')),
    },
    liveClaims: { read: reply('list') },
  } as unknown as SourceDeps;
  const perform = performers(deps)[action.kind] as (step: unknown) => Promise<unknown>;
  const caches = { volumes: { get: () => undefined }, snapshots: ignored };
  return { learned: await perform({ client, caches, state: { source, origin }, action, signal }), requests };
}

describe('reading the source', () => {
  const action: StepAction = { row: 'N2', kind: 'readSource' };

  it('given it is there, then it is learned, and the read ends with the run', async () => {
    expect(await performed({ action, answer: aSnapshot() })).toEqual({
      learned: { live: { object: aSnapshot() } },
      requests: [['get', { namespace: 'team', name: 'daily' }, { signal }]],
    });
  });

  it('given it is not found, then it is gone; given another failure, then it is not', async () => {
    expect((await performed({ action, answer: notFound })).learned).toEqual({ live: 'gone' });
    expect((await performed({ action, answer: forbidden })).learned).toEqual({ live: { failure: forbidden } });
  });
});

describe('reading the owner of a snapshot', () => {
  const action: StepAction = { row: 'N6', kind: 'readOwner', contentName: 'content-of-daily' };

  it('given its content, then it is ours if the driver is, and the read ends with the run', async () => {
    expect(await performed({ action, answer: aContent() })).toEqual({
      learned: { owner: 'us' },
      requests: [['get', { name: 'content-of-daily' }, { signal }]],
    });
    expect((await performed({ action, answer: aContent({ driver: 'x' }) })).learned).toEqual({ owner: 'other' });
  });

  it('given a content that is gone or may not be read, then the finalizer is ours to remove; given another failure, then that is learned', async () => {
    expect((await performed({ action, answer: notFound })).learned).toEqual({ owner: 'us' });
    expect((await performed({ action, answer: forbidden })).learned).toEqual({ owner: 'us' });
    expect((await performed({ action, answer: internal })).learned).toEqual({ owner: { failure: internal } });
  });
});

describe('listing the claims', () => {
  const action: StepAction = { row: 'N7', kind: 'listClaims' };
  /** No provisioner is asked for it yet. */
  const answer = new Map([[sourceKey(source), [aRestore({ annotations: {} })]]]);

  it('given a claim that no provisioner is asked for, then it needs a source that was found, and not one that we protected', async () => {
    const found = await performed({ action, answer });
    expect(found).toEqual({
      learned: { proof: { kind: 'always', claim: 'restored' } },
      requests: [['list', 'team', signal]],
    });
    expect((await performed({ action, answer, origin: 'ours' })).learned).toEqual({ proof: { kind: 'none' } });
  });

  it('given no claim names the source, then none needs it; given a failure, then that is learned', async () => {
    expect((await performed({ action, answer: new Map() })).learned).toEqual({ proof: { kind: 'none' } });
    expect((await performed({ action, answer: internal })).learned).toEqual({ proof: { failure: internal } });
  });
});

describe('the removal of the finalizer', () => {
  const action: StepAction = { row: 'N9', kind: 'release', object: aSnapshot() };

  it('given a server that takes its time, then claims wait until the write has ended', async () => {
    const order: string[] = [];
    const client = {
      update: async () => {
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        order.push('written');
      },
    };
    const whileFree = async (_source: SourceRef, work: () => Promise<void>): Promise<'done'> => {
      await work();
      order.push('free');
      return 'done';
    };
    const deps = { driverName, settings: someSettings(), holds: { whileFree } } as unknown as SourceDeps;
    const release = performers(deps).release as (step: unknown) => Promise<unknown>;
    await release({ client, caches: { snapshots: ignored }, state: { source, origin: 'found' }, action });
    expect(order).toEqual(['written', 'free']);
  });

  it('given success, then the other finalizers stay, and the write has a deadline of ten seconds and no signal of the run', async () => {
    expect(await performed({ action, answer: {} })).toEqual({
      learned: { release: 'done' },
      requests: [['update', aSnapshot({ finalizers: [boundFinalizer] }), { timeoutMs: 10_000 }]],
    });
  });

  it('given the source is gone, then the finalizer is too; given another failure, then that is learned', async () => {
    expect((await performed({ action, answer: notFound })).learned).toEqual({ release: 'done' });
    expect((await performed({ action, answer: internal })).learned).toEqual({ release: { failure: internal } });
  });

  it.each(['snapshot', 'claim'] as const)(
    'given a source that is a %s, then the cache of its kind has the answer, and without an answer the source is in doubt there',
    async (kind) => {
      const seen: unknown[] = [];
      const cacheOf = (name: string) => ({
        remember: (object: unknown) => seen.push([name, 'remember', object]),
        doubt: (object: unknown) => seen.push([name, 'doubt', object]),
      });
      const caches = { snapshots: cacheOf('snapshot'), claims: cacheOf('claim') };
      const answers = [{ kind: 'stored' }, new Error('reset')];
      const update = async (): Promise<unknown> => {
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer;
      };
      const whileFree = (_source: SourceRef, work: () => Promise<void>): Promise<void> => work();
      const deps = { driverName, settings: someSettings(), holds: { whileFree } } as unknown as SourceDeps;
      const release = performers(deps).release as (step: unknown) => Promise<unknown>;
      const step = { client: { update }, caches, state: { source: { ...source, kind } }, action };
      await release(step);
      await release(step);
      expect(seen).toEqual([
        [kind, 'remember', { kind: 'stored' }],
        [kind, 'doubt', action.object],
      ]);
    },
  );

  it('given a claim holds the source, then nothing is written', async () => {
    expect(await performed({ action, answer: {}, held: true })).toEqual({ learned: { release: 'held' }, requests: [] });
  });
});
