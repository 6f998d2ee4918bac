// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createApiClient, namespaces, secrets, silentLogger, type ApiClient } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { serviceAccounts, clusterRoleBindings, clusterRoles, roleBindings, roles } from './plain-types.ts';
import { startSim, type Sim } from '../sim.ts';
import type { KubeObject, Resource } from '@csi-sidecars/runtime';

const clock = new FakeClock();

function arrange(): Sim {
  return startSim({ clock, random: seededRandom(1) });
}

/** A client that uses the token. */
function clientWith(sim: Sim, token: string): ApiClient {
  const transport: typeof sim.server.transport = (request) =>
    sim.server.transport({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
  return createApiClient({ transport, clock, logger: silentLogger }, { userAgent: 'test', qps: -1, burst: 0 });
}

async function tokenFor(sim: Sim, name: string): Promise<string> {
  const request: Resource = { ...serviceAccounts, plural: `serviceaccounts/${name}/token`, kind: 'TokenRequest' };
  const answer = await sim.client.create<KubeObject & { status?: { token: string } }>(request, {
    metadata: { namespace: 'default' },
  });
  return answer.status?.token ?? '';
}

/** An object with additional fields, whose types do not matter. */
interface Rbac extends KubeObject {
  readonly rules?: unknown;
  readonly roleRef?: unknown;
  readonly subjects?: unknown;
}

const widgets: Resource<KubeObject & { spec?: object }> = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const definitions: Resource<KubeObject & { spec: object; status?: object }> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

describe('the API of a simulated cluster', () => {
  it('given roles and bindings, when a ServiceAccount calls, then it may do exactly what they grant', async () => {
    const sim = arrange();
    await using _ = sim;
    const metadata = { name: 'worker', namespace: 'default' };
    const subjects = [{ kind: 'ServiceAccount', ...metadata }];
    await sim.client.create(serviceAccounts, { metadata });
    const rule = { apiGroups: [''], resources: ['secrets'] };
    await sim.client.create<Rbac>(clusterRoles, {
      metadata: { name: 'x:read' },
      rules: [{ ...rule, verbs: ['get'] }],
    });
    const everywhere = { kind: 'ClusterRole', name: 'x:read' };
    await sim.client.create<Rbac>(clusterRoleBindings, { metadata: { name: 'x' }, roleRef: everywhere, subjects });
    await sim.client.create<Rbac>(roles, {
      metadata: { ...metadata, name: 'w' },
      rules: [{ ...rule, verbs: ['create'] }],
    });
    const here = { kind: 'Role', name: 'w' };
    await sim.client.create<Rbac>(roleBindings, { metadata: { ...metadata, name: 'w' }, roleRef: here, subjects });

    const client = clientWith(sim, await tokenFor(sim, 'worker'));
    await client.create(secrets, { metadata: { name: 's', namespace: 'default' } });
    await client.get(secrets, { name: 's', namespace: 'default' });
    await expect(client.create(secrets, { metadata: { name: 's', namespace: 'kube-system' } })).rejects.toMatchObject({
      status: 403,
      reason: 'Forbidden',
      message:
        'secrets is forbidden: User "system:serviceaccount:default:worker" cannot create resource "secrets" in API group "" in the namespace "kube-system"',
    });
    await expect(client.delete(secrets, { name: 's', namespace: 'default' })).rejects.toMatchObject({
      message:
        'secrets "s" is forbidden: User "system:serviceaccount:default:worker" cannot delete resource "secrets" in API group "" in the namespace "default"',
    });
    await expect(client.list(secrets)).rejects.toMatchObject({ status: 403, message: /at the cluster scope$/ });
    await expect(clientWith(sim, 'nonsense').list(secrets)).rejects.toMatchObject({ status: 401 });
    await clock.advance(3_600_000);
    await expect(client.get(secrets, { name: 's', namespace: 'default' })).rejects.toMatchObject({ status: 401 });
  });

  it('given a definition, when created and deleted, then its kind is served in between', async () => {
    const sim = arrange();
    await using _ = sim;
    const widget = { metadata: { name: 'w', namespace: 'default' }, spec: { x: null } };
    await expect(sim.client.create(widgets, widget)).rejects.toMatchObject({ status: 404 });
    const names = { plural: 'widgets', kind: 'Widget' };
    const version = { served: true, storage: true, subresources: { status: {} } };
    const versions = [
      { ...version, name: 'v1' },
      { ...version, name: 'v1beta1', storage: false },
    ];
    const spec = { group: 'example.com', scope: 'Namespaced', names, versions };
    const created = await sim.client.create(definitions, { metadata: { name: 'widgets.example.com' }, spec });
    expect(created.status).toMatchObject({ conditions: [{}, { type: 'Established', status: 'True' }] });
    expect((await sim.client.create(widgets, widget)).metadata?.generation).toBe(1);
    const beta = { ...widgets, version: 'v1beta1' };
    const shown = await sim.client.get(beta, { namespace: 'default', name: 'w' });
    expect([shown.apiVersion, shown.spec]).toEqual(['example.com/v1beta1', { x: null }]);
    await sim.client.delete(definitions, { name: 'widgets.example.com' });
    await expect(sim.client.list(widgets)).rejects.toMatchObject({ status: 404 });
  });

  it('given a namespace with objects, when deleted, then new objects are refused, and the namespace is removed once all of them are gone', async () => {
    const sim = arrange();
    await using _ = sim;
    await clock.advance(100);
    await expect(sim.client.create(secrets, { metadata: { name: 's', namespace: 'app' } })).rejects.toMatchObject({
      status: 404,
      message: 'namespaces "app" not found',
    });
    await sim.client.create(namespaces, { metadata: { name: 'app' } });
    await sim.client.create(secrets, { metadata: { name: 's', namespace: 'app', finalizers: ['x.io/hold'] } });
    await sim.client.delete(namespaces, { name: 'app' });
    expect(sim.server.objects.get(namespaces, { name: 'app' })?.status?.phase).toBe('Terminating');
    await expect(sim.client.create(secrets, { metadata: { name: 't', namespace: 'app' } })).rejects.toMatchObject({
      status: 403,
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    });
    await clock.advance(1000);
    expect(sim.server.objects.get(namespaces, { name: 'app' })).toBeDefined();
    const target = { resource: secrets, ref: { name: 's', namespace: 'app' } };
    await sim.client.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } });
    await clock.advance(1000);
    expect(sim.server.objects.get(namespaces, { name: 'app' })).toBeUndefined();
  });
});
