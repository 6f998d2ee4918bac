// SPDX-License-Identifier: Apache-2.0
/** The differences of kinds that a CustomResourceDefinition defines. */
import assert from 'node:assert/strict';
import { isNotFound, type ApiClient, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { refused } from './expectations.ts';
import { watching } from './watching.ts';
import type { ContractCheck, ContractEnv } from './check.ts';

interface Widget extends KubeObject {
  readonly spec?: object;
  readonly status?: object;
}

interface Definition extends KubeObject {
  readonly spec: object;
}

const definitions: Resource<Definition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

const pollMs = 100;
const polls = 100;

/** A kind of its own for one check, served until it is disposed. */
async function aKind(client: ApiClient, env: ContractEnv, suffix: string): Promise<Resource<Widget> & AsyncDisposable> {
  const group = `${env.name(suffix)}.example.com`;
  const name = `widgets.${group}`;
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', properties: { spec: anything, status: anything } };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    schema: { openAPIV3Schema },
  };
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  const spec = { group, scope: 'Namespaced', names, versions: [version] };
  await client.create(definitions, { metadata: { name }, spec });
  const widgets: Resource<Widget> = { group, version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true };
  await served(client, widgets, env);
  return { ...widgets, [Symbol.asyncDispose]: async () => void (await client.delete(definitions, { name })) };
}

async function served(client: ApiClient, resource: Resource, env: ContractEnv): Promise<void> {
  for (let poll = 0; poll < polls; poll += 1) {
    try {
      await client.list(resource, { namespace: env.namespace });
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await env.pass(pollMs);
    }
  }
  assert.fail('the kind should be served by now');
}

export const customResourceChecks: readonly ContractCheck[] = [
  {
    name: 'a custom resource has a generation that counts changes of what is wanted, and a status apart',
    async run(client, env) {
      await using widgets = await aKind(client, env, 'generation');
      const ref = { namespace: env.namespace, name: 'w' };
      const target = { resource: widgets, ref };
      const created = await client.create(widgets, { metadata: ref, spec: { x: 1, empty: null }, status: { y: 1 } });
      assert.deepEqual(
        [created.metadata?.generation, created.spec, created.status],
        [1, { x: 1, empty: null }, undefined],
      );
      const body = { metadata: { labels: { a: '1' } }, spec: { x: 2 }, status: { y: 2 } };
      const main = await client.patch(target, { type: 'merge', body });
      assert.deepEqual([main.metadata?.generation, main.status], [2, undefined]);
      const other = { metadata: { labels: { a: '2' } }, spec: { x: 3 }, status: { y: 3 } };
      const status = await client.patch(target, { type: 'merge', body: other }, { subresource: 'status' });
      const { generation, labels } = status.metadata ?? {};
      assert.deepEqual(
        [generation, labels, status.spec, status.status],
        [2, { a: '1' }, { x: 2, empty: null }, { y: 3 }],
      );
    },
  },
  {
    name: 'a custom resource refuses strategic merge patches',
    async run(client, env) {
      await using widgets = await aKind(client, env, 'strategic');
      const ref = { namespace: env.namespace, name: 'w' };
      await client.create(widgets, { metadata: ref });
      const patch = client.patch({ resource: widgets, ref }, { type: 'strategic', body: { spec: { x: 1 } } });
      const message =
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml';
      await refused(patch, { status: 415, reason: 'UnsupportedMediaType', message });
    },
  },
  {
    name: 'the deletion of a held custom resource counts as a change of what is wanted',
    async run(client, env) {
      await using widgets = await aKind(client, env, 'held');
      const ref = { namespace: env.namespace, name: 'w' };
      await client.create(widgets, { metadata: { ...ref, finalizers: ['contract.example.com/hold'] } });
      const deleted = await client.delete(widgets, ref);
      assert.equal(deleted?.metadata?.generation, 2);
      const body = { metadata: { finalizers: null } };
      await client.patch({ resource: widgets, ref }, { type: 'merge', body });
      await refused(client.get(widgets, ref), { status: 404, reason: 'NotFound' });
    },
  },
  {
    name: 'a watch from before its kind was served is one ERROR of 410 Expired',
    async run(client, env) {
      await using widgets = await aKind(client, env, 'expired');
      const path = `/apis/${widgets.group}/v1/widgets?watch=true&resourceVersion=1`;
      await using watch = await watching(client, { path }, env.signal);
      const frames = await watch.take(2);
      assert.deepEqual(
        frames.map(({ type, object }) => [type, object.code, object.reason]),
        [['ERROR', 410, 'Expired']],
      );
    },
  },
  {
    name: 'a version that the definition does not serve is 404 without a Status',
    async run(client, env) {
      await using widgets = await aKind(client, env, 'unserved');
      await refused(client.list({ ...widgets, version: 'v9' }), { status: 404, reason: '' });
    },
  },
];
