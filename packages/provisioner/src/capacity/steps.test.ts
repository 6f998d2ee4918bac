// SPDX-License-Identifier: Apache-2.0
/** Each step of the capacity loop alone: its requests, the signal that may abort them, the log line, and what it returns. */
import { ApiError, type CSIStorageCapacity } from '@csi-sidecars/runtime';
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aCapacity, namespace } from '../../testing/capacity-fixture.ts';
import * as step from './steps.ts';

const { signal } = new AbortController();
const object = aCapacity();
const stored = aCapacity({ name: 'stored', capacity: '5Gi' });
const refused = new Error('refused');

async function alone(by: (run: step.CapacityRun) => Promise<unknown>, answer: unknown) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  let answered = 0;
  const reply =
    (verb: string) =>
    async (...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters.slice(verb === 'call' ? 0 : 1)]);
      // A server that takes its time: nothing is returned before its answer.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      answered += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const { lines, ...logger } = recordingLogger();
  const run = {
    caches: { objects: { remember: (written: unknown) => void remembered.push(written), doubt: () => undefined } },
    logger,
    signal,
    context: {
      client: { create: reply('create'), update: reply('update'), delete: reply('delete') },
      channel: { call: reply('call') },
      timeoutMs: 1234,
    },
  } as unknown as step.CapacityRun;
  const result = await by(run).catch((error: unknown) => error);
  expect(answered).toBe(requests.length);
  return { result, requests, remembered, lines };
}

describe.each([
  { kind: 'create', write: step.create, message: 'Created CSIStorageCapacity' },
  { kind: 'update', write: step.update, message: 'Updated CSIStorageCapacity' },
])('$kind', ({ kind, write, message }) => {
  const by = (run: step.CapacityRun): Promise<void> => write(run, object);

  it('given success, then the request ends with the run, the cache has the answer, and one line names the object, its class and its capacity', async () => {
    expect(await alone(by, stored)).toEqual({
      result: undefined,
      requests: [[kind, object, { signal }]],
      remembered: [stored],
      lines: [{ kind: 'info', level: 5, message, facts: { object: 'stored', StorageClass: 'fast', capacity: '5Gi' } }],
    });
  });

  it('given a refusal, then it fails with that, and nothing is remembered or logged as written', async () => {
    expect(await alone(by, refused)).toMatchObject({ result: refused, remembered: [], lines: [] });
  });
});

describe('remove', () => {
  const remove =
    (...objects: readonly CSIStorageCapacity[]) =>
    (run: step.CapacityRun): Promise<void> =>
      step.remove(run, objects);
  const second = aCapacity({ name: 'csisc-2' });
  const deletion = (name: string): unknown => [
    'delete',
    { namespace, name },
    { preconditions: { uid: `uid-of-${name}` }, signal },
  ];

  it('given two objects, then each is deleted on condition of its UID, and the requests end with the run', async () => {
    const { result, requests } = await alone(remove(object, second), undefined);
    expect([result, requests]).toEqual([undefined, [deletion('csisc-1'), deletion('csisc-2')]]);
  });

  it('given an object that is gone, then the next one is deleted as well; given a refusal, then it fails with that', async () => {
    const gone = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
    const { result, requests } = await alone(remove(object, second), gone);
    expect([result, requests.length]).toEqual([undefined, 2]);
    expect(await alone(remove(object, second), refused)).toMatchObject({
      result: refused,
      requests: [deletion('csisc-1')],
    });
  });
});

it('given the driver is asked, then the call has the timeout of calls and ends with the run', async () => {
  const request = { parameters: {}, accessible_topology: { segments: {} } };
  const answer = { available_capacity: '5', maximum_volume_size: { value: '3' } };
  expect(await alone((run) => step.ask(run, request), answer)).toMatchObject({
    result: { available: 5n, maximum: 3n },
    requests: [['call', '/csi.v1.Controller/GetCapacity', request, { timeoutMs: 1234, signal }]],
  });
});
