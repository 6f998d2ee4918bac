// SPDX-License-Identifier: Apache-2.0
/** Writes that meet other writers, and passes over many entries. */
import {
  createApiClient,
  csiStorageCapacities,
  type PersistentVolume,
  persistentVolumes,
  silentLogger,
} from '@csi-sidecars/runtime';
import { createFakeApiServer, FakeClock, type FakeApiServer, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aVolume, driverName } from '../../testing/builders.ts';
import { aCapacity } from '../../testing/leftovers-fixture.ts';
import { labels } from '../capacity/object.ts';
import { volumeFinalizer } from '../names.ts';
import { listCluster } from './list.ts';
import { leftoversOf } from './observe.ts';
import { type RemovingClient, removeLeftovers, type Result } from './remove.ts';
import type { LeftoverOptions } from './state.ts';

const options: LeftoverOptions = { driver: driverName, volumeNamePrefix: 'pvc', volumeNameUuidLength: undefined };
const { signal } = new AbortController();

interface Cluster {
  readonly server: FakeApiServer;
  readonly client: RemovingClient;
}

function aCluster(volumes: readonly PersistentVolume[]): Cluster {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  for (const volume of volumes) server.seed(volume);
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { qps: -1, burst: 1, userAgent: 'test' },
  );
  return { server, client };
}

const kept = (name: string): PersistentVolume => aVolume({ name, policy: 'Retain' });

function touch(server: FakeApiServer, name: string, change: Partial<NonNullable<PersistentVolume['spec']>> = {}): void {
  server.objects.change(persistentVolumes, { name }, (volume) => ({ ...volume, spec: { ...volume.spec, ...change } }));
}

/** Another writer is faster: its change is made just before each write. */
function raced({ client }: Cluster, change: () => void): RemovingClient {
  return {
    list: client.list.bind(client),
    delete: async (resource, ref, deleteOptions) => {
      change();
      return await client.delete(resource, ref, deleteOptions);
    },
    patch: async (target, patch, patchOptions) => {
      change();
      return await client.patch(target, patch, patchOptions);
    },
  };
}

async function removeAll(client: RemovingClient): Promise<readonly string[]> {
  const agreed = leftoversOf(await listCluster(client, signal), options);
  const reported: string[] = [];
  const report = ({ leftover, result }: Result): void =>
    void reported.push(`${leftover.subject.object.metadata?.name} ${result}`);
  await removeLeftovers(client, { agreed, options, report }, signal);
  return reported;
}

it('given another writer is faster, then the write is refused, and what it wrote is decided again', async () => {
  const cluster = aCluster([kept('a')]);
  const client = raced(cluster, () => touch(cluster.server, 'a', { persistentVolumeReclaimPolicy: 'Delete' }));
  expect(await removeAll(client)).toEqual(['a kept']);
  expect(
    cluster.server.objects.get<PersistentVolume>(persistentVolumes, { name: 'a' })?.metadata?.finalizers,
  ).toContain(volumeFinalizer);
});

it('given a writer that is faster once, then the next pass removes it', async () => {
  const cluster = aCluster([kept('a')]);
  let times = 0;
  const client = raced(cluster, () => {
    times += 1;
    if (times === 1) touch(cluster.server, 'a');
  });
  expect(await removeAll(client)).toEqual(['a removed']);
  expect(cluster.server.writes().map(({ code }) => code)).toEqual([409, 200]);
});

it('given a writer that is always faster, then the entry fails and the command ends', async () => {
  const cluster = aCluster([kept('a')]);
  expect(await removeAll(raced(cluster, () => touch(cluster.server, 'a')))).toEqual(['a failed']);
  expect(cluster.server.writes()).toHaveLength(4);
});

it('given a capacity that another program takes over just before it is deleted, then it is kept', async () => {
  const cluster = aCluster([]);
  cluster.server.seed(aCapacity());
  const ref = { namespace: 'storage', name: 'csisc-1' };
  const client = raced(cluster, () =>
    cluster.server.objects.change(csiStorageCapacities, ref, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, labels: { ...metadata?.labels, [labels.managedBy]: 'another' } },
    })),
  );
  expect(await removeAll(client)).toEqual(['csisc-1 kept']);
  expect(cluster.server.objects.get(csiStorageCapacities, ref)).toBeDefined();
  expect(cluster.server.writes().map(({ verb, code }) => [verb, code])).toEqual([['delete', 409]]);
});

it('given another object of the name, then it is not touched', async () => {
  const cluster = aCluster([kept('a')]);
  const client = raced(cluster, () => {
    cluster.server.objects.remove(persistentVolumes, { name: 'a' });
    const { metadata, ...rest } = kept('a');
    cluster.server.seed({ ...rest, metadata: { ...metadata, uid: 'another' } });
  });
  expect(await removeAll(client)).toEqual(['a gone']);
});

it('given more entries than a pass removes, then the cluster is read again for each pass, and all are removed', async () => {
  const cluster = aCluster(Array.from({ length: 250 }, (_, index) => kept(`v-${index}`)));
  expect(await removeAll(cluster.client)).toHaveLength(250);
  const lists = cluster.server.requests.filter(
    ({ verb, resource }) => verb === 'list' && resource === 'persistentvolumes',
  );
  expect(lists).toHaveLength(4);
  expect(cluster.server.writes()).toHaveLength(250);
});

it('given a stop, then no further write is made', async () => {
  const cluster = aCluster([kept('a'), kept('b')]);
  const stop = new AbortController();
  const agreed = leftoversOf(await listCluster(cluster.client, signal), options);
  const removal = removeLeftovers(
    cluster.client,
    { agreed, options, report: () => stop.abort(new Error('stopped')) },
    stop.signal,
  );
  await expect(removal).rejects.toThrow('stopped');
  expect(cluster.server.writes()).toHaveLength(1);
});

it('given a page that expires, then the list begins again; given it expires each time, then that is reported', async () => {
  const cluster = aCluster(Array.from({ length: 700 }, (_, index) => kept(`v-${index}`)));
  const expiring = (times: number): RemovingClient => {
    let left = times;
    return {
      ...raced(cluster, () => undefined),
      list: async (resource, query, listOptions) => {
        if (query?.continue !== undefined && left > 0) {
          left -= 1;
          cluster.server.objects.change(persistentVolumes, { name: 'v-0' }, (volume) => ({ ...volume }));
          cluster.server.compact();
        }
        return await cluster.client.list(resource, query, listOptions);
      },
    };
  };
  expect((await listCluster(expiring(2), signal)).volumes).toHaveLength(700);
  await expect(listCluster(expiring(3), signal)).rejects.toThrow('cannot list persistentvolumes: ');
});
