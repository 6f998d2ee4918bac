// SPDX-License-Identifier: Apache-2.0
/** The informer with the real client and a correct server. Tests with incorrect answers use a scripted server. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  ScriptedBody,
  seededRandom,
  settle,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import { persistentVolumes } from '../api/resource.ts';
import type { PersistentVolume } from '../api/objects.ts';
import type { Transport } from '../api/transport.ts';
import { createInformer } from './create-informer.ts';
import type { Handler } from './informer.ts';

const volume = (name: string): PersistentVolume => ({
  metadata: { name },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: name } },
});

function setUp(transport: Transport, clock = new FakeClock()) {
  const logger = recordingLogger();
  const client = createApiClient({ transport, clock, logger }, { userAgent: 'test', qps: -1, burst: 0 });
  const informer = createInformer(
    { client, clock, random: seededRandom(1), logger, objects: 'frozen' },
    { resource: persistentVolumes },
  );
  const calls: string[] = [];
  const handler: Handler<PersistentVolume> = {
    add: ({ metadata }, { isInInitialList }) =>
      calls.push(`add ${metadata?.name} ${isInInitialList ? 'initial' : 'later'}`),
    update: (_previous, { metadata }) => calls.push(`update ${metadata?.name}`),
    delete: ({ key, observed }) => calls.push(`delete ${key} ${observed ? 'observed' : 'inferred'}`),
  };
  informer.addHandler(handler);
  return { clock, client, informer, calls };
}

describe('informer over the API client', () => {
  it.each(['supported', 'unsupported'] as const)(
    'given a server where streaming lists are %s, then content, changes and deletions arrive, and nothing is left',
    async (watchList) => {
      const clock = new FakeClock();
      const server = createFakeApiServer({ clock, random: seededRandom(2), watchList });
      const { client, informer, calls } = setUp(server.transport, clock);
      await client.create(persistentVolumes, volume('a'));
      const stop = new AbortController();
      const running = informer.run(stop.signal);
      expect(await informer.whenSynced(stop.signal)).toBe(true);
      await client.create(persistentVolumes, volume('b'));
      await client.patch(
        { resource: persistentVolumes, ref: { name: 'b' } },
        { type: 'merge', body: { metadata: { labels: { x: 'y' } } } },
      );
      await client.delete(persistentVolumes, { name: 'a' });
      await settle();
      expect(calls).toEqual(['add a initial', 'add b later', 'update b', 'delete a observed']);
      expect(informer.lister.list().map((object) => object.metadata?.name)).toEqual(['b']);
      stop.abort();
      await running;
      expect(clock.pending).toBe(0);
    },
  );

  it('[runtime#56] given a watch in gzip members although none was asked for, then each is decoded without the next', async () => {
    const body = new ScriptedBody();
    const asked: string[] = [];
    const { informer, calls } = setUp(async ({ headers, signal }) => {
      asked.push(headers['accept-encoding'] ?? '');
      body.openedWith(signal);
      return { status: 200, headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body };
    });
    const member = (type: string, metadata: object): Uint8Array =>
      gzipSync(`${JSON.stringify({ type, object: { kind: 'PersistentVolume', apiVersion: 'v1', metadata } })}\n`);
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    body.write(member('ADDED', { name: 'a', resourceVersion: '1' }));
    body.write(member('BOOKMARK', { resourceVersion: '2', annotations: { 'k8s.io/initial-events-end': 'true' } }));
    expect(await informer.whenSynced(stop.signal)).toBe(true);
    const updated = new Promise<void>((resolve) => informer.addHandler({ update: () => resolve() }));
    body.write(member('MODIFIED', { name: 'a', resourceVersion: '3' }));
    // Decompression takes its time in another thread.
    await updated;
    expect(calls).toEqual(['add a initial', 'update a']);
    expect(asked).toEqual(['identity']);
    stop.abort();
    await running;
  });
});
