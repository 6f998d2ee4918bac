// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon
 * after its return kubelet or another replica finishes what was begun. In the end nothing is stuck: claim and PersistentVolume show what was
 * asked for, and a later, larger request, or another class, is served as well.
 */
import { type Flow, livesOf, timesLost, writesWithoutOutage } from '@csi-sidecars/test-driver/testing';
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
  const storage = r.claim()?.spec?.resources?.requests?.['storage'] ?? '';
  r.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, capacity: { storage } } }));
  r.changeClaim((claim) => {
    const { allocatedResourceStatuses: _done, ...status } = claim.status ?? {};
    const conditions = withoutResizeConditions(claim);
    return { ...claim, status: { ...status, capacity: { storage }, conditions } };
  });
};

/** Gives the volume the class that the claim wants. */
const anotherModifier: Finisher = (r) => {
  const { volumeAttributesClassName = '' } = r.claim()?.spec ?? {};
  r.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, volumeAttributesClassName } }));
  r.changeClaim((claim) => {
    const { modifyVolumeStatus: _done, ...status } = claim.status ?? {};
    return {
      ...claim,
      status: { ...status, currentVolumeAttributesClassName: volumeAttributesClassName, conditions: [] },
    };
  });
};

/** A user who makes the class that a claim waits for. */
const administrator: Finisher = (r) => r.server.seed(aClass('late'));

