// SPDX-License-Identifier: Apache-2.0
/** Each action of the volume loop alone: the request that it sends, the signal that may abort it, and what is learned. */
import { ApiError } from '@csi-sidecars/runtime';
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aVolume, someSettings } from '../../testing/builders.ts';
import { volumeFinalizer } from '../names.ts';
import { performers } from './perform.ts';
import type { Action, VolumeContext } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const { signal } = new AbortController();
const volume = aVolume();
const uid = 'uid-of-pvc-uid-data';
const ref = { namespace: undefined, name: 'pvc-uid-data' };
const stored = aVolume({ finalizers: ['stored.example/x'] });
const refused = new Error('refused');
const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });

interface Requests {
  readonly learned: unknown;
  readonly requests: readonly unknown[];
  readonly remembered: readonly unknown[];
  readonly lines: readonly unknown[];
}

/** Performs the action with an API server and a driver that answer everything with `answer`. */
async function performed(action: StepAction, answer: unknown, of: unknown = volume): Promise<Requests> {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const reply =
    (verb: string) =>
    async (...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters]);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const client = {
    get: reply('get'),
    delete: async ({ kind }: { kind: string }, ...rest: unknown[]) => await reply('delete')(kind, ...rest),
    patch: async ({ ref: target }: { ref: unknown }, ...rest: unknown[]) => await reply('patch')(target, ...rest),
  };
  const logger = recordingLogger();
  const caches = { volumes: { remember: (object: unknown) => void remembered.push(object), doubt: () => undefined } };
  const context = { channel: { call: reply('call') }, settings: someSettings({ timeoutMs: 1234 }) };
  const perform = performers(context as unknown as VolumeContext)[action.kind] as (step: unknown) => Promise<unknown>;
  const learned = await perform({ client, caches, logger, key: 'pvc-uid-data', action, state: { volume: of }, signal });
  return { learned, requests, remembered, lines: logger.lines };
}

const added = {
  metadata: { uid, finalizers: [volumeFinalizer], '$setElementOrder/finalizers': expect.any(Array) },
};
const removed = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [volumeFinalizer] } };
const add: StepAction = { row: 'V2', kind: 'setFinalizer', change: 'add' };
const remove: StepAction = { row: 'V3', kind: 'setFinalizer', change: 'remove' };
const release: StepAction = { row: 'V13', kind: 'release' };
const deleteVolume = {
  row: 'V11',
  kind: 'deleteVolume',
  volumeId: 'handle-of-pvc-uid-data',
  migrated: true,
  secrets: undefined,
} as const;
const removeObject: StepAction = { row: 'V12', kind: 'removeObject' };

describe('the turns of the instances of nodes', () => {
  const turns = () => {
    const calls: string[] = [];
    const port = {
      begin: (key: string) => void calls.push(`begin ${key}`),
      forget: (key: string) => void calls.push(`forget ${key}`),
      leftMs: () => 700,
    };
    const context = { channel: {}, settings: someSettings(), turns: port } as unknown as VolumeContext;
    return { calls, performers: performers(context) };
  };

  it('given no wait, when it begins, then the time that is left is learned', async () => {
    const { calls, performers: perform } = turns();
    expect(await perform.startWait({ key: 'pv' } as never)).toEqual({ waitMs: 700 });
    expect(calls).toEqual(['begin pv']);
  });

  it('given the finalizer is patched, then the wait is forgotten; given it cannot be, then not', async () => {
    const step = (patch: () => unknown): unknown => ({
      client: { patch: async () => patch() },
      caches: { volumes: { remember: () => undefined, doubt: () => undefined } },
      state: { volume },
      key: 'pv',
      action: remove,
      signal,
    });
    const { calls, performers: perform } = turns();
    const failing = (): never => {
      throw refused;
    };
    await perform.setFinalizer(step(failing) as never);
    expect(calls).toEqual([]);
    await perform.setFinalizer(step(() => stored) as never);
    expect(calls).toEqual(['forget pv']);
  });
});

