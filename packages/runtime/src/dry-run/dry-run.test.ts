// SPDX-License-Identifier: Apache-2.0
/** A dry run of small loops, one for each thing that a run can do first. */
import { expect, it } from 'vitest';
import { FakeClock, seededRandom, settle } from '../../testing/index.ts';
import { ApiError } from '../api/errors.ts';
import type { PersistentVolume, Pod } from '../api/objects.ts';
import { persistentVolumes, pods, secrets } from '../api/resource.ts';
import { type Conclusion, done, type Outcome, postpone, requeueAfter, retry } from '../controller/reconcile.ts';
import { type ObjectKey, keyOf } from '../informer/key.ts';
import { defineLoop } from '../loop/define-loop.ts';
import { conclude, type Flow, orEnd, perform } from '../loop/flow.ts';
import type { Loop, LoopSpec, LoopTypes, Run } from '../loop/loop.ts';
import { definePeriodicLoop } from '../loop/periodic-loop.ts';
import { type DryPorts, dryRun, type DryRunOptions } from './dry-run.ts';
import { noAnswer } from './guarded-client.ts';
import type { DryRunResult, DryWorld, Reader } from './world.ts';

interface Volumes extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume; readonly pods: Pod };
  readonly observed: PersistentVolume;
  readonly conclusion: Conclusion;
  readonly context: DryPorts;
}
type VolumeRun = Run<Volumes>;

const volume: PersistentVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv1', uid: 'u1', resourceVersion: '1', managedFields: [{ manager: 'x' }] as never },
  spec: { claimRef: { namespace: 'shop', name: 'data' } },
};
const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'forbidden' });
const refusing: Reader = {
  get: () => Promise.reject(notFound),
  list: () => Promise.resolve({ items: [], resourceVersion: '1' }),
  raw: () => Promise.reject(notFound),
};
const target = { resource: persistentVolumes, ref: { name: 'pv1' } };
const patch = { type: 'merge', body: {} } as const;

interface Given {
  readonly flow: LoopSpec<Volumes>['flow'];
  readonly spec?: (ports: DryPorts) => Partial<LoopSpec<Volumes>>;
  readonly world?: Partial<DryWorld>;
  readonly options?: Partial<DryRunOptions>;
}

