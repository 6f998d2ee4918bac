// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon
 * after its return kubelet or another replica finishes what was begun. In the end nothing is stuck: claim and PersistentVolume show what was
 * asked for, and a later, larger request, or another class, is served as well.
 */
import { addOutage, type OutageOptions } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume, type ClaimOptions } from '../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions } from '../testing/resizer-fixture.ts';
import { type Claim, conditionsOf } from './claim.ts';
import { resizeConditions } from './conditions.ts';
import { annotations } from './names.ts';

type Finisher = (r: Fixture) => void;

const sizeOf = (r: Fixture): string => r.volume()?.spec?.capacity?.['storage'] ?? '';
const withoutResizeConditions = (claim: Claim) =>
  conditionsOf(claim).filter(({ type }) => !(resizeConditions as readonly string[]).includes(type));

/** Expands the file system of a volume that is larger than its claim, and leaves resize statuses alone, which it does not know. */
const oldKubelet: Finisher = (r) => {
  if (sizeOf(r) === r.claim()?.status?.capacity?.['storage']) return;
  r.changeClaim((claim) => ({
    ...claim,
    status: { ...claim.status, capacity: { storage: sizeOf(r) }, conditions: withoutResizeConditions(claim) },
  }));
};

/** Since 1.32: works when it is asked to, and the volume is larger than the claim. */
const kubelet: Finisher = (r) => {
  const { capacity, allocatedResourceStatuses } = r.claim()?.status ?? {};
  if (allocatedResourceStatuses?.['storage'] !== 'NodeResizePending' || sizeOf(r) === capacity?.['storage']) return;
  oldKubelet(r);
  r.changeClaim(({ status: { allocatedResourceStatuses: _done, ...status } = {}, ...claim }) => ({ ...claim, status }));
};

/** Does all that is left to do, kubelet's part included. */
const anotherReplica: Finisher = (r) => {
  r.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, capacity: { storage: '2Gi' } } }));
  r.changeClaim((claim) => {
    const { allocatedResourceStatuses: _done, ...status } = claim.status ?? {};
    const conditions = withoutResizeConditions(claim);
    return { ...claim, status: { ...status, capacity: { storage: '2Gi' }, conditions } };
  });
};

/** Gives the volume its class. */
const anotherModifier: Finisher = (r) => {
  r.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, volumeAttributesClassName: 'gold' } }));
  r.changeClaim((claim) => {
    const { modifyVolumeStatus: _done, ...status } = claim.status ?? {};
    return { ...claim, status: { ...status, currentVolumeAttributesClassName: 'gold', conditions: [] } };
  });
};

interface Story {
  readonly flow: string;
  readonly options: FixtureOptions;
  readonly claim: ClaimOptions;
  readonly finishers: Readonly<Record<string, Finisher>>;
  /** Finishes what waits for it, however long after the outage. */
  readonly node: Finisher;
  /** Asks for more than the claim has by now. */
  readonly next: (r: Fixture) => void;
  /** What is seen in the end, first of the request and then of the next one. */
  readonly shown: (r: Fixture) => unknown;
  readonly wanted: readonly [unknown, unknown];
}

const shownSize = (r: Fixture): unknown => ({
  sizes: [sizeOf(r), r.claim()?.status?.capacity?.['storage']],
  conditions: conditionsOf(r.claim() ?? {}).map(({ type }) => type),
  recorded: r.volume()?.metadata?.annotations?.[annotations.preResizeCapacity],
});
const shownAll = (r: Fixture): unknown => ({
  ...(shownSize(r) as object),
  status: r.claim()?.status?.allocatedResourceStatuses,
});
const sized = (size: string): object => ({ sizes: [size, size], conditions: [], recorded: undefined });
const settled = (size: string): object => ({ ...sized(size), status: undefined });
const larger = (r: Fixture): void => r.ask('4Gi');

