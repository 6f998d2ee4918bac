// SPDX-License-Identifier: Apache-2.0
/** Who may ask, over the whole service. */
import { driverName } from '@csi-sidecars/csi/testing';
import { settle, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { goodAccount } from '../../testing/cluster.ts';
import { aClass, aContent, aService, aSnapshot, audience } from '../../testing/objects.ts';
import { serving } from '../../testing/serving.ts';

interface Asked {
  readonly spec: { readonly token: string };
}
const refusedReview = { allowed: true, denied: true, reason: 'a webhook denies it' };

it('[snapshot-metadata#40,A1] given no SnapshotMetadataService, then Internal even for a valid token, and the token is not sent', async () => {
  await using service = await serving({ objects: [aSnapshot(), aContent(), aClass()] });
  const answer = await service.client.allocated();
  expect(answer.code).toBe('Internal');
  expect(answer.detail).toBe(
    `failed to authenticate user: failed to find the SnapshotMetadataService CR for driver '${driverName}': snapshotmetadataservices.cbt.storage.k8s.io "${driverName}" not found`,
  );
  expect(service.cluster.asked()).toEqual([`get snapshotmetadataservices ${driverName}`]);
});

it('[snapshot-metadata#41] given --audience, then it wins, and the SnapshotMetadataService is not read', async () => {
  const accounts = { good: { ...goodAccount, audiences: ['x'] } };
  await using service = await serving({ accounts, settings: { audience: 'x' } });
  expect((await service.client.allocated()).code).toBe('OK');
  expect(service.cluster.reviews('tokenreviews')).toMatchObject([{ spec: { token: 'good', audiences: ['x'] } }]);
  expect(service.cluster.asked()).not.toContain(`get snapshotmetadataservices ${driverName}`);
});

it('[snapshot-metadata#42] given an audience that is edited, then the next request uses it', async () => {
  await using service = await serving();
  expect((await service.client.allocated()).code).toBe('OK');
  service.cluster.server.seed(aService({ audience: 'new' }));
  expect((await service.client.allocated()).code).toBe('Unauthenticated');
  expect(service.cluster.reviews('tokenreviews')).toMatchObject([
    { spec: { audiences: [audience] } },
    { spec: { audiences: ['new'] } },
  ]);
});

it.each([
  { id: '43', given: 'a token for another audience', audiences: ['https://kubernetes.default.svc'] },
  { id: '44', given: 'a valid token without audiences', audiences: [] },
])('[snapshot-metadata#43,44] given $given, then Unauthenticated ($id)', async ({ audiences }) => {
  await using service = await serving({ accounts: { good: { ...goodAccount, audiences } } });
  expect(await service.client.allocated()).toMatchObject({ code: 'Unauthenticated', detail: 'unauthenticated user' });
});

it('[snapshot-metadata#45] given a token for several audiences, ours among them, then it is accepted', async () => {
  await using service = await serving({ accounts: { good: { ...goodAccount, audiences: ['other', audience] } } });
  expect((await service.client.allocated()).code).toBe('OK');
});

it('[snapshot-metadata#46,A3] given a token that is not valid, then Unauthenticated, without what the review says of it', async () => {
  await using service = await serving();
  expect(await service.client.allocated({ security_token: 'expired' })).toMatchObject({
    code: 'Unauthenticated',
    detail: 'unauthenticated user',
  });
  expect(service.cluster.reviews('subjectaccessreviews')).toEqual([]);
});

it('given an empty audience and no --audience, then Unauthenticated without a review, because the API server would take it for its own', async () => {
  await using service = await serving({ objects: [aService({ audience: '' })] });
  expect((await service.client.allocated()).code).toBe('Unauthenticated');
  expect(service.cluster.reviews('tokenreviews')).toEqual([]);
});

it('[snapshot-metadata#47,A2] given a TokenReview that is forbidden, then Internal, and the text names the account of the sidecar', async () => {
  await using service = await serving({
    extension: ({ route }) => {
      if (route.resource !== 'tokenreviews') return undefined;
      const message =
        'tokenreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:kube-system:sidecar" cannot create resource';
      return { code: 403, body: { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message } };
    },
  });
  const answer = await service.client.allocated();
  expect(answer.code).toBe('Internal');
  expect(answer.detail).toBe(
    'failed to authenticate user: tokenreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:kube-system:sidecar" cannot create resource',
  );
});

it('[snapshot-metadata#A4] given a SubjectAccessReview that fails, then Internal', async () => {
  await using service = await serving({
    extension: ({ route }) =>
      route.resource === 'subjectaccessreviews'
        ? {
            code: 403,
            body: { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'no right' },
          }
        : undefined,
  });
  const detail = 'failed to authorize the user: no right';
  expect(await service.client.allocated()).toMatchObject({ code: 'Internal', detail });
});

it.each([
  { given: 'allowed and denied', status: refusedReview, detail: 'a webhook denies it' },
  { given: 'neither', status: {}, detail: '' },
])(
  '[snapshot-metadata#48,49,A5] given a review that says $given, then PermissionDenied with its reason',
  async ({ status, detail }) => {
    await using service = await serving({
      extension: ({ route }) =>
        route.resource === 'subjectaccessreviews' ? { code: 201, body: { spec: {}, status } } : undefined,
    });
    expect(await service.client.allocated()).toMatchObject({
      code: 'PermissionDenied',
      detail: `user does not have permissions to perform the operation: ${detail}`,
    });
  },
);

it('[snapshot-metadata#50] given a request, then the right is that for all snapshots of the namespace, of the user as the review names it', async () => {
  await using service = await serving();
  await service.client.allocated();
  expect(service.cluster.reviews('subjectaccessreviews')).toEqual([
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: goodAccount.username,
        uid: `uid-of-${goodAccount.username}`,
        groups: goodAccount.groups,
        extra: goodAccount.extra,
        resourceAttributes: {
          verb: 'get',
          group: 'snapshot.storage.k8s.io',
          version: 'v1',
          resource: 'volumesnapshots',
          namespace: 'team',
        },
      },
    },
  ]);
});

