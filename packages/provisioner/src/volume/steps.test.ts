// SPDX-License-Identifier: Apache-2.0
/** Each step of the volume loop alone: the request that it sends, the signal that may abort it, and what it returns. */
import { ApiError } from '@csi-sidecars/runtime';
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { createSharedRelease } from '@csi-sidecars/sidecar';
import { describe, expect, it } from 'vitest';
import { aClass, aNodeDeployment, aVolume, someSettings } from '../../testing/builders.ts';
import { volumeFinalizer } from '../names.ts';
import * as step from './steps.ts';

const { signal } = new AbortController();
const volume = aVolume();
const uid = 'uid-of-pvc-uid-data';
const ref = { namespace: undefined, name: 'pvc-uid-data' };
const stored = aVolume({ finalizers: ['stored.example/x'] });
const refused = new Error('refused');
const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });

/** Performs the step with an API server and a driver that answer everything with `answer`. */
async function alone(by: (run: step.VolumeRun) => unknown, answer: unknown, more: Partial<step.VolumeContext> = {}) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const doubted: unknown[] = [];
  let answered = 0;
  const turns: string[] = [];
  const reply =
    (verb: string) =>
    async (...parameters: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, ...parameters]);
      // A server that takes its time: nothing is returned before its answer.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      answered += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const client = {
    get: reply('get'),
    delete: async ({ kind }: { kind: string }, ...rest: unknown[]) => await reply('delete')(kind, ...rest),
    patch: async ({ ref: target }: { ref: unknown }, ...rest: unknown[]) => await reply('patch')(target, ...rest),
  };
  const { lines, ...logger } = recordingLogger();
  const caches = {
    volumes: {
      remember: (object: unknown) => void remembered.push(object),
      doubt: (object: unknown) => void doubted.push(object),
    },
  };
  const context = {
    channel: { call: reply('call') },
    settings: someSettings({ timeoutMs: 1234 }),
    turns: {
      begin: (key: string) => {
        turns.push(`begin ${key}`);
        return 700;
      },
      forget: (key: string) => void turns.push(`forget ${key}`),
      leftMs: () => 700,
    },
    ...more,
  };
  const run = { client, caches, logger, key: 'pvc-uid-data', signal, context } as unknown as step.VolumeRun;
  const result = await (async () => await by(run))().catch((error: unknown) => error);
  expect(answered).toBe(requests.length);
  return { result, requests, remembered, doubted, turns, lines };
}

const set = (change: 'add' | 'remove') => (run: step.VolumeRun) => step.setFinalizer(run, volume, change);
const release = (run: step.VolumeRun): unknown => step.release(run, volume);
const removeObject = (run: step.VolumeRun): unknown => step.removeObject(run, volume);
const deleteVolume =
  (more = {}) =>
  (run: step.VolumeRun) =>
    step.deleteVolume(run, { volume_id: 'h', ...more }, true);
const readSecret = (run: step.VolumeRun): unknown => step.readSecret(run, { namespace: 'ns', name: 's' });
const added = {
  metadata: { uid, finalizers: [volumeFinalizer], '$setElementOrder/finalizers': expect.any(Array) },
};
const removed = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [volumeFinalizer] } };

describe('a look into the caches', () => {
  const onN2: Partial<NonNullable<typeof volume.spec>> = {
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'node', operator: 'In', values: ['n2'] }] }] },
    },
  };
  const look = (cached: typeof volume | undefined, node?: string) =>
    step.look({
      key: 'pvc-uid-data',
      context: {
        settings: someSettings({ node: node === undefined ? undefined : aNodeDeployment(node) }),
        turns: { leftMs: () => 700 },
      },
      caches: {
        volumes: { get: () => cached },
        classes: { get: (name: string) => (name === 'fast' ? aClass() : undefined) },
        attachments: {
          byIndex: (index: string, name: string) =>
            index === 'volume' && name === 'pvc-uid-data' ? [{ spec: { nodeName: 'n5' } }] : [],
        },
      },
    } as never);
  const [plain, far] = [aVolume({ spec: { storageClassName: 'fast' } }), aVolume({ spec: onN2 })];

  it.each([
    { given: 'a central deployment', cached: far, node: undefined, place: 'here' },
    { given: 'the instance of its node', cached: far, node: 'n2', place: 'here' },
    { given: 'the instance of another node', cached: far, node: 'n1', place: 'elsewhere' },
    { given: 'a volume of all nodes', cached: plain, node: 'n1', place: 'here' },
  ])('given $given, then the volume is $place', ({ cached, node, place }) => {
    expect(look(cached, node)).toMatchObject({ volume: cached, place, attachedTo: 'n5', waitMs: 700 });
  });

  it('given a volume with a class, then that is found; given no volume, then nothing', () => {
    expect([look(plain)?.storageClass, look(undefined)]).toEqual([aClass(), undefined]);
  });
});

it('given a volume of another node, when its wait begins, then the time that is left is returned', async () => {
  expect(await alone(step.startWait, undefined)).toMatchObject({ result: 700, turns: ['begin pvc-uid-data'] });
});