interface Story {
  readonly options?: FixtureOptions;
  readonly claim?: ClaimOptions;
  readonly begins?: (r: Fixture) => unknown;
  /** The first call to the driver fails. */
  readonly fails?: readonly [
    method: 'ControllerExpandVolume' | 'ControllerModifyVolume',
    code: 'DeadlineExceeded' | 'Internal' | 'InvalidArgument',
    times: number,
  ];
  readonly others: Flow<Fixture>['others'];
  /** Finishes what waits for it, however long after the outage. */
  readonly node?: Finisher;
  /** Asks for more than the claim has by now. */
  readonly next: Finisher;
  readonly shown: (r: Fixture) => unknown;
  /** What is seen in the end, first of the request and then of the next one. */
  readonly ends: readonly (readonly [unknown, unknown])[];
  readonly writes: string;
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
const wants = (name: string | undefined) => (r: Fixture) =>
  r.changeClaim(({ spec: { volumeAttributesClassName: _class, ...spec } = {}, ...claim }) => ({
    ...claim,
    spec: { ...spec, ...(name === undefined ? {} : { volumeAttributesClassName: name }) },
  }));
const shownClass = (r: Fixture): unknown => ({
  classes: [r.volume()?.spec?.volumeAttributesClassName, r.claim()?.status?.currentVolumeAttributesClassName],
  recorded: r.claim()?.status?.modifyVolumeStatus,
  conditions: conditionsOf(r.claim() ?? {}).map(({ type }) => type),
});
const modified = (name: string | undefined): object => ({ classes: [name, name], recorded: undefined, conditions: [] });

const handedOver = 'E10 patch/status, E21 patch, E23 patch/status, E4 patch';
const expanding = {
  others: { kubelet: { acts: kubelet }, 'another replica': { acts: anotherReplica } },
  node: kubelet,
  next: larger,
  shown: shownAll,
  ends: [[settled('2Gi'), settled('4Gi')]],
} as const;
const modifying = {
  claim: { spec: '1Gi', wantedClass: 'gold' },
  others: { 'another replica': { acts: anotherModifier } },
  next: wants('silver'),
  shown: shownClass,
  ends: [[modified('gold'), modified('silver')]],
} as const;
const refused = {
  ...modified(undefined),
  recorded: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
  conditions: ['ModifyVolumeError'],
};
/** A size or class that was called infeasible is asked for again after the longest interval. */
const impatient = { settings: { retryIntervalMaxMs: 20_000 } };

const flows: readonly Flow<Fixture>[] = [
  aFlow('an expansion that the node finishes', { ...expanding, writes: handedOver }),
  aFlow('an expansion that a node before 1.32 finishes', {
    ...expanding,
    others: { kubelet: { acts: oldKubelet } },
    node: oldKubelet,
    shown: shownSize,
    ends: [[sized('2Gi'), sized('4Gi')]],
    writes: handedOver,
  }),
  aFlow('an expansion without a node', {
    ...expanding,
    options: { node: [] },
    others: { 'another replica': { acts: anotherReplica } },
    writes: 'E10 patch/status, E21 patch, E24 patch/status',
  }),
  aFlow('an expansion by the node alone', {
    ...expanding,
    options: { controller: [], expansion: 'trivial' },
    writes: handedOver,
  }),
  aFlow('an expansion without recovery', {
    ...expanding,
    options: { settings: { features: { recovery: false } } },
    others: { kubelet: { acts: oldKubelet }, 'another replica': { acts: anotherReplica } },
    node: oldKubelet,
    writes: handedOver,
  }),
  aFlow('an expansion that the driver refuses once', {
    ...expanding,
    fails: ['ControllerExpandVolume', 'Internal', 1],
    writes: `E10 patch/status, E18 patch/status, ${handedOver}`,
  }),
  aFlow('an expansion that the driver calls infeasible once', {
    ...expanding,
    options: impatient,
    fails: ['ControllerExpandVolume', 'InvalidArgument', 1],
    writes: `E10 patch/status, E17 patch/status, ${handedOver}`,
  }),
  aFlow('an expansion whose first answer is late', {
    ...expanding,
    fails: ['ControllerExpandVolume', 'DeadlineExceeded', 1],
    writes: `E10 patch/status, ${handedOver}`,
  }),
  aFlow('a modification', { ...modifying, writes: 'M12 patch/status, M17 patch, M18 patch/status' }),
  aFlow('a modification that the driver refuses once', {
    ...modifying,
    fails: ['ControllerModifyVolume', 'Internal', 1],
    writes: 'M12 patch/status, M22 patch/status, M12 patch/status, M17 patch, M18 patch/status',
  }),
  aFlow('a modification whose first answer is late', {
    ...modifying,
    fails: ['ControllerModifyVolume', 'DeadlineExceeded', 1],
    writes: 'M12 patch/status, M20 patch/status, M17 patch, M18 patch/status',
  }),
  aFlow('a modification that is infeasible and is given up', {
    ...modifying,
    fails: ['ControllerModifyVolume', 'InvalidArgument', 1],
    options: impatient,
    begins: (r) => r.clock.timer(10_000, () => wants(undefined)(r)),
    others: { 'a user who gives it up': { acts: wants(undefined) } },
    ends: [
      [modified(undefined), modified('silver')],
      [refused, modified('silver')],
      [modified('gold'), modified('silver')],
    ],
    writes: 'M12 patch/status, M21 patch/status, M6 patch/status',
  }),
  aFlow('a modification whose class comes late', {
    ...modifying,
    claim: { spec: '1Gi', wantedClass: 'late' },
    others: { 'an administrator': { acts: administrator, ends: [[modified('late'), modified('silver')]] } },
    ends: [[{ ...modified(undefined), recorded: { status: 'Pending' } }, modified('silver')]],
    writes: 'M9 patch/status',
  }),
];

function aFlow(flow: string, { options, claim, begins, fails, node, next, shown, ...story }: Story): Flow<Fixture> {
  // Watches and retries wait for up to twice as long as the API server was away.
  const finished = async (r: Fixture): Promise<unknown> => {
    await r.clock.advance(100_000);
    node?.(r);
    await r.clock.advance(70_000);
    return shown(r);
  };
  return {
    ...story,
    flow,
    world: () => aResizer({ ...options, seed: [aVolume(), aClass('gold'), aClass('silver')] }),
    begin: (r) => {
      if (fails !== undefined) r.failCalls(fails[1], { method: fails[0], times: fails[2] });
      begins?.(r);
      r.server.seed(aClaim(claim));
    },
    live: finished,
    after: async (r) => {
      next(r);
      return await finished(r);
    },
  };
}

it.each(timesLost(flows))(
  '[resizer#214] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, and the next request is served',
  async (flow) => {
    expect(await livesOf(flow)).toEqual({ writes: flow.writes, wrong: [], count: 0 });
  },
  60_000,
);

it('[resizer#214] given the table of requests, then each write of it meets an outage', () => {
  expect(writesWithoutOutage('resizer', flows)).toEqual([]);
});
