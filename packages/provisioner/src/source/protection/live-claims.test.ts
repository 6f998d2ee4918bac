// SPDX-License-Identifier: Apache-2.0
import type { ApiClient, ListQuery, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim } from '../../../testing/builders.ts';
import { aClone, aRestore } from '../../../testing/source-builders.ts';
import { createLiveClaims } from './live-claims.ts';

interface Lists {
  readonly client: Pick<ApiClient, 'list'>;
  readonly queries: ListQuery[];
  /** Answers the oldest list that waits. */
  readonly answer: (claims: readonly PersistentVolumeClaim[], next?: string) => Promise<void>;
  readonly fail: () => Promise<void>;
}

function someLists(): Lists {
  const queries: ListQuery[] = [];
  const waiting: { resolve: (page: unknown) => void; reject: (error: Error) => void }[] = [];
  const client = {
    list: (_resource: unknown, query: ListQuery) => {
      queries.push(query);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
  } as unknown as Pick<ApiClient, 'list'>;
  return {
    client,
    queries,
    answer: async (items, next) => {
      waiting.shift()?.resolve({ items, resourceVersion: '1', ...(next === undefined ? {} : { continue: next }) });
      await settle();
    },
    fail: async () => {
      waiting.shift()?.reject(new Error('no connection'));
      await settle();
    },
  };
}
const { signal } = new AbortController();

describe('the live list of claims', () => {
  it('given several pages, then claims are found by the source that they name, and others are dropped', async () => {
    const { client, queries, answer } = someLists();
    const read = createLiveClaims().read(client, 'team', signal);
    await answer([aRestore(), aClaim({ name: 'plain' })], 'more');
    await answer([aClone(), aRestore({ name: 'second', ref: {} })]);
    const found = await read;
    expect([...found].map(([key, claims]) => [key, claims.map(({ metadata }) => metadata?.name)])).toEqual([
      ['snapshot/team/daily', ['restored', 'second']],
      ['claim/team/original', ['clone']],
    ]);
    expect(queries).toEqual([
      { namespace: 'team', limit: 500 },
      { namespace: 'team', limit: 500, continue: 'more' },
    ]);
  });

  it('given claims with much that is not read, then only what decides the need is kept, finalizers included', async () => {
    const { client, answer } = someLists();
    const read = createLiveClaims().read(client, 'team', signal);
    const restore = aRestore({ protection: 'on' });
    const annotations = { ...restore.metadata?.annotations, 'example.com/note': 'x'.repeat(1_000) };
    await answer([{ ...restore, metadata: { ...restore.metadata, annotations } }]);
    const [claim] = [...(await read).values()].flat();
    expect(claim?.metadata?.finalizers).toEqual(restore.metadata?.finalizers);
    expect(claim!.metadata?.finalizers).not.toEqual([]);
    expect(claim?.metadata?.annotations).toEqual(restore.metadata?.annotations);
    expect(claim!.spec!.resources).toBeUndefined();
  });

  it('given questions while a list runs, then they share the next one, because the running list may be older than they are', async () => {
    const { client, queries, answer } = someLists();
    const live = createLiveClaims();
    const first = live.read(client, 'team', signal);
    const [second, third] = [live.read(client, 'team', signal), live.read(client, 'team', signal)];
    await settle();
    expect(queries).toHaveLength(1);
    await answer([]);
    expect(queries).toHaveLength(2);
    const fourth = live.read(client, 'team', signal);
    await answer([aRestore()]);
    expect([(await first).size, (await second).size, (await third).size, queries.length]).toEqual([0, 1, 1, 3]);
    await answer([]);
    expect((await fourth).size).toBe(0);
  });

  it('given a list that fails, then its questions fail, those that wait get another list, and a later one begins at once', async () => {
    const { client, queries, answer, fail } = someLists();
    const live = createLiveClaims();
    const first = live.read(client, 'team', signal);
    const second = live.read(client, 'team', signal);
    const failed = expect(first).rejects.toThrow('no connection');
    await fail();
    await failed;
    await answer([aRestore()]);
    expect((await second).size).toBe(1);
    const third = live.read(client, 'team', signal);
    expect(queries).toHaveLength(3);
    await answer([]);
    await third;
  });

  it('given two namespaces, or all of them, then each has a list of its own', async () => {
    const { client, queries, answer } = someLists();
    const live = createLiveClaims();
    const reads = ['team', 'apps', undefined].map((namespace) => live.read(client, namespace, signal));
    expect(queries.map(({ namespace }) => namespace)).toEqual(['team', 'apps', undefined]);
    for (const _ of reads) await answer([]);
    await Promise.all(reads);
  });
});
