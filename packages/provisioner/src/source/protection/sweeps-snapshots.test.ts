// SPDX-License-Identifier: Apache-2.0
import { type ApiClient, createApiClient } from '@csi-sidecars/runtime';
import {
  type AccessRule,
  createFakeApiServer,
  type FakeApiServer,
  FakeClock,
  recordingLogger,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import { expect, it } from 'vitest';
import { aDriver } from '../../../testing/builders.ts';
import { clusterRules } from '../../rbac.ts';
import { type Sweep, sweepsSnapshots, type SweepOptions } from './sweeps-snapshots.ts';

const snapshots = aDriver({ controller: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'] });
const { signal } = new AbortController();
const disabled = 'SnapshotFinalizerProtection: disabled, ';

interface Asked {
  readonly sweeps: Sweep;
  readonly said: readonly string[];
  readonly requests: readonly string[];
}

async function ask(
  options: Partial<SweepOptions>,
  { types = snapshotTypes, verbs = ['get', 'list', 'watch', 'update'], fails = 'never' } = {},
): Promise<Asked> {
  const clock = new FakeClock();
  const rules = [...clusterRules.filter(({ resources }) => !resources.includes('volumesnapshots')), rule(verbs)];
  const server: FakeApiServer = createFakeApiServer({
    clock,
    random: seededRandom(1),
    types,
    authenticate: () => ({ user: 'system:serviceaccount:csi:provisioner', rules }),
  });
  const log = recordingLogger();
  const client = createApiClient(
    { transport: server.transport, clock, logger: log },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const raw: ApiClient['raw'] =
    fails === 'discovery' ? () => Promise.reject(new Error('no connection')) : (...args) => client.raw(...args);
  const list: ApiClient['list'] =
    fails === 'list' ? () => Promise.reject(new Error('no connection')) : (...args) => client.list(...args);
  const sweeps = await sweepsSnapshots(
    { client: { raw, list }, log, signal },
    { driver: snapshots, intervalMs: 300_000, ...options },
  );
  return { sweeps, said: log.messages(), requests: server.requests.map(({ path }) => path) };
}

function rule(verbs: readonly string[]): AccessRule {
  return { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshots'], verbs };
}

it('given kinds, permission and a driver with snapshots, then snapshots are swept, and nothing is logged', async () => {
  expect(await ask({})).toMatchObject({ sweeps: 'on', said: [] });
});

it('[provisioner#213] given the interval 0 or a driver without snapshots, then nothing is swept, asked or logged', async () => {
  const nothing = { sweeps: 'off', said: [], requests: [] };
  expect([await ask({ intervalMs: 0 }), await ask({ driver: aDriver() })]).toEqual([nothing, nothing]);
});

it('[provisioner#213] given the cluster has no snapshot kinds, then nothing is swept, which is logged once', async () => {
  const { sweeps, said } = await ask({}, { types: [] });
  expect([sweeps, said]).toEqual(['no snapshots', [`${disabled}the cluster does not serve VolumeSnapshot`]]);
});

it('[provisioner#213] given discovery fails, then snapshots are swept, and nothing is logged', async () => {
  expect(await ask({}, { fails: 'discovery' })).toMatchObject({ sweeps: 'on', said: [] });
});

it('[provisioner#214] given snapshots may not be listed, then nothing is swept, which is logged once; any other failure does not matter', async () => {
  const { sweeps, said } = await ask({}, { verbs: ['get', 'update'] });
  expect([sweeps, said]).toEqual([
    'forbidden',
    [expect.stringContaining(`${disabled}missing list permission on volumesnapshots: `)],
  ]);
  expect(await ask({}, { fails: 'list' })).toMatchObject({ sweeps: 'on', said: [] });
});
