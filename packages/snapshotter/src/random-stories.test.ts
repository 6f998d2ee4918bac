// SPDX-License-Identifier: Apache-2.0
/**
 * Stories that are drawn from a seed. A snapshot or a group is taken and, in most stories, deleted. Meanwhile requests and calls fail, the
 * watch lags, the class is gone for a while, and either the process crashes or another program removes the intent with its own write: both
 * in one story may leave a snapshot, because nothing but the process knows of the call then. In half of the stories the alpha gate is on.
 *
 * In the end nothing is left of what was deleted, what was not deleted is ready, and the backoff held.
 */
import { type Fault, type FaultRule, seededRandom } from '@csi-sidecars/runtime/testing';
import { volumeGroupSnapshotClasses, volumeSnapshotClasses } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aGroupClass,
  aGroupContent,
  asked,
  aSecret,
  deletionSecret,
  groupDeletionSecret,
} from '../testing/builders.ts';
import {
  aSnapshotter,
  conflict,
  type Fixture,
  type FixtureOptions,
  forbidden,
} from '../testing/snapshotter-fixture.ts';
import type { AnyContent } from './content-types.ts';

type DriverFault = Parameters<Fixture['driver']['faults']['add']>[0];
type Change = <C extends AnyContent>(content: C) => C;

interface Story {
  readonly isGroup: boolean;
  readonly hasSecret: boolean;
  readonly snapshotProcessingMs: number;
  readonly requestFaults: readonly FaultRule[];
  readonly callFaults: readonly DriverFault[];
  readonly deletion: 'none' | 'asked' | 'withoutIntent';
  readonly policy: 'Delete' | 'becomesDelete' | 'becomesRetain';
  readonly deletedAtMs: number;
  readonly crashedAtMs: number | undefined;
  readonly classGoneAtMs: number | undefined;
  /** The alpha gate VolumeSnapshotTopology. */
  readonly topology: Pick<FixtureOptions, 'topology' | 'definition'>;
}

function draw(seed: number): Story {
  const random = seededRandom(seed);
  const chance = (part: number): boolean => random.next() < part;
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const isGroup = chance(0.4);
  const resource = isGroup ? 'volumegroupsnapshotcontents' : 'volumesnapshotcontents';
  const [create, remove] = isGroup
    ? ['CreateVolumeGroupSnapshot', 'DeleteVolumeGroupSnapshot']
    : ['CreateSnapshot', 'DeleteSnapshot'];

  const requestFault = (): FaultRule => {
    const wanted = pick([undefined, 'status']);
    let skip = below(4);
    return {
      when: ({ verb, subresource, ...it }) =>
        verb === 'patch' && it.resource === resource && subresource === wanted && skip-- <= 0,
      fault: pick<Fault>([
        forbidden,
        conflict,
        { kind: 'status', point: 'before', code: 500 },
        { kind: 'status', point: 'after', code: 500 },
        { kind: 'break', point: 'after', failure: 'reset' },
        { kind: 'hang', point: 'after' },
        { kind: 'delay', ms: below(3_000) },
      ]),
      times: 1 + below(2),
    };
  };
  const lag: FaultRule = {
    when: ({ verb, ...it }) => verb === 'watch' && it.resource === resource,
    fault: { kind: 'lag', ms: below(5_000) },
    times: 99,
  };
  const callFault = (): DriverFault => {
    const at = pick(['before', 'after'] as const);
    const more = { times: 1, skip: below(2) };
    if (chance(0.3)) {
      const action = pick([
        { kind: 'fail', code: pick(['Internal', 'NotFound'] as const), message: 'no' } as const,
        { kind: 'hang' } as const,
      ]);
      return { method: remove, at, action, ...more };
    }
    const unset = isGroup ? 'group_snapshot' : 'snapshot';
    return pick<DriverFault>([
      {
        method: create,
        at,
        action: { kind: 'fail', code: pick(['Aborted', 'Unavailable'] as const), message: 'no' },
        ...more,
      },
      { method: create, at, action: { kind: 'hang' }, ...more },
      { method: create, at: 'after', action: { kind: 'delay', ms: below(20_000) }, ...more },
      { method: create, action: { kind: 'answer', unset: [unset] }, ...more },
    ]);
  };
  const deletion = pick(['none', 'asked', 'asked', 'withoutIntent'] as const);
  return {
    isGroup,
    hasSecret: chance(0.3),
    snapshotProcessingMs: chance(0.5) ? below(20_000) : 0,
    requestFaults: [...(chance(0.4) ? [lag] : []), ...Array.from({ length: below(5) }, requestFault)],
    callFaults: Array.from({ length: 1 + below(5) }, callFault),
    deletion,
    policy: deletion === 'none' || chance(0.6) ? 'Delete' : pick(['becomesDelete', 'becomesRetain'] as const),
    deletedAtMs: 1 + Math.floor(below(20_000) * random.next()),
    crashedAtMs: deletion !== 'withoutIntent' && chance(0.5) ? Math.floor(below(60_000) * random.next()) : undefined,
    classGoneAtMs: chance(0.3) ? below(60_000) : undefined,
    topology: chance(0.5) ? { topology: 'on', definition: pick(['alpha', 'alpha', 'released'] as const) } : {},
  };
}

