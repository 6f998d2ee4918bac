// SPDX-License-Identifier: Apache-2.0
/** What each verb sends and returns. Retries and deadlines: send.test.ts. */
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  scriptedTransport,
  seededRandom,
  type ScriptedStep,
} from '../../testing/index.ts';
import type { ApiClient } from './client.ts';
import { createApiClient } from './create-client.ts';
import { isConflict, isNotFound } from './error-predicates.ts';
import { leases, persistentVolumeClaims, persistentVolumes, pods } from './resource.ts';
import type { Transport } from './transport.ts';

const clientOver = (transport: Transport): ApiClient =>
  createApiClient(
    { transport, clock: new FakeClock(), logger: recordingLogger() },
    { userAgent: 'csi-test/v1', qps: -1, burst: 0, maxObjectBytes: 5000 },
  );
const scripted = (...steps: [ScriptedStep, ...ScriptedStep[]]) => {
  const script = scriptedTransport(...steps);
  return { client: clientOver(script.transport), ...script };
};
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  );

describe('verbs against an API server', () => {
  const setUp = () => {
    const server = createFakeApiServer({ clock: new FakeClock(), random: seededRandom(1) });
    return { server, client: clientOver(server.transport) };
  };
  const claim = {
    metadata: { name: 'a', namespace: 'ns' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };

  it('given a life of an object, then every verb does its part and names itself', async () => {
    const { server, client } = setUp();
    const created = await client.create(persistentVolumeClaims, claim);
    expect([created.kind, created.apiVersion]).toEqual(['PersistentVolumeClaim', 'v1']);
    const ref = { namespace: 'ns', name: 'a' };
    const patched = await client.patch(
      { resource: persistentVolumeClaims, ref },
      { type: 'merge', body: { metadata: { finalizers: ['x/y'] } } },
    );
    expect(patched.metadata?.finalizers).toContain('x/y');
    const status = await client.patch(
      { resource: persistentVolumeClaims, ref },
      { type: 'merge', body: { status: { phase: 'Bound' } } },
      { subresource: 'status' },
    );
    expect(status.status?.phase).toBe('Bound');
    expect(await failure(client.update(persistentVolumeClaims, created))).toSatisfy(isConflict);
    const held = await client.delete(persistentVolumeClaims, ref);
    expect(held?.metadata?.deletionTimestamp).toBeDefined();
    await client.patch(
      { resource: persistentVolumeClaims, ref },
      { type: 'json', operations: [{ op: 'replace', path: '/metadata/finalizers', value: [] }] },
    );
    expect(await failure(client.get(persistentVolumeClaims, ref))).toSatisfy(isNotFound);
    const path = '/api/v1/namespaces/ns/persistentvolumeclaims';
    expect(server.requests.map(({ verb, path, userAgent }) => [verb, path, userAgent])).toEqual([
      ['create', path, 'csi-test/v1'],
      ['patch', `${path}/a`, 'csi-test/v1'],
      ['patch', `${path}/a/status`, 'csi-test/v1'],
      ['update', `${path}/a`, 'csi-test/v1'],
      ['delete', `${path}/a`, 'csi-test/v1'],
      ['patch', `${path}/a`, 'csi-test/v1'],
      ['get', `${path}/a`, 'csi-test/v1'],
    ]);
  });

  it('given a list, then its items carry apiVersion and kind, and pages follow their token', async () => {
    const { client } = setUp();
    for (const name of ['a', 'b', 'c']) {
      await client.create(persistentVolumeClaims, { ...claim, metadata: { name, namespace: 'ns' } });
    }
    const first = await client.list(persistentVolumeClaims, { namespace: 'ns', limit: 2 });
    const second = await client.list(persistentVolumeClaims, {
      namespace: 'ns',
      limit: 2,
      ...(first.continue !== undefined && { continue: first.continue }),
    });
    const items = [...first.items, ...second.items];
    expect(items.map(({ kind, apiVersion, metadata }) => [kind, apiVersion, metadata?.name])).toEqual([
      ['PersistentVolumeClaim', 'v1', 'a'],
      ['PersistentVolumeClaim', 'v1', 'b'],
      ['PersistentVolumeClaim', 'v1', 'c'],
    ]);
    expect([first.remainingItemCount, second.continue]).toEqual([1, undefined]);
  });

  it('given a delete without finalizers, then the object is gone', async () => {
    const { client } = setUp();
    await client.create(leases, { metadata: { name: 'l', namespace: 'ns' } });
    expect(await client.delete(leases, { namespace: 'ns', name: 'l' })).toBeUndefined();
  });
});

describe('what is sent', () => {
  it('given each kind of patch, then the request has its content type and its query', async () => {
    const { client, requests } = scripted({ body: { metadata: {} } });
    const target = { resource: persistentVolumes, ref: { name: 'a b' } };
    await client.patch(target, { type: 'json', operations: [] });
    await client.patch(target, { type: 'merge', body: {} }, { dryRun: 'All' });
    await client.patch(target, { type: 'strategic', body: {} }, { subresource: 'status' });
    await client.patch(target, { type: 'apply', body: {}, fieldManager: 'me & you', force: true });
    await client.patch(target, { type: 'apply', body: {}, fieldManager: 'me' });
    expect(requests.map(({ path, headers, body }) => [headers['content-type'], path, body])).toEqual([
      ['application/json-patch+json', '/api/v1/persistentvolumes/a%20b', '[]'],
      ['application/merge-patch+json', '/api/v1/persistentvolumes/a%20b?dryRun=All', '{}'],
      ['application/strategic-merge-patch+json', '/api/v1/persistentvolumes/a%20b/status', '{}'],
      ['application/apply-patch+yaml', '/api/v1/persistentvolumes/a%20b?fieldManager=me%20%26%20you&force=true', '{}'],
      ['application/apply-patch+yaml', '/api/v1/persistentvolumes/a%20b?fieldManager=me', '{}'],
    ]);
  });

  it('given other writes and reads, then their requests name what is wanted', async () => {
    const { client, requests } = scripted({ body: { metadata: {} } });
    await client.create(persistentVolumes, {}, { dryRun: 'All' });
    await client.update(persistentVolumes, { metadata: { name: 'a', resourceVersion: '1' } }, { dryRun: 'All' });
    await client.create(persistentVolumes, {}, { fieldValidation: 'Ignore' });
    await client.raw('/readyz');
    expect(requests.map(({ method, path, headers }) => [method, path, headers['content-type']])).toEqual([
      ['POST', '/api/v1/persistentvolumes?dryRun=All', 'application/json'],
      ['PUT', '/api/v1/persistentvolumes/a?dryRun=All', 'application/json'],
      ['POST', '/api/v1/persistentvolumes?fieldValidation=Ignore', 'application/json'],
      ['GET', '/readyz', undefined],
    ]);
    expect(requests.map(({ headers }) => headers['user-agent'])).toEqual(Array(4).fill('csi-test/v1'));
  });

  it('given a caller that has cancelled, then every verb fails, and nothing is sent', async () => {
    const { client, requests } = scripted({});
    const call = { signal: AbortSignal.abort('stop') };
    const ref = { name: 'a' };
    const object = { metadata: { ...ref, resourceVersion: '1' } };
    const calls = [
      client.get(persistentVolumes, ref, call),
      client.list(persistentVolumes, {}, call),
      client.create(persistentVolumes, object, call),
      client.update(persistentVolumes, object, call),
      client.patch({ resource: persistentVolumes, ref }, { type: 'merge', body: {} }, call),
      client.delete(persistentVolumes, ref, call),
      client.raw('/x', call),
    ];
    expect(await Promise.all(calls.map(failure))).toMatchObject(
      calls.map(() => ({ failure: 'aborted', cause: 'stop' })),
    );
    expect(requests).toEqual([]);
  });

  it('given a delete with conditions, then they are in its body; without conditions it has no body', async () => {
    const { client, requests } = scripted({ body: { kind: 'Status', status: 'Success' } });
    await client.delete(persistentVolumes, { name: 'a' });
    const each = [{ preconditions: { uid: 'u' } }, { propagationPolicy: 'Orphan' }, { gracePeriodSeconds: 0 }] as const;
    for (const options of each) await client.delete(persistentVolumes, { name: 'a' }, options);
    expect(requests.map(({ body }) => body)).toEqual([
      undefined,
      ...each.map((options) => JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', ...options })),
    ]);
  });

  it('given any request, then no compression is asked for', async () => {
    const { client, requests } = scripted({ body: { items: [] } });
    await client.list(pods, { fieldSelector: 'spec.nodeName=n', labelSelector: 'a=b,c' });
    const opened = await client
      .stream({ purpose: 'watch', path: '/api/v1/pods?watch=true' }, AbortSignal.abort('x'))
      .catch(() => 'aborted');
    expect(opened).toBe('aborted');
    expect(requests).toEqual([
      {
        method: 'GET',
        path: '/api/v1/pods?labelSelector=a%3Db%2Cc&fieldSelector=spec.nodeName%3Dn',
        headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'csi-test/v1' },
        body: undefined,
      },
    ]);
  });

  it('given an integer beyond 2^53, then it comes back as it was', async () => {
    const big = '{"metadata":{"name":"a","resourceVersion":"1"},"status":{"restoreSize":9223372036854775807}}';
    const { client, requests } = scripted({ body: big });
    const read = await client.get(persistentVolumes, { name: 'a' });
    expect(read).toMatchObject({ status: { restoreSize: 9223372036854775807n } });
    await client.update(persistentVolumes, read);
    expect(requests[1]?.body).toContain('"restoreSize":9223372036854775807}');
  });

  it('given a call that could hit the wrong object, then nothing is sent', async () => {
    const { client, requests } = scripted({});
    const calls = [
      client.delete(persistentVolumes, { name: '' }),
      client.get(persistentVolumeClaims, { name: 'a' }),
      client.create(persistentVolumeClaims, { metadata: { name: 'a' } }),
      client.update(persistentVolumes, { metadata: { name: 'a' } }),
      client.update(persistentVolumes, {}),
      client.update(persistentVolumes, { metadata: { resourceVersion: '1' } }),
      ...['..', 'a/status', 'a%2Fstatus'].map((name) => client.get(persistentVolumes, { name })),
    ];
    const failures = await Promise.all(calls.map(failure));
    expect(failures.map(isNotFound)).toEqual([false, false, false, false, false, false, true, true, true]);
    expect(failures.map(String)).toEqual([
      'Error: the name of a PersistentVolume must not be empty',
      'Error: a PersistentVolumeClaim needs a namespace',
      'Error: a PersistentVolumeClaim needs a namespace',
      'Error: an update of a PersistentVolume needs the resourceVersion that it was computed from',
      'Error: an update of a PersistentVolume needs the resourceVersion that it was computed from',
      'Error: the name of a PersistentVolume must not be empty',
      `ApiError: invalid resource name "..": [may not be '..']`,
      `ApiError: invalid resource name "a/status": [may not contain '/']`,
      `ApiError: invalid resource name "a%2Fstatus": [may not contain '%']`,
    ]);
    expect(requests).toEqual([]);
  });
});

describe('what is answered', () => {
  const getFailure = async (step: ScriptedStep) => {
    const { client, openBodies } = scripted(step);
    const error = await failure(client.get(persistentVolumes, { name: 'a' }));
    return { error, open: openBodies() };
  };

  it('[runtime#28] given 200 with a page of a captive portal, then the error names status and content type', async () => {
    const { error, open } = await getFailure({ headers: { 'content-type': 'text/html' }, body: '<html>' });
    expect(error).toMatchObject({
      message: 'the server answered GET /api/v1/persistentvolumes/a with an unexpected media type: HTTP 200, text/html',
      isStatus: false,
      body: '<html>',
    });
    expect(open).toBe(0);
  });

  it('[runtime#29] given 503 with a page of 1 MB, then 2048 bytes of it are kept and the rest is not read', async () => {
    const chunks = Array.from({ length: 1024 }, () => Buffer.alloc(1024, 'x'));
    const { error, open } = await getFailure({ status: 503, headers: { 'content-type': 'text/html' }, body: chunks });
    expect(error).toMatchObject({ status: 503, reason: '', isStatus: false, body: 'x'.repeat(2048) });
    expect(open).toBe(0);
  });

  it('given a Status, then the error has its message, reason and details', async () => {
    const details = { name: 'a', kind: 'persistentvolumes', causes: [{ reason: 'x', field: 'y' }] };
    const { error } = await getFailure({
      status: 422,
      body: { kind: 'Status', status: 'Failure', message: 'is invalid', reason: 'Invalid', details, code: 422 },
    });
    expect(error).toMatchObject({ message: 'is invalid', status: 422, reason: 'Invalid', details, isStatus: true });
  });

  it('given a Status of failure in an answer with code 200, then it is an error', async () => {
    const { error } = await getFailure({ body: { kind: 'Status', status: 'Failure', message: 'no', code: 403 } });
    expect(error).toMatchObject({ name: 'ApiError', status: 403, message: 'no' });
    const bare = await getFailure({ body: { kind: 'Status', status: 'Failure' } });
    expect(bare.error).toMatchObject({ status: 500, message: 'the server answered 500 without a message' });
  });

  it.each([
    ['is no JSON', { body: '{' }, '{', 'application/json'],
    ['is no Status', { body: { kind: 'Other' } }, '{"kind":"Other"}', 'application/json'],
    ['has no media type', { headers: { 'content-type': undefined }, body: 'x' }, 'x', 'no content type'],
  ])('given an error whose text %s, then the text is kept beside it', async (...[, step, body, type]) => {
    const { error } = await getFailure({ status: 503, ...step });
    const message = `the server answered GET /api/v1/persistentvolumes/a with an error: HTTP 503, ${type}`;
    expect(error).toMatchObject({ status: 503, isStatus: false, body, message });
  });

  it.each([
    ['an empty body', ''],
    ['a null', null],
    ['a Status where an object is expected', { kind: 'Status', status: 'Success' }],
  ])('given %s, then it is an error', async (_what, body) => {
    const { error } = await getFailure({ body });
    const message = 'the server answered without the PersistentVolume';
    expect(error).toMatchObject({ name: 'ApiError', message, status: 200, body: '' });
  });

  it('given a body that is not JSON, then it is an error that does not quote it in its message', async () => {
    const { error } = await getFailure({ body: '{"secret' });
    expect(String(error)).toBe(
      'ApiError: the server answered GET /api/v1/persistentvolumes/a with a body that is not JSON: HTTP 200, application/json',
    );
  });

  it('given a delete with an empty answer, then the object is gone', async () => {
    const { client } = scripted({ body: '' });
    expect(await client.delete(persistentVolumes, { name: 'a' })).toBeUndefined();
  });

  it('given no bounds, then an object may have 16 MiB and a list 256 MiB', async () => {
    const body = Buffer.alloc(256 * 1024 * 1024 + 1);
    const { transport } = scriptedTransport({ body });
    const client = createApiClient(
      { transport, clock: new FakeClock(), logger: recordingLogger() },
      { userAgent: 'test', qps: -1, burst: 0 },
    );
    const calls = [client.get(persistentVolumes, { name: 'a' }), client.raw('/x'), client.list(persistentVolumes)];
    const messages = (await Promise.all(calls.map(failure))).map(
      (error) => /of more than \d+ bytes/.exec(String(error))?.[0],
    );
    expect(messages).toEqual([16, 16, 256].map((mebibytes) => `of more than ${mebibytes * 1024 * 1024} bytes`));
  });

  it('given a body beyond the bound, then it is refused', async () => {
    const { error, open } = await getFailure({ body: [Buffer.alloc(4000), Buffer.alloc(4000), Buffer.alloc(4000)] });
    expect(String(error)).toContain('a body of more than 5000 bytes');
    expect(open).toBe(0);
  });

  it.each([
    [{ kind: 'Table', rows: [] }, 'Table'],
    [{}, 'something else'],
  ])('given %j instead of a list, then it is an error', async (body, what) => {
    const { client } = scripted({ body });
    expect(String(await failure(client.list(pods)))).toBe(`ApiError: the server answered a list of pods with ${what}`);
  });

  it('given items: null, then the list is empty', async () => {
    const { client } = scripted({ body: { kind: 'PodList', metadata: { resourceVersion: '7' }, items: null } });
    expect(await client.list(pods)).toEqual({ items: [], resourceVersion: '7' });
  });

  it('given plain text, then it is the text of any endpoint, but no object', async () => {
    const { client } = scripted({ headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'ok' });
    expect(await client.raw('/readyz')).toBe('ok');
    expect(String(await failure(client.get(persistentVolumes, { name: 'a' })))).toContain(
      'with an unexpected media type: HTTP 200, text/plain; charset=utf-8',
    );
  });

  it.each([
    ['gone without finalizers', { metadata: { name: 'a', deletionTimestamp: 't' } }, 'gone'],
    ['the object as it was', { metadata: { name: 'a' } }, 'gone'],
    ['held by a finalizer', { metadata: { deletionTimestamp: 't', finalizers: ['f'] } }, 'held'],
    ['granted time', { metadata: { deletionTimestamp: 't', deletionGracePeriodSeconds: 30 } }, 'held'],
  ])('given a delete answered by an object %s, then it is %s', async (_what, body, expected) => {
    const { client } = scripted({ body });
    const left = await client.delete(pods, { namespace: 'ns', name: 'a' });
    expect(left === undefined ? 'gone' : 'held').toBe(expected);
  });
});