describe('the finalizer', () => {
  it.each([
    { change: 'add', body: added },
    { change: 'remove', body: removed },
  ] as const)(
    'given $change, then one patch with the signal of the run, the cache has the answer, and no wait is left',
    async ({ change, body }) => {
      expect(await alone(set(change), stored)).toEqual({
        result: true,
        requests: [['patch', ref, { type: 'strategic', body }, { signal }]],
        remembered: [stored],
        doubted: [],
        turns: ['forget pvc-uid-data'],
        lines: [],
      });
    },
  );

  it('given the volume is gone, when the finalizer is changed, then that is returned, and a wait goes on', async () => {
    expect(await alone(set('add'), notFound)).toMatchObject({ result: false, turns: [] });
  });

  it('given the volume was deleted, when the finalizer is released, then one patch that nothing cuts off', async () => {
    expect(await alone(release, stored)).toMatchObject({
      result: undefined,
      requests: [['patch', ref, { type: 'strategic', body: removed }, { signal: undefined }]],
      remembered: [stored],
    });
  });

  it.each([
    { by: set('add'), word: 'add' },
    { by: set('remove'), word: 'remove' },
    { by: release, word: 'remove' },
  ])('given the patch is refused, then the failure says that it was to $word it on which volume', async (row) => {
    const { result, turns } = await alone(row.by, refused);
    expect([result, turns]).toEqual([
      new Error(`failed to ${row.word} the finalizer on volume pvc-uid-data: refused`, { cause: refused }),
      [],
    ]);
  });

  it('given csi-attacher of the process offers its finalizer, when ours is released, then the patch takes both off; each attempt asks again', async () => {
    const offers = [['external-attacher/x'], []];
    const asked: unknown[] = [];
    const offered = (about: unknown): readonly string[] => {
      asked.push(about);
      return offers[asked.length - 1] ?? [];
    };
    const sharedRelease = { ...createSharedRelease(), offered };
    const twice = async (run: step.VolumeRun): Promise<void> => {
      await step.release(run, volume);
      await step.release(run, stored);
    };
    const { requests } = await alone(twice, stored, { sharedRelease });
    expect(asked).toEqual([volume, stored]);
    expect(JSON.stringify(requests[0])).toContain(`[${JSON.stringify(volumeFinalizer)},"external-attacher/x"]`);
    expect(JSON.stringify(requests[1])).toContain(`[${JSON.stringify(volumeFinalizer)}]`);
  });

  it('given another change of our finalizer, then csi-attacher is not asked for its own', async () => {
    const offered = (): readonly string[] => ['external-attacher/x'];
    const { requests } = await alone(set('remove'), stored, { sharedRelease: { ...createSharedRelease(), offered } });
    expect(requests).toEqual([['patch', ref, { type: 'strategic', body: removed }, { signal }]]);
  });

  it('given the object is gone, when the finalizer is released, then that is as good', async () => {
    expect((await alone(release, notFound)).result).toBeUndefined();
  });
});

describe('the object', () => {
  it('given finalizers of others keep it, when it is deleted, then what is left of it is returned', async () => {
    expect(await alone(removeObject, stored)).toMatchObject({
      result: stored,
      requests: [['delete', 'PersistentVolume', { name: 'pvc-uid-data' }, { preconditions: { uid } }]],
      remembered: [stored],
    });
  });

  it.each([undefined, notFound])(
    'given it is gone then, when it is deleted, then the cache hides it: %s',
    async (answer) => {
      const { result, remembered } = await alone(removeObject, answer);
      expect(result).toBeUndefined();
      expect(remembered).toMatchObject([{ metadata: { uid, finalizers: [], deletionTimestamp: expect.anything() } }]);
    },
  );

  it.each([
    { given: 'a right that is missing', status: 403, reason: 'Forbidden', doubted: [] },
    { given: 'another object of its name', status: 409, reason: 'Conflict', doubted: [volume] },
  ])(
    'given the deletion is refused for $given, then it fails with that, and a conflict makes the copy in the cache doubtful',
    async ({ status, reason, doubted }) => {
      const failure = new ApiError({ status, reason, message: 'no' });
      expect(await alone(removeObject, failure)).toMatchObject({ result: failure, doubted });
    },
  );
});

describe('the driver and its secret', () => {
  const call = (more: object): readonly unknown[] => [
    'call',
    '/csi.v1.Controller/DeleteVolume',
    { volume_id: 'h', ...more },
    { timeoutMs: 1234, signal, migrated: true, span: undefined },
  ];
  const line = (message: string): object => ({ kind: 'info', level: 4, message, facts: { PV: 'pvc-uid-data' } });

  it.each([{}, { secrets: { a: 'b' } }])(
    'given %o, when the volume is deleted, then the call has it, the timeout and the signal',
    async (more) => {
      const { result, requests, lines } = await alone(deleteVolume(more), {});
      expect([result, requests]).toStrictEqual([undefined, [call(more)]]);
      expect(lines).toEqual([line('Started'), line('Volume deleted')]);
    },
  );

  it('given the driver fails, when the volume is deleted, then it fails with that, and no success is logged', async () => {
    expect(await alone(deleteVolume(), refused)).toMatchObject({ result: refused, lines: [line('Started')] });
  });

  it('given the secret can be read, then its values are returned', async () => {
    const { result, requests } = await alone(readSecret, { data: { a: 'Yg==' } });
    expect(result).toEqual({ a: 'b' });
    expect(requests).toEqual([['get', expect.anything(), { namespace: 'ns', name: 's' }, { signal }]]);
  });

  it('given the secret cannot be read, then the deletion goes on without, and a line says why', async () => {
    const { result, lines } = await alone(readSecret, refused);
    expect(result).toBeUndefined();
    const reason = 'error getting secret s in namespace ns: refused';
    expect(lines).toEqual([
      { kind: 'warn', message: 'Deleting a volume without its secret', facts: { PV: 'pvc-uid-data', reason } },
    ]);
  });
});
