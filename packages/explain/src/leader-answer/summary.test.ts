// SPDX-License-Identifier: Apache-2.0
/** What a leader says of itself: its driver, its settings, its rights and its queues. */
import { expect, it } from 'vitest';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { anAnswer } from '../../testing/leader-answer.ts';
import type { Reader } from '../cluster/reader.ts';
import { askController } from './ask.ts';
import type { Endpoint } from './endpoint.ts';

const facts = {
  queues: [{ name: 'csi-attacher-va', depth: 41, running: 10, oldestSeconds: 3.5, workers: 10 }],
  driver: { name: 'a.example.com', connected: true, capabilities: ['PUBLISH_UNPUBLISH_VOLUME'] },
  settings: { timeout: '1m0s' },
  rights: [{ verb: 'patch', group: 'storage.k8s.io', resource: 'volumeattachments/status', namespace: null }],
};

/** No reading is made for an endpoint that is known. */
const reader = {} as Reader;

async function asked(controller: object) {
  const paths: string[] = [];
  const notes: string[] = [];
  const endpoint: Endpoint = {
    name: '--via=x',
    metricsPath: '/metrics',
    get: async (path) => {
      paths.push(path);
      return { status: 200, contentType: 'application/json', body: JSON.stringify(anAnswer([], controller)) };
    },
  };
  const found = await askController(
    {
      flag: '--via',
      endpoints: async () => [endpoint],
      clock: new FakeClock(),
      signal: new AbortController().signal,
      note: (line) => notes.push(line),
    },
    { reader, program: 'csi-attacher', driver: 'a.example.com', namespace: '' },
  );
  return { found, paths, notes };
}

it('given a summary, then driver, settings, rights and queues are those of the leader', async () => {
  const { found, paths } = await asked(facts);
  expect(paths).toEqual(['/debug/explain']);
  expect(found).toMatchObject({
    ...facts,
    driver: { ...facts.driver, capabilities: new Set(facts.driver.capabilities) },
    settings: new Map(Object.entries(facts.settings)),
  });
});

it('given a version that does not say them, then they are null, and nothing is refused', async () => {
  const { found, notes } = await asked({});
  expect([found?.driver, found?.settings, found?.rights, notes]).toEqual([null, null, null, []]);
});

it.each([
  ['a queue without a depth', { queues: [{ ...facts.queues[0], depth: 'many' }] }],
  ['a negative age', { queues: [{ ...facts.queues[0], oldestSeconds: -1 }] }],
  ['a capability that is no word', { driver: { ...facts.driver, capabilities: ['a b'] } }],
  ['101 settings', { settings: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`a${at}`, ''])) }],
  ['a right that is none', { rights: ['patch'] }],
])('[explain#80] given %s, then the answer is refused', async (_what, controller) => {
  const { found, notes } = await asked({ ...facts, ...controller });
  expect([found, notes]).toEqual([undefined, ['--via=x: the answer is not that of csi-sidecars']]);
});