function asking({ flow, spec, world, options }: Given): Promise<DryRunResult> {
  const loop = (ports: DryPorts): Loop =>
    defineLoop<Volumes>({
      name: 'volumes',
      settings: { workerThreads: 1, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
      watches: { volumes: { resource: persistentVolumes }, pods: { resource: pods } },
      handlers: {},
      observe: (caches, key) => caches.volumes.get(key),
      context: ports,
      flow,
      ...spec?.(ports),
    });
  return dryRun(
    {
      objects: [{ resource: persistentVolumes, objects: [structuredClone(volume)] }],
      read: refusing,
      clock: new FakeClock(),
      random: seededRandom(1),
      ...world,
    },
    { loops: (ports) => [loop(ports)], queue: 'volumes', key: 'pv1', ...options },
  );
}

async function writeIt({ client }: VolumeRun): Promise<void> {
  await client.patch(target, patch, { subresource: 'status' });
}
function look(): string {
  return 'seen';
}

/** A run that changes nothing. */
function* concluding(outcome: Outcome): Flow<Conclusion> {
  yield* perform('A0', look);
  return conclude('A1', outcome);
}

it('[explain#86] given a run that looks and then writes, then the answer is the row that writes, and the write has not gone on', async () => {
  let after = 'nothing';
  const answer = await asking({
    *flow() {
      yield* perform('A1', look);
      yield* orEnd(perform('A2', writeIt), () => {
        after = 'the failure was seen';
        return conclude('A3', done);
      });
      after = 'the write was answered';
      return conclude('A4', done);
    },
  });
  await settle();
  expect(answer).toEqual({
    row: 'A2',
    rows: [
      { row: 'A1', action: 'look' },
      { row: 'A2', action: 'writeIt' },
    ],
    action: { kind: 'write', verb: 'patch', resource: 'persistentvolumes/status' },
    assumed: ['memory'],
  });
  expect(after).toBe('nothing');
});

it.each([
  ['create', ({ client }: VolumeRun) => client.create(persistentVolumes, volume)],
  ['update', ({ client }: VolumeRun) => client.update(persistentVolumes, volume)],
  ['delete', ({ client }: VolumeRun) => client.delete(persistentVolumes, { name: 'pv1' })],
] as const)('given a run whose first write is a %s, then the answer names it', async (verb, write) => {
  const { action } = await asking({
    *flow() {
      yield* perform('A1', write as (run: VolumeRun) => Promise<unknown>);
      return conclude('A2', done);
    },
  });
  expect(action).toEqual({ kind: 'write', verb, resource: 'persistentvolumes' });
});

function callAndWrite({ context, client }: Run<Volumes>): Promise<unknown> {
  context.onAction({ kind: 'call', method: 'DeleteVolume' });
  return Promise.all([noAnswer(), client.delete(persistentVolumes, { name: 'pv1' })]);
}

it('given a run that calls a driver, then the answer is the row of the call, whatever the run does beside it', async () => {
  const { row, action } = await asking({
    *flow() {
      yield* perform('A1', callAndWrite);
      return conclude('A2', done);
    },
  });
  expect([row, action]).toEqual(['A1', { kind: 'call', method: 'DeleteVolume' }]);
});

it.each([
  [done, { kind: 'done' }],
  [requeueAfter(7), { kind: 'requeueAfter', afterMs: 7 }],
  [postpone('wait\u001b[31m'), { kind: 'postpone', text: 'wait?[31m' }],
  [retry(new Error('x'.repeat(5_000))), { kind: 'retry', text: 'x'.repeat(1_024) }],
] as const)(
  'given a run that concludes with %j, then the answer shows it, in a text that is safe to show',
  async (outcome, shown) => {
    const { row, action } = await asking({
      flow: () => concluding(outcome),
    });
    expect([row, action]).toEqual(['A1', { kind: 'conclude', outcome: shown }]);
  },
);

it('given an event in a step, then it does not end the run', async () => {
  const { rows } = await asking({
    *flow(observed) {
      yield* perform('A1', ({ context: { events } }: Run<Volumes>) =>
        events.record(observed, { type: 'Normal', reason: 'Provisioning', message: 'begins' }),
      );
      return conclude('A2', done);
    },
  });
  expect(rows.map(({ row }) => row)).toEqual(['A1', 'A2']);
});

it('given a key whose object the loop does not know, or a loop that the controller does not have, then there is nothing to do', async () => {
  const given: Given = {
    flow: () => concluding(done),
  };
  const none = { row: undefined, rows: [], action: { kind: 'none' } };
  expect(await asking({ ...given, options: { key: 'pv2' } })).toMatchObject(none);
  expect(await asking({ ...given, options: { queue: 'others' } })).toMatchObject(none);
});

it('given objects for caches, then transforms, selections, indexes and handlers are those of the watches, and the objects stay as they are', async () => {
  const pod = (name: string, phase: string): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'shop', name, uid: name },
    status: { phase },
  });
  const added: string[] = [];
  const mine = structuredClone(volume);
  const { rows } = await asking({
    *flow(observed) {
      const names = yield* perform('A1', ({ caches }: VolumeRun) => caches.pods.byIndex('all', 'x').map(keyOf).join());
      return conclude(
        `A2 ${names} ${observed.spec?.claimRef?.name} ${added.join()} ${'managedFields' in (observed.metadata ?? {})}`,
        done,
      );
    },
    spec: () => ({
      watches: {
        volumes: {
          resource: persistentVolumes,
          transform: { id: 't', apply: (found) => ({ ...found, spec: { claimRef: { name: 'trimmed' } } }) },
        },
        pods: {
          resource: pods,
          fieldSelector: 'status.phase!=Failed,status.phase!=Succeeded',
          indexers: { all: () => ['x'] },
        },
      },
      handlers: {
        pods: ({ current, isInInitialList }) => {
          if (isInInitialList && current !== undefined) added.push(keyOf(current));
          return undefined;
        },
      },
    }),
    world: {
      objects: [
        { resource: persistentVolumes, objects: [mine] },
        { resource: pods, objects: [pod('a', 'Running'), pod('b', 'Failed'), pod('c', 'Succeeded')] },
      ],
    },
  });
  expect(rows.at(-1)?.row).toBe('A2 shop/a trimmed shop/a true');
  expect(mine).toEqual(volume);
});