async function run(story: Story): Promise<void> {
  const { isGroup, hasSecret, snapshotProcessingMs, requestFaults, callFaults, deletedAtMs } = story;
  const annotations = hasSecret ? (isGroup ? groupDeletionSecret : deletionSecret) : {};
  let s = await aSnapshotter({
    seed: [aClass(), aGroupClass(), aSecret()],
    model: { snapshotProcessingMs },
    faults: requestFaults,
    ...story.topology,
  });
  for (const fault of callFaults) s.driver.faults.add(fault);
  const policy = story.policy === 'becomesDelete' ? 'Retain' : 'Delete';
  s.server.seed(isGroup ? aGroupContent({ annotations, policy }) : aContent({ annotations, policy }));
  const current = () => (isGroup ? s.group() : s.content());
  const change = (how: Change): void => {
    if (current() === undefined) return;
    if (isGroup) s.changeGroup(how);
    else s.changeContent(how);
  };
  const setPolicy = (deletionPolicy: 'Delete' | 'Retain') => (): void =>
    change((content) => ({ ...content, spec: { ...content.spec, deletionPolicy } }));
  const requestDeletion = (): void =>
    change((content) => {
      const metadata = story.deletion === 'asked' ? content.metadata : { ...content.metadata, annotations };
      return asked({ ...content, metadata });
    });

  const steps: (readonly [number, () => void | Promise<void>])[] = [];
  if (story.deletion !== 'none') {
    if (story.policy === 'becomesDelete') steps.push([deletedAtMs - 1, setPolicy('Delete')]);
    if (story.policy === 'becomesRetain') steps.push([deletedAtMs - 1, setPolicy('Retain')]);
    steps.push([deletedAtMs, requestDeletion]);
  }
  if (story.crashedAtMs !== undefined) {
    const restart = async (): Promise<void> => {
      s = await aSnapshotter({ cluster: s.crash(), ...story.topology });
    };
    steps.push([story.crashedAtMs, restart]);
  }
  if (story.classGoneAtMs !== undefined) {
    const classes = isGroup ? volumeGroupSnapshotClasses : volumeSnapshotClasses;
    steps.push([story.classGoneAtMs, () => s.server.objects.remove(classes, { name: 'gold' })]);
    steps.push([story.classGoneAtMs + 100_000, () => void s.server.seed(isGroup ? aGroupClass() : aClass())]);
  }
  let nowMs = 0;
  for (const [atMs, step] of steps.toSorted(([a], [b]) => a - b)) {
    await s.clock.advance(atMs - nowMs);
    nowMs = atMs;
    await step();
  }
  for (let round = 0; round < 40; round++) await s.clock.advance(100_000);
  const { driver } = s;
  const end = {
    isReady: current()?.status?.readyToUse ?? 'gone',
    annotations: current()?.metadata?.annotations ?? {},
    snapshots: driver.snapshots().length,
    groups: driver.groups().length,
    isCalm: s.calls().length <= 40 && s.writes().length <= 80,
  };
  await s.stop();
  const kept = { snapshots: isGroup ? 2 : 1, groups: isGroup ? 1 : 0 };
  const gone = { isReady: 'gone', annotations: {}, isCalm: true };
  if (story.deletion === 'none') expect(end).toEqual({ isReady: true, annotations, isCalm: true, ...kept });
  else if (story.policy === 'becomesRetain') expect(end).toMatchObject(gone);
  else expect(end).toEqual({ ...gone, snapshots: 0, groups: 0 });
}

it.each([0, 20, 40, 60, 80, 100, 120, 140, 160, 180])(
  '[csi-snapshotter#G1] given twenty stories of failures, from seed %i on, then nothing is left of what was deleted, and the rest is ready',
  async (first) => {
    for (let seed = first; seed < first + 20; seed++) {
      await run(draw(seed)).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
    }
  },
);
