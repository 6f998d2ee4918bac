// SPDX-License-Identifier: Apache-2.0
/** Each action of the capacity loop alone: its requests, the signal that may abort them, the log line, and what is learned. */
import { ApiError, type CSIStorageCapacity } from '@csi-sidecars/runtime';
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aCapacity, namespace } from '../../testing/capacity-fixture.ts';
import { performers } from './perform.ts';
import type { Action, CapacityDeps } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const { signal } = new AbortController();
const object = aCapacity();
const stored = aCapacity({ name: 'stored', capacity: '5Gi' });
const refused = new Error('refused');

async function performed(action: StepAction, answer: unknown) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const reply =
    (verb: string) =>
    async (...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters.slice(verb === 'call' ? 0 : 1)]);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const client = { create: reply('create'), update: reply('update'), delete: reply('delete') };
  const logger = recordingLogger();
  const caches = { objects: { remember: (written: unknown) => void remembered.push(written), doubt: () => undefined } };
  const deps = { client, channel: { call: reply('call') }, timeoutMs: 1234 } as unknown as CapacityDeps;
  const perform = performers(deps)[action.kind] as (step: unknown) => Promise<unknown>;
  return { learned: await perform({ action, caches, signal, logger }), requests, remembered, lines: logger.lines };
}

describe.each([
  { kind: 'create', message: 'Created CSIStorageCapacity' },
  { kind: 'update', message: 'Updated CSIStorageCapacity' },
] as const)('$kind', ({ kind, message }) => {
  const action: StepAction = { row: 'K7', kind, object };

  it('given success, then the request ends with the run, the cache has the answer, and one line names the object, its class and its capacity', async () => {
    expect(await performed(action, stored)).toEqual({
      learned: { written: 'done' },
      requests: [[kind, object, { signal }]],
      remembered: [stored],
      lines: [{ kind: 'info', level: 5, message, facts: { object: 'stored', StorageClass: 'fast', capacity: '5Gi' } }],
    });
  });

  it('given a refusal, then it is learned, and nothing is remembered or logged as written', async () => {
    expect(await performed(action, refused)).toMatchObject({
      learned: { written: { failure: refused } },
      remembered: [],
      lines: [],
    });
  });
});

describe('remove', () => {
  const remove = (...objects: readonly CSIStorageCapacity[]): StepAction => ({ row: 'K2', kind: 'remove', objects });
  const second = aCapacity({ name: 'csisc-2' });
  const deletion = (name: string): unknown => [
    'delete',
    { namespace, name },
    { preconditions: { uid: `uid-of-${name}` }, signal },
  ];

  it('given two objects, then each is deleted on condition of its UID, and the requests end with the run', async () => {
    const { learned, requests } = await performed(remove(object, second), undefined);
    expect([learned, requests]).toEqual([{ removed: 'done' }, [deletion('csisc-1'), deletion('csisc-2')]]);
  });

  it('given a server that takes its time, then one object is deleted after the other, and nothing is learned before the end', async () => {
    const order: string[] = [];
    const client = {
      delete: async (_resource: unknown, { name }: { readonly name: string }) => {
        order.push(`delete ${name}`);
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        order.push(`${name} is deleted`);
      },
    };
    const perform = performers({ client } as unknown as CapacityDeps).remove as (step: unknown) => Promise<unknown>;
    const caches = { objects: { remember: () => undefined, doubt: () => undefined } };
    await perform({ action: remove(object, second), caches, signal });
    expect(order).toEqual(['delete csisc-1', 'csisc-1 is deleted', 'delete csisc-2', 'csisc-2 is deleted']);
  });

  it('given an object that is gone, then the next one is deleted as well; given a refusal, then it is learned', async () => {
    const gone = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
    const { learned, requests } = await performed(remove(object, second), gone);
    expect([learned, requests.length]).toEqual([{ removed: 'done' }, 2]);
    expect((await performed(remove(object), refused)).learned).toEqual({ removed: { failure: refused } });
  });
});

it('given the driver is asked, then the call has the timeout of calls and ends with the run', async () => {
  const request = { parameters: {}, accessible_topology: { segments: {} } };
  const answer = { available_capacity: '5', maximum_volume_size: { value: '3' } };
  expect(await performed({ row: 'K5', kind: 'ask', request }, answer)).toMatchObject({
    learned: { reported: { value: { available: 5n, maximum: 3n } } },
    requests: [['call', '/csi.v1.Controller/GetCapacity', request, { timeoutMs: 1234, signal }]],
  });
});
