// SPDX-License-Identifier: Apache-2.0
/** Lists: pages, versions, selectors, metadata only. */
import assert from 'node:assert/strict';
import { secrets, type ApiClient, type KubeObject, type ListPage } from '@csi-sidecars/runtime';
import { aSecret } from './samples.ts';
import { refused } from './expectations.ts';
import type { ContractCheck, ContractEnv } from './check.ts';

interface Family {
  readonly family: string;
  readonly names: readonly string[];
}

/** Secrets with one label in common, created in an order that is not their own. */
async function aFamily(client: ApiClient, env: ContractEnv, suffix: string): Promise<Family> {
  const family = env.name(suffix);
  const names = ['a', 'b', 'c', 'd', 'e'].map((letter) => `${family}-${letter}`);
  for (const name of names.toReversed()) {
    const metadata = { name, namespace: env.namespace, labels: { family, last: name.slice(-1) } };
    await client.create(secrets, { ...aSecret(env, name), metadata });
  }
  return { family, names };
}

function namesOf(page: ListPage<KubeObject>): readonly (string | undefined)[] {
  return page.items.map((item) => item.metadata?.name);
}

export const listChecks: readonly ContractCheck[] = [
  {
    name: 'a list in pages shows one state in the order of names, whatever happens meanwhile',
    async run(client, env) {
      const { family, names } = await aFamily(client, env, 'pages');
      const selection = { namespace: env.namespace, labelSelector: `family=${family}` };
      const first = await client.list(secrets, { ...selection, limit: 2 });
      assert.deepEqual([namesOf(first), first.remainingItemCount], [names.slice(0, 2), undefined]);
      await client.delete(secrets, { namespace: env.namespace, name: names[3] ?? '' });
      const second = await client.list(secrets, { ...selection, limit: 2, continue: first.continue ?? '' });
      assert.deepEqual([namesOf(second), second.resourceVersion], [names.slice(2, 4), first.resourceVersion]);
      const last = await client.list(secrets, { ...selection, limit: 2, continue: second.continue ?? '' });
      assert.deepEqual([namesOf(last), last.continue], [names.slice(4), undefined]);
      const now = await client.list(secrets, selection);
      assert.deepEqual(namesOf(now), names.toSpliced(3, 1));
    },
  },
  {
    name: 'a page without selectors says how many items remain',
    async run(client, env) {
      await aFamily(client, env, 'remaining');
      const all = await client.list(secrets, { namespace: env.namespace });
      const page = await client.list(secrets, { namespace: env.namespace, limit: 2 });
      assert.equal(page.remainingItemCount, all.items.length - 2);
    },
  },
  {
    name: 'a continue token cannot be combined with a version',
    async run(client, env) {
      await aFamily(client, env, 'token');
      const page = await client.list(secrets, { namespace: env.namespace, limit: 1 });
      const query = {
        namespace: env.namespace,
        limit: 1,
        continue: page.continue ?? '',
        resourceVersion: page.resourceVersion,
      };
      const message = 'specifying resource version is not allowed when using continue';
      await refused(client.list(secrets, query), { status: 400, reason: 'BadRequest', message });
    },
  },
  {
    name: 'a list can be had at an exact version of the past, at a version not older, and at any',
    async run(client, env) {
      const { family, names } = await aFamily(client, env, 'versions');
      const selection = { namespace: env.namespace, labelSelector: `family=${family}` };
      const before = await client.list(secrets, selection);
      await client.delete(secrets, { namespace: env.namespace, name: names[0] ?? '' });
      const { resourceVersion } = before;
      const past = await client.list(secrets, { ...selection, resourceVersion, resourceVersionMatch: 'Exact' });
      assert.deepEqual([namesOf(past), past.resourceVersion], [names, resourceVersion]);
      const fresh = await client.list(secrets, { ...selection, resourceVersion, resourceVersionMatch: 'NotOlderThan' });
      assert.ok(Number(fresh.resourceVersion) >= Number(resourceVersion));
      await client.list(secrets, { ...selection, resourceVersion: '0' });
      const orphan = client.list(secrets, { ...selection, resourceVersionMatch: 'Exact' });
      await refused(orphan, { status: 422, reason: 'Invalid' });
    },
  },
  {
    name: 'label selectors select by equality, sets and existence',
    async run(client, env) {
      const { family, names } = await aFamily(client, env, 'labels');
      const select = async (labelSelector: string): Promise<string> =>
        namesOf(
          await client.list(secrets, { namespace: env.namespace, labelSelector: `family=${family},${labelSelector}` }),
        )
          .map((name) => name?.slice(-1))
          .join('');
      assert.equal(names.length, 5);
      assert.equal(await select('last==b'), 'b');
      assert.equal(await select('last!=b'), 'acde');
      assert.equal(await select('last in (a, c)'), 'ac');
      assert.equal(await select('last notin (a,c)'), 'bde');
      assert.equal(await select('last'), 'abcde');
      assert.equal(await select('!last'), '');
      const broken = client.list(secrets, { namespace: env.namespace, labelSelector: 'a b' });
      await refused(broken, { status: 400, reason: 'BadRequest' });
    },
  },
  {
    name: 'field selectors know names and the fields of the kind, and no others',
    async run(client, env) {
      const { names } = await aFamily(client, env, 'fields');
      const { namespace } = env;
      const byName = await client.list(secrets, { namespace, fieldSelector: `metadata.name=${names[1]}` });
      assert.deepEqual(namesOf(byName), [names[1]]);
      const others = await client.list(secrets, { namespace, fieldSelector: `metadata.name!=${names[1]},type=Opaque` });
      assert.deepEqual([others.items.length > 0, namesOf(others).includes(names[1])], [true, false]);
      const unknown = client.list(secrets, { namespace, fieldSelector: 'data.x=1' });
      await refused(unknown, { status: 400, reason: 'BadRequest', message: /field label not supported: data\.x$/ });
    },
  },
  {
    name: 'a list can be had as metadata only',
    async run(client, env) {
      const { family } = await aFamily(client, env, 'partial');
      const path = `/api/v1/namespaces/${env.namespace}/secrets?labelSelector=family%3D${family}&limit=1`;
      const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
      const response = await client.stream({ purpose: 'list', path, accept }, env.signal);
      const body = JSON.parse(Buffer.concat(await Array.fromAsync(response.body)).toString()) as {
        kind: string;
        items: readonly { kind: string; data?: unknown; metadata: { labels: object } }[];
      };
      assert.equal(body.kind, 'PartialObjectMetadataList');
      assert.deepEqual(
        body.items.map(({ kind, data, metadata }) => [kind, data, metadata.labels]),
        [['PartialObjectMetadata', undefined, { family, last: 'a' }]],
      );
    },
  },
];