it('given a selector that is not understood, then the answer is an error, not a wrong answer', async () => {
  const watches = { volumes: { resource: persistentVolumes, labelSelector: 'zone in (a,b)' }, pods: undefined };
  const asked = asking({
    flow: () => concluding(done),
    spec: () => ({ watches }),
  });
  await expect(asked).rejects.toThrow('cannot select by "zone in (a,b)"');
});

it('given a read that fails, then the run sees it, and the answer assumes that it succeeds; that there is no object is an answer', async () => {
  const flowOf = (name: string): LoopSpec<Volumes>['flow'] =>
    function* () {
      const get = ({ client }: VolumeRun) => client.get(secrets, { namespace: 'shop', name });
      yield* orEnd(perform('A1', get), (failure) => conclude('A2', retry(failure)));
      return conclude('A3', done);
    };
  const read: Reader = {
    ...refusing,
    get: (_resource, { name }) => Promise.reject(name === 'hidden' ? forbidden : notFound),
  };
  const hidden = await asking({ flow: flowOf('hidden'), world: { read } });
  expect([hidden.row, hidden.assumed]).toEqual(['A2', ['memory', 'get secrets shop/hidden succeeds']]);
  const odd = await asking({
    flow: flowOf('a\u202eb\n'),
    world: { read: { ...read, get: () => Promise.reject(forbidden) } },
  });
  expect(odd.assumed).toEqual(['memory', 'get secrets shop/a?b? succeeds']);
  const missing = await asking({ flow: flowOf('missing'), world: { read } });
  expect([missing.row, missing.assumed]).toEqual(['A2', ['memory']]);
});

it('given a reader that brings the values of a secret, then no step gets them', async () => {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    data: { password: 'eA==' },
    stringData: { a: 'b' },
  };
  const read: Reader = {
    ...refusing,
    get: () => Promise.resolve(secret as never),
    list: () => Promise.resolve({ items: [secret as never], resourceVersion: '1' }),
  };
  const { rows } = await asking({
    *flow() {
      const got = yield* perform('A1', async ({ client }: VolumeRun) => [
        await client.get(secrets, { namespace: 'shop', name: 's' }),
        ...(await client.list(secrets)).items,
      ]);
      return conclude(JSON.stringify(got), done);
    },
    world: { read },
  });
  const shown = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
  expect(rows.at(-1)?.row).toBe(JSON.stringify([shown, shown]));
});

it('given a reader that is silent, when the signal aborts, then the answer is its reason', async () => {
  const end = new AbortController();
  const asked = asking({
    *flow() {
      yield* perform('A1', ({ client }: VolumeRun) => client.get(persistentVolumes, { name: 'x' }));
      return conclude('A2', done);
    },
    world: { read: { ...refusing, get: () => noAnswer() } },
    options: { signal: end.signal },
  });
  await settle();
  end.abort(new Error('thirty seconds are over'));
  await expect(asked).rejects.toThrow('thirty seconds are over');
});

it('given a signal that has aborted, then nothing is asked', async () => {
  let steps = 0;
  const asked = asking({
    flow: () => {
      steps += 1;
      return concluding(done);
    },
    options: { signal: AbortSignal.abort(new Error('over')) },
  });
  await expect(asked).rejects.toThrow('over');
  expect(steps).toBe(0);
});

it('given a defect of the loop, or a flow that begins again for ever, then the answer is an error', async () => {
  const defect = asking({
    flow: () => {
      throw new TypeError('spec.x is not a list');
    },
  });
  await expect(defect).rejects.toThrow('spec.x is not a list');
  const endless = asking({
    *flow() {
      for (;;) yield* perform('A1', look);
    },
  });
  await expect(endless).rejects.toThrow('more than 100 steps');
});

it('given a loop without keys beside it, then it does not run', async () => {
  let passes = 0;
  const periodic = definePeriodicLoop({
    name: 'passes',
    watches: {},
    pauseMs: 1,
    pass: async () => void (passes += 1),
    failed: 'x',
  });
  const answer = await asking({
    flow: () => concluding(done),
    options: { loops: () => [periodic] },
  });
  expect([answer.action.kind, passes]).toEqual(['none', 0]);
});
