// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createFakeApiServer, FakeClock, memoryFiles, recordingLogger, seededRandom } from '../../testing/index.ts';
import { namespaces, persistentVolumes } from '../api/resource.ts';
import { type Transport, TransportError } from '../api/transport.ts';
import { toObjectKey } from '../informer/key.ts';
import { openCluster } from './open-cluster.ts';

const aVolume = (name: string) => ({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: {} });

const refused: Transport = () => Promise.reject(new TransportError('refused', 'connect ECONNREFUSED'));

async function anOpenCluster({ reached = true } = {}) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  let closed = 0;
  const cluster = await openCluster({
    name: 'tool',
    clock,
    random: seededRandom(2),
    env: {},
    files: memoryFiles(),
    logger,
    loadConfig: async () => ({
      endpoint: { scheme: 'https', host: 'api', port: 443, basePath: '' },
      tls: { verify: 'server' },
      user: { kind: 'anonymous' },
      namespace: 'team',
    }),
    connect: async () => ({
      host: 'api',
      transport: reached ? server.transport : refused,
      close: async () => void (closed += 1),
    }),
  });
  return { cluster, server, clock, logger, closed: () => closed };
}

it('given an open cluster, then its client has the name of the tool, and the namespace is that of the context', async () => {
  const { cluster, server, clock } = await anOpenCluster();
  await cluster.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
  expect(server.requests.map(({ verb, userAgent }) => [verb, userAgent.split('/')[0]])).toEqual([['create', 'tool']]);
  expect(cluster.namespace).toBe('team');
  expect(clock.pending, 'what keeps the process alive').toBe(1);
  await cluster[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

it('given a kind to watch, then the informer has synced, follows the server, also after its watch broke, and ends with the cluster', async () => {
  const { cluster, server, clock, closed } = await anOpenCluster();
  server.seed(aVolume('a'));
  const opening = cluster.watch({ resource: persistentVolumes });
  await clock.advance(100);
  const informer = await opening;
  const added: (string | undefined)[] = [];
  informer.addHandler({
    add: ({ metadata }) => {
      added.push(metadata?.name);
    },
  });
  server.seed(aVolume('b'));
  await clock.advance(100);
  server.endWatches('broken');
  server.seed(aVolume('c'));
  await clock.advance(10_000);
  expect(added).toEqual(['a', 'b', 'c']);
  expect(informer.lister.get(toObjectKey(undefined, 'c'))?.metadata?.name).toBe('c');
  expect(await cluster.watch({ resource: persistentVolumes })).toBe(informer);
  expect(server.openWatches()).toBe(1);
  await cluster[Symbol.asyncDispose]();
  expect([server.openWatches(), closed(), clock.pending]).toEqual([0, 1, 0]);
});

it('given a server that never answers, when the cluster is closed, then the one who waits for the informer learns of it', async () => {
  const { cluster, clock, server } = await anOpenCluster();
  server.removeTypes(persistentVolumes);
  const opening = cluster.watch({ resource: persistentVolumes });
  const failed = expect(opening).rejects.toThrow('the cluster was closed');
  await clock.advance(1_000);
  await cluster[Symbol.asyncDispose]();
  await failed;
});

it('[runtime#253] given a kind that the server does not have, then the one who waits for the informer learns of it after five minutes, and may ask again', async () => {
  const { cluster, clock, server } = await anOpenCluster();
  server.removeTypes(persistentVolumes);
  const failed = expect(cluster.watch({ resource: persistentVolumes })).rejects.toThrow(
    'caches have not synced within 300 s: persistentvolumes',
  );
  await clock.advance(300_000);
  await failed;
  server.addTypes({ ...persistentVolumes, status: 'withMetadata' });
  const opening = cluster.watch({ resource: persistentVolumes });
  await clock.advance(60_000);
  expect((await opening).hasSynced).toBe(true);
  await cluster[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

it('given an API server that cannot be reached, then that is logged after seconds, with a hint', async () => {
  const { cluster, clock, logger } = await anOpenCluster({ reached: false });
  const opening = cluster.watch({ resource: persistentVolumes });
  await clock.advance(15_000);
  const errors = logger.lines.filter(({ kind }) => kind === 'error');
  expect(errors.map(({ message }) => message)).toEqual(['Lists and watches of the API server fail']);
  await cluster[Symbol.asyncDispose]();
  await expect(opening).rejects.toThrow('the cluster was closed');
});