describe('the finalizer', () => {
  it.each([
    { action: add, body: added },
    { action: remove, body: removed },
  ])(
    'given $action.change, then one patch with the signal of the run, and the answer is the volume from now on',
    async ({ action, body }) => {
      expect(await performed(action, stored)).toEqual({
        learned: { finalizing: 'done', volume: stored },
        requests: [['patch', ref, { type: 'strategic', body }, { signal }]],
        remembered: [stored],
        lines: [],
      });
    },
  );

  it('given the volume is gone, when the finalizer is changed, then that is learned', async () => {
    expect((await performed(add, notFound)).learned).toEqual({ finalizing: 'gone' });
  });

  it.each([
    { action: add, word: 'add' },
    { action: remove, word: 'remove' },
  ])(
    'given the patch is refused, when $word, then the failure says what was tried on which volume',
    async ({ action, word }) => {
      const { learned } = await performed(action, refused);
      const failure = new Error(`failed to ${word} the finalizer on volume pvc-uid-data: refused`, { cause: refused });
      expect(learned).toEqual({ finalizing: { failure } });
    },
  );

  it('given the volume was deleted, when the finalizer is released, then one patch that nothing cuts off', async () => {
    expect(await performed(release, stored)).toEqual({
      learned: { release: 'done' },
      requests: [['patch', ref, { type: 'strategic', body: removed }, { signal: undefined }]],
      remembered: [stored],
      lines: [],
    });
  });

  it('given the object is gone, when the finalizer is released, then that is as good', async () => {
    expect((await performed(release, notFound)).learned).toEqual({ release: 'done' });
  });

  it('given the patch is refused, when the finalizer is released, then the failure is learned', async () => {
    const failure = new Error('failed to remove the finalizer on volume pvc-uid-data: refused', { cause: refused });
    expect((await performed(release, refused)).learned).toEqual({ release: { failure } });
  });
});

describe('the object', () => {
  it('given finalizers of others keep it, when it is deleted, then the answer is the volume from now on', async () => {
    expect(await performed(removeObject, stored)).toEqual({
      learned: { removal: 'done', volume: stored },
      requests: [['delete', 'PersistentVolume', { name: 'pvc-uid-data' }, { preconditions: { uid } }]],
      remembered: [stored],
      lines: [],
    });
  });

  it.each([undefined, notFound])(
    'given it is gone then, when it is deleted, then that is learned, and the cache hides it: %s',
    async (answer) => {
      expect(await performed(removeObject, answer)).toMatchObject({
        learned: { removal: 'gone' },
        remembered: [{ metadata: { uid, finalizers: [], deletionTimestamp: expect.anything() } }],
      });
    },
  );

  it('given an object without a UID, when it is deleted, then without a precondition', async () => {
    const { requests } = await performed(removeObject, undefined, { metadata: { name: 'a' } });
    expect(requests).toStrictEqual([['delete', 'PersistentVolume', { name: 'a' }, { preconditions: {} }]]);
  });

  it('given the deletion is refused, then the failure is learned', async () => {
    expect((await performed(removeObject, refused)).learned).toEqual({ removal: { failure: refused } });
  });
});

describe('the driver and its secret', () => {
  const read: StepAction = { row: 'V9', kind: 'readSecret', reference: { namespace: 'ns', name: 's' } };
  const call = (request: object): readonly unknown[] => [
    'call',
    '/csi.v1.Controller/DeleteVolume',
    request,
    { timeoutMs: 1234, signal, migrated: true },
  ];

  it.each([
    { secrets: undefined, request: { volume_id: 'handle-of-pvc-uid-data' } },
    { secrets: { a: 'b' }, request: { volume_id: 'handle-of-pvc-uid-data', secrets: { a: 'b' } } },
  ])(
    'given the secrets $secrets, when the volume is deleted, then the call has them, the timeout and the signal',
    async ({ secrets, request }) => {
      const { learned, requests, lines } = await performed({ ...deleteVolume, secrets }, {});
      expect([learned, requests]).toStrictEqual([{ deletion: 'done' }, [call(request)]]);
      expect(lines).toEqual(
        ['Started', 'Volume deleted'].map((message) => ({
          kind: 'info',
          level: 4,
          message,
          facts: { PV: 'pvc-uid-data' },
        })),
      );
    },
  );

  it('given the driver fails, when the volume is deleted, then the failure is learned, and no success is logged', async () => {
    const { learned, lines } = await performed(deleteVolume, refused);
    expect([learned, lines]).toEqual([
      { deletion: { failure: refused } },
      [expect.objectContaining({ message: 'Started' })],
    ]);
  });

  it('given the secret can be read, then its values are learned', async () => {
    const { learned, requests } = await performed(read, { data: { a: 'Yg==' } });
    expect(learned).toEqual({ secrets: { kind: 'found', values: { a: 'b' } } });
    expect(requests).toEqual([['get', expect.anything(), { namespace: 'ns', name: 's' }, { signal }]]);
  });

  it('given the secret cannot be read, then the deletion goes on without, and a line says why', async () => {
    const { learned, lines } = await performed(read, refused);
    expect(learned).toStrictEqual({ secrets: { values: undefined } });
    const reason = 'error getting secret s in namespace ns: refused';
    expect(lines).toEqual([
      { kind: 'warn', message: 'Deleting a volume without its secret', facts: { PV: 'pvc-uid-data', reason } },
    ]);
  });
});