it('[snapshot-metadata#51] given a namespace that the caller may not read, then PermissionDenied, and no snapshot is read', async () => {
  await using service = await serving();
  const answer = await service.client.allocated({ namespace: 'other' });
  expect(answer.code).toBe('PermissionDenied');
  expect(service.cluster.asked().filter((each) => each.startsWith('get volumesnapshot'))).toEqual([]);
});

it('[snapshot-metadata#52] given an invalid token and a snapshot that does not exist, then Unauthenticated', async () => {
  await using service = await serving();
  const answer = await service.client.allocated({ security_token: 'bad', snapshot_name: 'missing' });
  expect(answer.code).toBe('Unauthenticated');
});

it('[snapshot-metadata#53] given an API server that is busy once, then it is asked again within the limit of the request', async () => {
  let asked = 0;
  await using service = await serving({
    intercept: (transport) => async (request) => {
      const response = await transport(request);
      if (!request.path.endsWith('/tokenreviews') || (asked += 1) > 1) return response;
      const body = Buffer.from('{"kind":"Status","code":429,"reason":"TooManyRequests","message":"busy"}');
      const headers = { 'content-type': 'application/json', 'retry-after': '1' };
      return {
        status: 429,
        headers,
        body: (async function* () {
          yield body;
        })(),
      };
    },
  });
  const asking = service.client.allocated();
  await until(() => asked === 1);
  await until(async () => {
    await service.clock.advance(1000);
    return asked === 2;
  });
  expect((await asking).code).toBe('OK');
});

it('[snapshot-metadata#54] given many bad tokens at a low rate, then their reviews wait for it, and the rates of the other requests are free', async () => {
  await using service = await serving({ qps: 5, settings: { audience } });
  const bad = Array.from({ length: 20 }, (_, index) => service.client.allocated({ security_token: `bad-${index}` }));
  const reviewed = (): number => service.cluster.reviews('tokenreviews').length;
  await until(() => reviewed() === 10);
  for (let turn = 0; turn < 20; turn += 1) await settle();
  expect(reviewed()).toBe(10);
  await service.clock.advance(1_000);
  expect(reviewed()).toBe(15);
  await service.clock.advance(1_000);
  expect(new Set((await Promise.all(bad)).map(({ code }) => code))).toEqual(new Set(['Unauthenticated']));
  await service.clock.advance(200);
  // Had bad tokens taken from the other rates, these requests would wait for seconds.
  expect((await service.client.allocated()).code).toBe('OK');
});

it('[snapshot-metadata#54] given many bad tokens of one address, then a token that was accepted before waits in a line of its own, and another one in that of its connection', async () => {
  await using service = await serving({
    qps: 5,
    settings: { audience },
    accounts: { good: goodAccount, new: goodAccount },
  });
  expect((await service.client.allocated()).code).toBe('OK');
  const flood = Array.from({ length: 100 }, (_, index) => service.client.allocated({ security_token: `bad-${index}` }));
  const reviewed = (): readonly string[] =>
    service.cluster.reviews('tokenreviews').map((body) => (body as Asked).spec.token);
  await until(() => service.log.messages().filter((message) => message === 'Request').length === 101);
  const good = service.client.allocated();
  const first = service.connect().allocated({ security_token: 'new' });
  await until(() => service.log.messages().filter((message) => message === 'Request').length === 103);
  for (let second = 0; second < 3; second += 1) await service.clock.advance(1_000);
  expect((await good).code).toBe('OK');
  expect((await first).code).toBe('OK');
  // Ten without waiting, and five a second.
  expect(reviewed().length).toBeLessThanOrEqual(25);
  for (let second = 0; second < 20; second += 1) await service.clock.advance(1_000);
  expect(new Set((await Promise.all(flood)).map(({ code }) => code))).toEqual(new Set(['Unauthenticated']));
});

it('[snapshot-metadata#L1] given a request that gives way while its token is being reviewed, then the caller gets ResourceExhausted and no other status', async () => {
  await using service = await serving({
    intercept: (transport) => (request) =>
      request.path.includes('tokenreviews')
        ? new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)))
        : transport(request),
  });
  const stop = new AbortController();
  const flood = Array.from({ length: 127 }, (_, index) =>
    service.client.allocated({ security_token: `bad-${index}` }, { signal: stop.signal }),
  );
  const log = (): number => service.log.messages().filter((message) => message === 'Request').length;
  await until(() => log() === 127);
  const last = service.client.allocated({ security_token: 'last' }, { signal: stop.signal });
  await until(() => log() === 128);
  void service.connect().allocated({}, { signal: stop.signal });
  expect(await last).toMatchObject({
    code: 'ResourceExhausted',
    detail: 'too many requests wait for their review: at most 128 of one address',
  });
  stop.abort();
  await Promise.all(flood);
});

it('given any answer, then neither token nor secret is in the log', async () => {
  const token = 'a-token-that-is-secret';
  await using service = await serving({ accounts: { [token]: goodAccount } });
  await service.client.allocated({ security_token: token });
  await service.client.allocated({ security_token: `${token}-bad` });
  await service.client.delta({ security_token: token, namespace: 'other' });
  expect(service.log.lines.length).toBeGreaterThan(3);
  expect(JSON.stringify(service.log.lines)).not.toContain(token);
});
