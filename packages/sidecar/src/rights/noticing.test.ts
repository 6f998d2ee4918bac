// SPDX-License-Identifier: Apache-2.0
import { type ApiClient, ApiError, persistentVolumes, type Resource } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { markingMissing, noticingRefusals } from './noticing.ts';

const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });

/** A client that fails in each of its methods. */
function failing(failure: Error): ApiClient {
  const fail = (): Promise<never> => Promise.reject(failure);
  return { get: fail, list: fail, create: fail, update: fail, patch: fail, delete: fail, raw: fail, stream: fail };
}

const ref = { name: 'x' };
const calls: Readonly<Record<string, (client: ApiClient) => Promise<unknown>>> = {
  get: (client) => client.get(persistentVolumes, ref),
  list: (client) => client.list(persistentVolumes),
  create: (client) => client.create(persistentVolumes, {}),
  update: (client) => client.update(persistentVolumes, {}),
  patch: (client) => client.patch({ resource: persistentVolumes, ref }, { type: 'merge', body: {} }),
  delete: (client) => client.delete(persistentVolumes, ref),
  raw: (client) => client.raw('/version'),
  stream: (client) => client.stream({ purpose: 'watch', path: '/x' }, new AbortController().signal),
};

it.each(Object.entries(calls))('given a refusal of %s, then it is noticed, and thrown as it is', async (_, call) => {
  let noticed = 0;
  const client = noticingRefusals(failing(forbidden), () => (noticed += 1));
  await expect(call(client)).rejects.toBe(forbidden);
  expect(noticed).toBe(1);
});

it('given another failure, or the refusal of a review, then nothing is noticed', async () => {
  let noticed = 0;
  const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'no' });
  await expect(calls['get']!(noticingRefusals(failing(conflict), () => (noticed += 1)))).rejects.toBe(conflict);
  const reviews: Resource = { ...persistentVolumes, group: 'authorization.k8s.io', plural: 'selfsubjectrulesreviews' };
  const client = noticingRefusals(failing(forbidden), () => (noticed += 1));
  await expect(client.create(reviews, {})).rejects.toBe(forbidden);
  expect(noticed).toBe(0);
});

it('given refusals that come from a missing right, then one line in ten minutes for each resource says so, and others stay', () => {
  const clock = new FakeClock();
  const log = recordingLogger();
  const resources = new Map<unknown, string>([
    ['a', 'volumes'],
    ['b', 'claims'],
  ]);
  const marked = markingMissing(log, { missingFor: (error) => resources.get(error) }, clock);
  const derived = marked.with({ loop: 'l' });
  for (const error of ['a', 'a', 'b', 'other', 'other']) derived.error(error, 'Failed', { key: 'k' });
  marked.error('a', 'Failed');
  clock.suspend(600_000);
  marked.error('a', 'Failed');
  const own = { loop: 'l', key: 'k' };
  expect(log.lines.map(({ facts }) => facts)).toEqual([
    { ...own, right: 'missing' },
    { ...own, right: 'missing' },
    own,
    own,
    { right: 'missing' },
  ]);
  marked.info(2, 'info');
  marked.warn('warn');
  expect([log.messages().slice(-2), marked.enabled(3)]).toEqual([['info', 'warn'], true]);
});
