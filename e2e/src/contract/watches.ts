// SPDX-License-Identifier: Apache-2.0
/** Watches: where they begin, what they select, bookmarks, the streaming list, and their ends. */
import assert from 'node:assert/strict';
import { secrets, type ApiClient } from '@csi-sidecars/runtime';
import { aSecret } from './samples.ts';
import { briefly, watching, type Frame } from './watching.ts';
import { refused } from './expectations.ts';
import type { ContractCheck, ContractEnv } from './check.ts';

/** Secrets under one label, and the path that watches exactly them. */
interface Scene {
  readonly family: string;
  readonly name: (suffix: string) => string;
  readonly path: (query: string) => string;
  readonly create: (suffix: string) => Promise<string>;
  readonly label: (suffix: string, labels: Readonly<Record<string, string | null>>) => Promise<unknown>;
}

function scene(client: ApiClient, env: ContractEnv, suffix: string): Scene {
  const { namespace } = env;
  const family = env.name(suffix);
  const name = (part: string): string => `${family}-${part}`;
  return {
    family,
    name,
    path: (query) => `/api/v1/namespaces/${namespace}/secrets?watch=true&labelSelector=family%3D${family}&${query}`,
    async create(part) {
      const metadata = { name: name(part), namespace, labels: { family } };
      const created = await client.create(secrets, { ...aSecret(env, name(part)), metadata });
      return created.metadata?.resourceVersion ?? '';
    },
    label: (part, labels) =>
      client.patch(
        { resource: secrets, ref: { namespace, name: name(part) } },
        { type: 'merge', body: { metadata: { labels } } },
      ),
  };
}

const streamed = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

function isEndOfInitialEvents(frame: Frame | undefined): boolean {
  return frame?.type === 'BOOKMARK' && frame.object.metadata?.annotations?.['k8s.io/initial-events-end'] === 'true';
}

