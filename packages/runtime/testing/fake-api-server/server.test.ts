// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { customResourceDefinitions } from '../../src/api/common-resources.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import { FakeClock, seededRandom } from '../index.ts';
import { commonTypes } from './common-types.ts';
import { call, watchFrames } from './request.ts';
import { createFakeApiServer, type FakeApiServer } from './index.ts';
import type { Transport } from '../../src/api/transport.ts';

function arrange(): { readonly server: FakeApiServer; readonly transport: Transport; readonly clock: FakeClock } {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1), types: commonTypes });
  return { server, transport: server.transport, clock };
}

const volumes = '/api/v1/persistentvolumes';

function aVolume(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1024Mi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'csi.example.com', volumeHandle: `handle-${name}` },
    },
  };
}

describe('writes of the fake API server', () => {
  it('given a new object, when created, then identity, defaults, canonical quantities and the initial status are set', async () => {
    const { transport } = arrange();
    const created = await call(transport, volumes, { body: aVolume('a') });
    expect(created).toMatchObject({
      status: 201,
      body: {
        metadata: { name: 'a', resourceVersion: '2', creationTimestamp: '2026-01-01T00:00:00Z' },
        spec: { capacity: { storage: '1Gi' }, persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      },
    });
    expect((await call(transport, `${volumes}/a`)).body).toEqual(created.body);
    expect(await call(transport, volumes, { body: aVolume('a') })).toMatchObject({
      status: 409,
      body: { reason: 'AlreadyExists', message: 'persistentvolumes "a" already exists' },
    });
  });

  it('given an old resourceVersion, when updated, then 409 Conflict and nothing changes', async () => {
    const { transport, server } = arrange();
    const { body } = await call(transport, volumes, { body: aVolume('a') });
    const first = body as { metadata: object };
    const labelled = { ...first, metadata: { ...first.metadata, labels: { x: '1' } } };
    expect((await call(transport, `${volumes}/a`, { method: 'PUT', body: labelled })).status).toBe(200);
    expect(await call(transport, `${volumes}/a`, { method: 'PUT', body: labelled })).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on persistentvolumes "a": the object has been modified; please apply your changes to the latest version and try again',
      },
    });
    expect(server.writes().map(({ verb, code }) => [verb, code])).toEqual([
      ['create', 201],
      ['update', 200],
      ['update', 409],
    ]);
  });

  it('given finalizers, when deleted, then the object stays until the last one is patched away', async () => {
    const { transport, server } = arrange();
    server.seed({ ...aVolume('a'), metadata: { name: 'a', finalizers: ['x.io/one', 'x.io/two'] } });
    const deleted = await call(transport, `${volumes}/a`, { method: 'DELETE' });
    expect(deleted.body).toMatchObject({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 },
    });
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    const drop = (finalizer: string) =>
      call(transport, `${volumes}/a`, {
        method: 'PATCH',
        headers,
        body: { metadata: { '$deleteFromPrimitiveList/finalizers': [finalizer] } },
      });
    expect((await drop('x.io/one')).body).toMatchObject({ metadata: { finalizers: ['x.io/two'] } });
    expect((await drop('x.io/two')).status).toBe(200);
    expect((await call(transport, `${volumes}/a`)).status).toBe(404);
  });

  it('given a status in a write to the main resource, when applied, then it is ignored, and the other way round', async () => {
    const { transport } = arrange();
    await call(transport, volumes, { body: { ...aVolume('a'), status: { phase: 'Bound' } } });
    const headers = { 'content-type': 'application/merge-patch+json' };
    const both = { spec: { storageClassName: 'fast' }, status: { phase: 'Released' } };
    const main = await call(transport, `${volumes}/a`, { method: 'PATCH', headers, body: both });
    expect(main.body).toMatchObject({ spec: { storageClassName: 'fast' }, status: { phase: 'Pending' } });
    const other = { spec: { storageClassName: 'slow' }, status: { phase: 'Released' } };
    const status = await call(transport, `${volumes}/a/status`, { method: 'PATCH', headers, body: other });
    expect(status.body).toMatchObject({ spec: { storageClassName: 'fast' }, status: { phase: 'Released' } });
  });

  it('given a patch that changes nothing, when applied, then the version stays and no watch hears of it', async () => {
    const { transport, server } = arrange();
    server.seed(aVolume('a'));
    const before = (await call(transport, `${volumes}/a`)).body;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = { metadata: { labels: null } };
    expect((await call(transport, `${volumes}/a`, { method: 'PATCH', headers, body })).body).toEqual(before);
  });
});

describe('watches of the fake API server', () => {
  it('given sendInitialEvents, when watched, then the state, its bookmark and later changes arrive in order', async () => {
    const { transport, server } = arrange();
    server.seed(aVolume('a'));
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const frames = watchFrames(transport, `${volumes}?${query}`);
    const next = async (): Promise<unknown> => (await frames.next()).value;
    expect(await next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
    expect(await next()).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'PersistentVolume',
        apiVersion: 'v1',
        metadata: { resourceVersion: '2', annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    });
    const waiting = next();
    server.seed(aVolume('b'));
    expect(await waiting).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b', resourceVersion: '3' } } });
    await frames.return(undefined);
    expect(server.openWatches()).toBe(0);
  });

  it('given a compacted history, when watched from an old version, then one ERROR frame of 410 ends the watch', async () => {
    const { transport, server, clock } = arrange();
    server.seed(aVolume('a'));
    server.seed(aVolume('b'));
    server.compact();
    const frames = await Array.fromAsync(watchFrames(transport, `${volumes}?watch=true&resourceVersion=2`));
    expect(frames).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    expect(clock.pending).toBe(0);
  });
});

describe('objects that a test changes', () => {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const aDefinition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };

  it('given a kind with generations, when its object is seeded and changed, then its generation counts the changes of what is desired', async () => {
    const { transport, server } = arrange();
    const change = (more: object): unknown =>
      server.objects.change(customResourceDefinitions, { name: 'a' }, (object) => ({ ...object, ...more })).metadata
        ?.generation;
    server.seed({ ...aDefinition, metadata: { name: 'a' }, spec: {} } as KubeObject);
    expect((await call(transport, `${crds}/a`)).body).toMatchObject({ metadata: { generation: 1 } });
    expect([change({ status: { storedVersions: ['v1'] } }), change({ spec: { scope: 'Cluster' } })]).toEqual([1, 2]);
  });
});
