// SPDX-License-Identifier: Apache-2.0
import { beforeEach, expect, it } from 'vitest';
import { createFakeApiServer, type FakeApiServer, FakeClock, seededRandom } from '../../testing/index.ts';
import { commonTypes } from '../../testing/fake-api-server/index.ts';
import { silentLogger } from '../log/logger.ts';
import { applyObject } from './apply-object.ts';
import type { ApiClient } from './client.ts';
import { configMaps, deployments } from './common-resources.ts';
import { createApiClient } from './create-client.ts';
import { isConflict } from './error-predicates.ts';

const name = { namespace: 'team', name: 'a' };
let client: ApiClient;
let server: FakeApiServer;

beforeEach(() => {
  const clock = new FakeClock();
  server = createFakeApiServer({ clock, random: seededRandom(1) });
  server.addTypes(...commonTypes);
  const deps = { transport: server.transport, clock, logger: silentLogger };
  client = createApiClient(deps, { userAgent: 'test', qps: -1, burst: 0 });
});

const apply = (data: Record<string, string>, fieldManager: string, force?: boolean) => {
  const object = { metadata: name, data };
  return applyObject({ client }, { resource: configMaps, object, fieldManager, ...(force !== undefined && { force }) });
};

it('given no object, when it is applied, then it is created with its type, and applied again it does not change', async () => {
  const created = await apply({ one: '1' }, 'first');
  expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: name, data: { one: '1' } });
  expect((await apply({ one: '1' }, 'first')).metadata?.resourceVersion).toBe(created.metadata?.resourceVersion);
});

it('given fields of two owners, when one applies fewer, then only its own go', async () => {
  await apply({ one: '1', two: '2' }, 'first');
  await apply({ three: '3' }, 'second');
  expect((await apply({ one: '1' }, 'first')).data).toEqual({ one: '1', three: '3' });
});

it('given a field of another owner, then it is taken over, and without force the server refuses', async () => {
  await apply({ one: '1' }, 'first');
  await expect(apply({ one: '2' }, 'second', false)).rejects.toSatisfy(isConflict);
  expect((await apply({ one: '2' }, 'second')).data).toEqual({ one: '2' });
});

it('given a subresource, then only the status is applied', async () => {
  const object = { metadata: name, spec: { selector: {}, template: {} } };
  await applyObject({ client }, { resource: deployments, object, fieldManager: 'first' });
  const applied = await applyObject(
    { client },
    {
      resource: deployments,
      object: { metadata: name, status: { replicas: 2 } },
      fieldManager: 'second',
      subresource: 'status',
    },
  );
  expect(applied).toMatchObject({ spec: { selector: {} }, status: { replicas: 2 } });
});