const stories: readonly Story[] = [
  {
    flow: 'an expansion that the node finishes',
    options: {},
    claim: {},
    finishers: { kubelet, 'another replica': anotherReplica },
    node: kubelet,
    next: larger,
    shown: shownAll,
    wanted: [settled('2Gi'), settled('4Gi')],
  },
  {
    flow: 'an expansion that a node before 1.32 finishes',
    options: {},
    claim: {},
    finishers: { kubelet: oldKubelet },
    node: oldKubelet,
    next: larger,
    shown: shownSize,
    wanted: [sized('2Gi'), sized('4Gi')],
  },
  {
    flow: 'an expansion without a node',
    options: { node: [] },
    claim: {},
    finishers: { 'another replica': anotherReplica },
    node: () => undefined,
    next: larger,
    shown: shownAll,
    wanted: [settled('2Gi'), settled('4Gi')],
  },
  {
    flow: 'an expansion by the node alone',
    options: { controller: [], expansion: 'trivial' },
    claim: {},
    finishers: { kubelet, 'another replica': anotherReplica },
    node: kubelet,
    next: larger,
    shown: shownAll,
    wanted: [settled('2Gi'), settled('4Gi')],
  },
  {
    flow: 'an expansion without recovery',
    options: { settings: { features: { recovery: false } } },
    claim: {},
    finishers: { kubelet: oldKubelet, 'another replica': anotherReplica },
    node: oldKubelet,
    next: larger,
    shown: shownAll,
    wanted: [settled('2Gi'), settled('4Gi')],
  },
  {
    flow: 'a modification',
    options: {},
    claim: { spec: '1Gi', wantedClass: 'gold' },
    finishers: { 'another replica': anotherModifier },
    node: () => undefined,
    next: (r) => r.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeAttributesClassName: 'silver' } })),
    shown: (r) => ({
      classes: [r.volume()?.spec?.volumeAttributesClassName, r.claim()?.status?.currentVolumeAttributesClassName],
      recorded: r.claim()?.status?.modifyVolumeStatus,
      conditions: conditionsOf(r.claim() ?? {}),
    }),
    wanted: [
      { classes: ['gold', 'gold'], recorded: undefined, conditions: [] },
      { classes: ['silver', 'silver'], recorded: undefined, conditions: [] },
    ],
  },
];

/** Undefined: the flow has fewer writes. */
async function endOf(
  story: Story,
  outage: Omit<OutageOptions, 'back'> & { readonly afterMs: number; readonly finish: Finisher },
): Promise<{ readonly write: string; readonly shown: readonly unknown[] } | undefined> {
  const r = await aResizer({ ...story.options, seed: [aVolume(), aClass('gold'), aClass('silver')] });
  const { afterMs, finish, ...times } = outage;
  const died = addOutage(r, { ...times, back: [{ afterMs, happens: () => finish(r) }] });
  r.server.seed(aClaim(story.claim));
  // Watches and retries wait for up to twice as long as the API server was away.
  const finished = async (): Promise<unknown> => {
    await r.clock.advance(100_000);
    story.node(r);
    await r.clock.advance(70_000);
    return story.shown(r);
  };
  const shown = [await finished()];
  const write = died.write();
  if (write !== undefined) {
    story.next(r);
    shown.push(await finished());
  }
  await r.stop();
  return write === undefined ? undefined : { write, shown };
}

const cases = stories.flatMap((story) =>
  Object.entries(story.finishers).flatMap(([finisher, finish]) =>
    (['beforeCommit', 'afterCommit'] as const).map((lost) => ({ ...story, finisher, finish, lost })),
  ),
);

it.each(cases)(
  '[resizer#214] given $flow, an API server that dies at a write ($lost) and comes back, and $finisher that goes on, then nothing ends stuck',
  async ({ lost, finish, ...story }) => {
    const ends: unknown[] = [];
    const wanted: unknown[] = [];
    for (const awayMs of [500, 2_000, 10_000, 30_000]) {
      for (const afterMs of story.finisher === 'kubelet' ? [100, 1_000, 5_000] : [1_000]) {
        for (let write = 0; ; write++) {
          const end = await endOf(story, { write, lost, awayMs, afterMs, finish });
          if (end === undefined) break;
          const outage = `${end.write} (${write}), away for ${awayMs}, finished after ${afterMs}`;
          ends.push([outage, ...end.shown]);
          wanted.push([outage, ...story.wanted]);
        }
      }
    }
    expect(ends.length).toBeGreaterThanOrEqual(4 * 3);
    expect(ends).toEqual(wanted);
  },
);
