// SPDX-License-Identifier: Apache-2.0
/** Stories of the controller in owners-fixture.ts, and of the same controller with one mistake each. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/api/objects.ts';
import type { PolicyRule } from '../../src/api/policy-rule.ts';
import { persistentVolumes } from '../../src/api/resource.ts';
import type { EventRecorder } from '../../src/event-recorder/recorder.ts';
import { keyOf, type ObjectKey } from '../../src/informer/key.ts';
import { playStories, type Stories } from './index.ts';
import { type Mistakes, owners, storiesOf } from './owners-fixture.ts';
import { play } from './play.ts';
import { mishaps } from './story.ts';

it('given a controller without a mistake, then no story fails', async () => {
  await expect(playStories(storiesOf({}), { count: 10 })).resolves.toBeUndefined();
}, 120_000);

it.each([
  ['gives up after a failure', { givesUp: true }, /a label is not the owner/],
  ['remembers what it has done', { memory: new Set<ObjectKey>() }, /a label is not the owner/],
  ['writes without need', { always: true }, /it still writes when nothing happens any more: patch/],
  [
    'throws in one run',
    {
      spoils: ({ metadata }: KubeObject): void => {
        if (metadata?.name === 'a') throw new RangeError('no such name');
      },
    },
    /^seed \d: no such name\n/,
  ],
  [
    'changes a cached object',
    { spoils: ({ metadata }: KubeObject): void => void Object.assign(metadata?.annotations ?? {}, { owner: 'none' }) },
    /^seed \d: Cannot assign to read only property 'owner'/,
  ],
] as const)(
  'given a controller that %s, then a story fails',
  async (_, mistakes, message) => {
    await expect(playStories(storiesOf(mistakes), { count: 30, shrinkAttempts: 1 })).rejects.toThrow(message);
  },
  120_000,
);

it('given rules that allow what the controller does, then no story fails, and without one of them its request is named', async () => {
  const patch = { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'] };
  const ruled = (...rules: readonly PolicyRule[]): Stories => {
    const { controller, ...stories } = storiesOf({});
    return { ...stories, controller: (outside) => ({ ...controller(outside), rules }) };
  };
  await expect(playStories(ruled(patch), { count: 3 })).resolves.toBeUndefined();
  await expect(playStories(ruled(), { count: 3, shrinkAttempts: 1 })).rejects.toThrow(
    /^seed \d: the rules of the controller do not allow patch \/api\/v1\/persistentvolumes\/[abc]\n/,
  );
}, 120_000);

it('given a controller that writes events in the namespace `default`, and no rule for them, then a story names the request', async () => {
  const recording = (...rules: readonly PolicyRule[]): Stories => {
    const { controller, ...stories } = storiesOf({});
    const recordedBy = (events: EventRecorder) => async (name: ObjectKey) => {
      const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } };
      events.record(volume, { type: 'Normal', reason: 'Owned', message: 'it has an owner' });
    };
    return {
      ...stories,
      controller: (outside) => ({
        ...controller(outside),
        loops: ({ events }) => [owners({ publish: recordedBy(events) })],
        rules: [{ apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'] }, ...rules],
      }),
    };
  };
  const eventRule = { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] };
  await expect(playStories(recording(eventRule), { count: 3 })).resolves.toBeUndefined();
  await expect(playStories(recording(), { count: 3, shrinkAttempts: 1 })).rejects.toThrow(
    /^seed 1: the rules of the controller do not allow create \/api\/v1\/namespaces\/default\/events\n/,
  );
}, 120_000);

it('given a story that fails, then its seed, its shortest form and what happened are named, and the seed plays it again', async () => {
  const wrong = storiesOf({ label: 'grace hopper' });
  const failure = (range: object): Promise<unknown> => playStories(wrong, range).catch((error: Error) => error.message);
  const first = await failure({ count: 30 });
  expect(first).toMatch(
    /^seed 1: .*\nThe shortest story that fails:\n {2}[\d.]+ s {2}a user names an owner\nWhat happened last:\n(.*\n)*.*owners-\d#1 +L3 setLabel [abc]\n(.*\n)*.*owners-\d#1 +PATCH \/api\/v1\/persistentvolumes\/[abc]: 422\n.*owners-\d#1 +L4 conclude [abc]: retry: .+\n(.*\n)*Play it again: playStories\(stories, \{ from: 1, count: 1 \}\)$/,
  );
  expect(first).not.toContain('/leases/');
  expect(await failure({ from: 1, count: 1 })).toBe(first);
}, 120_000);

it('given something that must hold at every moment, then the story fails in the moment in which it does not', async () => {
  const always: Stories['always'] = (objects) => {
    if (objects.list(persistentVolumes).some(({ metadata }) => metadata?.labels?.['owner'] === 'ada'))
      throw new Error('ada');
  };
  await expect(playStories(storiesOf({}, { always }), { count: 5, shrinkAttempts: 1 })).rejects.toThrow(
    /^seed \d: ada\n/,
  );
}, 120_000);

describe('a controller that publishes owners outside of the cluster', () => {
  const publishing =
    (onFailure?: () => void, mistakes: Mistakes = {}) =>
    (): Stories => {
      const published = new Set<string>();
      const { controller, ...stories } = storiesOf({});
      return {
        ...stories,
        controller: (outside) => {
          const publish = (key: ObjectKey, owner: string): Promise<unknown> =>
            outside.call(`publish ${owner} of ${key}`, () => published.add(`${owner} of ${key}`)).catch(onFailure);
          return { ...controller(outside), loops: [owners({ ...mistakes, publish })] };
        },
        finally: (objects) => {
          const named = objects.list(persistentVolumes).filter(({ metadata }) => metadata?.annotations !== undefined);
          const owned = named.map((volume) => `${volume.metadata?.annotations?.['owner']} of ${keyOf(volume)}`);
          expect([...published]).toEqual(expect.arrayContaining(owned));
        },
      };
    };

  it('given that it tries again when a call has failed, then no story fails', async () => {
    await expect(playStories(publishing(), { count: 10 })).resolves.toBeUndefined();
  }, 120_000);

  it('given that it waits for an answer without a timeout, then a story fails, and what happened has the call that hangs', async () => {
    await expect(playStories(publishing(undefined, { hasNoTimeout: true }), { count: 30 })).rejects.toThrow(
      /\n +[\d.]+ {2}owners-[01]#\d+ +publish (ada|grace) of [abc]: \{"kind":"hung",.*\}\n/,
    );
  }, 120_000);

  it('given that it goes on when a call has failed, then a story fails, and what happened has the call with its fault', async () => {
    await expect(
      playStories(
        publishing(() => undefined),
        { count: 30 },
      ),
    ).rejects.toThrow(/\n +[\d.]+ {2}owners-[01]#\d+ +publish (ada|grace) of [abc]: \{"kind":"refused"\}\n/);
  }, 120_000);
});

it('given a controller that calls a service when it is made, then that happens once for each start of a process, and its clock and its dice are those of the process', async () => {
  const made: string[] = [];
  const { controller, ...stories } = storiesOf({}, { replicas: 1 });
  const registering: Stories = {
    ...stories,
    controller(outside) {
      const { call, clock, dice } = outside;
      void call('register', () => made.push(`${clock.monotonicMs()} ${dice.below(1_000)}`)).catch(() => undefined);
      return controller(outside);
    },
  };
  const stopped = { atMs: 100_000, what: 'a process is asked to stop', seed: 1 };
  for (const seed of [1, 1]) expect(await play({ seed, steps: [stopped] }, registering)).toBeUndefined();
  const [first = '', second = '', ...again] = made;
  expect(first).toMatch(/^\d{1,4} \d+$/);
  expect(second).toMatch(/^10\d{4} \d+$/);
  expect(first.split(' ')[1]).not.toBe(second.split(' ')[1]);
  expect(again).toEqual([first, second]);
}, 120_000);

it('given a process that is killed, stopped or frozen, then what happened says which one', async () => {
  const fails = storiesOf({}, { finally: () => expect.fail(), replicas: 1 });
  const steps = Object.values(mishaps).map((what, index) => ({ atMs: (index + 1) * 50_000, what, seed: 1 }));
  const { timeLine = '' } = (await play({ seed: 1, steps }, fails)) ?? {};
  const lines = timeLine.split('\n').map((line) => line.replaceAll(/ +/g, ' '));
  expect(lines.filter((line) => / owners-0#\d (ends|gets|stands)/.test(line))).toEqual([
    ' 50.000 owners-0#1 ends: SIGKILL',
    ' 100.000 owners-0#2 gets SIGTERM',
    expect.stringMatching(/^ 10\d\.\d+ owners-0#2 ends: exit code 0$/),
    expect.stringMatching(/^ 150\.000 owners-0#3 stands still for \d+ ms$/),
  ]);
}, 120_000);