export const watchChecks: readonly ContractCheck[] = [
  {
    name: 'a watch from a version shows every later change once, in order',
    async run(client, env) {
      const { path, create, label, name } = scene(client, env, 'from');
      const version = await create('a');
      await create('b');
      await using watch = await watching(client, { path: path(`resourceVersion=${version}`) }, env.signal);
      await label('a', { x: '1' });
      await client.delete(secrets, { namespace: env.namespace, name: name('b') });
      const frames = await watch.take(3);
      assert.deepEqual(frames.map(briefly), [`ADDED ${name('b')}`, `MODIFIED ${name('a')}`, `DELETED ${name('b')}`]);
      const versions = frames.map((frame) => Number(frame.object.metadata?.resourceVersion));
      assert.deepEqual(
        versions,
        versions.toSorted((a, b) => a - b),
      );
      assert.deepEqual([frames[0]?.object.apiVersion, frames[0]?.object.kind], ['v1', 'Secret']);
    },
  },
  {
    name: 'a watch without a version, or from 0, begins with the state as ADDED',
    async run(client, env) {
      const { path, create, name } = scene(client, env, 'state');
      await create('a');
      const version = await create('b');
      for (const query of ['', 'resourceVersion=0']) {
        // From 0 any state may be shown; make sure the cache is as new as this run's objects.
        await client.list(secrets, { namespace: env.namespace, resourceVersion: version, limit: 1 });
        await using watch = await watching(client, { path: path(query) }, env.signal);
        assert.deepEqual((await watch.take(2)).map(briefly).toSorted(), [`ADDED ${name('a')}`, `ADDED ${name('b')}`]);
      }
    },
  },
  {
    name: 'an object that leaves the selection is DELETED, one that enters it is ADDED',
    async run(client, env) {
      const { path, create, label, name, family } = scene(client, env, 'enter');
      const version = await create('a');
      await using watch = await watching(client, { path: path(`resourceVersion=${version}`) }, env.signal);
      await label('a', { family: 'other' });
      await label('a', { x: '1' });
      await label('a', { family });
      const frames = await watch.take(2);
      assert.deepEqual(frames.map(briefly), [`DELETED ${name('a')}`, `ADDED ${name('a')}`]);
      assert.equal(frames[0]?.object.metadata?.labels?.['family'], family);
      assert.ok(Number(frames[0]?.object.metadata?.resourceVersion) > Number(version));
    },
  },
  {
    name: 'a streaming list ends with its bookmark and goes on as a watch',
    async run(client, env) {
      const { path, create, name } = scene(client, env, 'streamed');
      await create('a');
      const version = await create('b');
      await using watch = await watching(client, { path: path(streamed) }, env.signal);
      const initial = await watch.take(2);
      assert.deepEqual(initial.map(briefly).toSorted(), [`ADDED ${name('a')}`, `ADDED ${name('b')}`]);
      const end = await watch.next();
      assert.ok(isEndOfInitialEvents(end), `the bookmark should follow, not ${JSON.stringify(end)}`);
      assert.ok(Number(end?.object.metadata?.resourceVersion) >= Number(version));
      assert.deepEqual([end?.object.kind, end?.object.apiVersion], ['Secret', 'v1']);
      await create('c');
      assert.deepEqual((await watch.take(1)).map(briefly), [`ADDED ${name('c')}`]);
    },
  },
  {
    name: 'an empty streaming list is its bookmark alone',
    async run(client, env) {
      const { path } = scene(client, env, 'empty');
      await using watch = await watching(client, { path: path(streamed) }, env.signal);
      assert.ok(isEndOfInitialEvents(await watch.next()));
    },
  },
  {
    name: 'a streaming list needs resourceVersionMatch, and a plain watch must not have it',
    async run(client, env) {
      const { path } = scene(client, env, 'options');
      const invalid = { status: 422, reason: 'Invalid' };
      const open = (query: string) => client.stream({ purpose: 'watch', path: path(query) }, env.signal);
      await refused(open('sendInitialEvents=true&allowWatchBookmarks=true'), {
        ...invalid,
        message: /sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/,
      });
      await refused(open('resourceVersion=1&resourceVersionMatch=NotOlderThan'), {
        ...invalid,
        message: /resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided/,
      });
    },
  },
  {
    name: 'a streaming list from the future is refused within the stream as too large',
    async run(client, env) {
      const { path, create } = scene(client, env, 'future');
      const future = Number(await create('a')) + 1_000_000;
      const target = { path: path(`${streamed}&resourceVersion=${future}`) };
      await using watch = await watching(client, target, env.signal);
      const [frame] = await watch.take(1);
      assert.deepEqual([frame?.type, frame?.object.code, frame?.object.reason], ['ERROR', 504, 'Timeout']);
      assert.match(frame?.object.message ?? '', /^Timeout: Too large resource version: \d+, current: \d+$/);
      assert.deepEqual(frame?.object.details?.causes, [
        { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
      ]);
    },
  },
  {
    name: 'a watch that asks for them gets a bookmark before it times out, and then ends cleanly',
    async run(client, env) {
      const { path, create } = scene(client, env, 'bookmark');
      const version = await create('a');
      const query = `resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=5`;
      await using watch = await watching(client, { path: path(query) }, env.signal);
      const elsewhere = await client.create(secrets, aSecret(env, env.name('elsewhere')));
      const reading = watch.take(10);
      await env.pass(6_000);
      const frames = await reading;
      assert.ok(frames.length > 0, 'there should be a bookmark');
      assert.deepEqual(
        frames.map(({ type }) => type),
        frames.map(() => 'BOOKMARK'),
      );
      // It moves past changes that the selection does not show.
      const last = frames.at(-1)?.object.metadata?.resourceVersion;
      assert.ok(Number(last) >= Number(elsewhere.metadata?.resourceVersion));
    },
  },
  {
    name: 'a watch can be had as metadata only',
    async run(client, env) {
      const { path, create, name } = scene(client, env, 'partial-watch');
      await create('a');
      const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
      await using watch = await watching(client, { path: path(''), accept }, env.signal);
      const [frame] = await watch.take(1);
      assert.deepEqual(
        [frame?.type, frame?.object.kind, frame?.object.apiVersion, frame?.object.metadata?.name],
        ['ADDED', 'PartialObjectMetadata', 'meta.k8s.io/v1', name('a')],
      );
    },
  },
];
