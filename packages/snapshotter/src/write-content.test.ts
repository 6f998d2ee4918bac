// SPDX-License-Identifier: Apache-2.0
import { createApiClient, silentLogger } from '@csi-sidecars/runtime';
import { createFakeApiServer, FakeClock, learnedAtStop, seededRandom, silentApi } from '@csi-sidecars/runtime/testing';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import { expect, it } from 'vitest';
import { aContent } from '../testing/builders.ts';
import { snapshotKind } from './content/kind.ts';
import { clear, release, saveFailure } from './write-content.ts';

it.each([
  { what: 'the status', write: clear },
  { what: 'the finalizers', write: release },
])(
  'given an API server that is silent, when the process must stop while $what are written, then the request is cancelled',
  async ({ write }) => {
    const clock = new FakeClock();
    const { client, requests } = silentApi(clock);
    const contents = { remember: () => undefined, doubt: () => undefined };
    const writing = { client, clock, random: seededRandom(1), contents, kind: snapshotKind };
    const learned = await learnedAtStop(
      (signal) => write({ ...writing, signal }, aContent({ deleting: 'asked' })),
      clock,
    );
    expect(requests.length).toBe(1);
    expect(learned?.written).toEqual({ failure: expect.objectContaining({ failure: 'aborted' }) });
  },
);

it('given the failure stands in the status since the content was read, when it is saved, then it is not written again', async () => {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const server = createFakeApiServer({ clock, random });
  server.addTypes(...snapshotTypes);
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  const known = server.seed(aContent());
  const status = { readyToUse: false, error: { message: 'no', time: '2026-01-01T00:00:00Z' } };
  server.objects.change(volumeSnapshotContents, { name: 'content' }, (content) => ({ ...content, status }));
  const contents = { remember: () => undefined, doubt: () => undefined };
  const { signal } = new AbortController();
  const saving = saveFailure({ client, clock, random, contents, kind: snapshotKind, signal }, known, 'no');
  for (let turn = 0; turn < 4; turn += 1) await clock.advance(20);
  expect((await saving).written).toBe('done');
  expect(server.requests.map(({ verb, code }) => `${verb} ${code}`)).toEqual(['patch 409', 'get 200']);
});
