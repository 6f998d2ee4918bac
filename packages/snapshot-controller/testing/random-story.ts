// SPDX-License-Identifier: Apache-2.0
/**
 * Draws a story of snapshots from a seed: what users and csi-snapshotter do, and what fails meanwhile. Nothing runs here.
 *
 * Some things are never drawn, because the controller promises nothing about them: snapshots do not lose our finalizers by force, contents
 * are not pointed to another snapshot, and deletion policies do not change.
 */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { type Fault, type FaultRule, seededRandom } from '@csi-sidecars/runtime/testing';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { volumeSnapshotClasses } from '@csi-sidecars/volume';
import { aClaim, aClass, aDefaultClass, aVolume } from './builders.ts';
import type { PlannedSnapshot, Report, StoryWorld } from './story-world.ts';

/** What happens in the same turn happens together, before the controller sees any of it. */
export type Step = readonly [turn: number, act: (world: StoryWorld) => void | Promise<void>];

export interface Story {
  readonly snapshots: readonly PlannedSnapshot[];
  readonly steps: readonly Step[];
  /** How long each turn lasts. */
  readonly turnsMs: readonly number[];
  /** Watches and writes that are slow during the whole story. */
  readonly faults: readonly FaultRule[];
  /** The snapshots of `data2` are deleted, and so is the claim. */
  readonly isClaimDeleted: boolean;
}

interface Draw {
  /** The length of the story. */
  readonly turns: number;
  chance(part: number): boolean;
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
  /** Any turn of the story. */
  turn(): number;
}

export function drawStory(seed: number): Story {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random.next() * limit);
  const isShort = random.next() < 0.5;
  const turns = isShort ? 8 : 30;
  const draw: Draw = {
    turns,
    chance: (part) => random.next() < part,
    below,
    pick: (list) => list[below(list.length)]!,
    turn: () => below(turns),
  };
  const plan: Plan = {
    isShort,
    isClaimDeleted: draw.chance(0.2),
    cleanUpTurn: isShort ? 2 + below(4) : draw.turn(),
  };
  const slow = draw.chance(0.6) ? draw.pick(slowWatches) : [];
  const lives = Array.from({ length: 2 + below(4) }, (_, index) => drawLife(draw, plan, index));
  const troubles = [
    ...Array.from({ length: below(6) }, () => drawFaults(draw, slow)),
    ...otherTroubles.filter(() => draw.chance(0.35)).map((drawTrouble) => drawTrouble(draw)),
  ];
  const claimGoes: Step = [
    draw.turn(),
    ({ objects }) => objects.delete(persistentVolumeClaims, { namespace: 'team', name: 'data2' }),
  ];
  return {
    snapshots: lives.map(({ snapshot }) => snapshot),
    steps: [
      ...lives.flatMap(({ steps }) => steps),
      ...troubles.flat(),
      ...(plan.isClaimDeleted ? [claimGoes] : []),
      ...drawReports(draw),
    ],
    turnsMs: Array.from({ length: turns + 1 }, () => draw.pick([0, 10, 500, 1_000, 2_500, 5_000])),
    faults: [slowWatch(draw, slow), slowWrites(draw)],
    isClaimDeleted: plan.isClaimDeleted,
  };
}

/** What the snapshots of one story have in common. */
interface Plan {
  /** All snapshots are deleted together after a few turns. */
  readonly isShort: boolean;
  readonly isClaimDeleted: boolean;
  /** The turn in which snapshots are deleted together. */
  readonly cleanUpTurn: number;
}

interface Life {
  readonly snapshot: PlannedSnapshot;
  readonly steps: readonly Step[];
}

/** One snapshot and what happens to it. Snapshots that are deleted may follow each other under one name. */
function drawLife(draw: Draw, plan: Plan, index: number): Life {
  const source = draw.pick(['data', 'data', 'data2', 'static'] as const);
  const isDeleted = plan.isShort || (source === 'data2' && plan.isClaimDeleted) || draw.chance(0.5);
  const className = source === 'static' ? undefined : draw.pick(['gold', 'gold', 'retain', undefined] as const);
  const policy = source === 'static' ? draw.pick(['Delete', 'Retain'] as const) : policyOf(className);
  const name = isDeleted && draw.chance(0.3) ? 'again' : `snap-${index}`;
  const snapshot: PlannedSnapshot = { name, uid: `uid-${index}`, source, className, policy, isDeleted };
  const createdIn = plan.isShort ? draw.below(plan.cleanUpTurn) : draw.turn();
  const laterTurn = (): number => Math.min(createdIn + 1 + draw.below(5), draw.turns);
  const steps: Step[] = [[createdIn, (world) => world.create(snapshot)]];
  if (source === 'static') steps.push([draw.turn(), (world) => world.createContent(snapshot)]);
  if (isDeleted) {
    const isTogether = plan.isShort || draw.chance(0.3);
    const deletedIn = isTogether ? Math.max(createdIn + 1, plan.cleanUpTurn) : laterTurn();
    steps.push([deletedIn, (world) => world.deleteSnapshot(snapshot)]);
  }
  if (source !== 'static' && draw.chance(isDeleted ? 0.1 : 0.3)) {
    steps.push([draw.chance(0.5) ? laterTurn() : draw.turns, (world) => world.vanishContent(snapshot)]);
  } else if (isDeleted && policy === 'Delete' && draw.chance(0.15)) {
    steps.push([laterTurn(), (world) => world.deleteContent(snapshot)]);
  }
  if (draw.chance(0.3)) steps.push([laterTurn(), (world) => world.touch(snapshot)]);
  return { snapshot, steps: draw.chance(0.15) ? [...steps, ...drawRestore(draw, snapshot)] : steps };
}

const policyOf = (className: PlannedSnapshot['className']): PlannedSnapshot['policy'] =>
  className === 'retain' ? 'Retain' : 'Delete';

/** A claim is filled from the snapshot for a while. */
function drawRestore(draw: Draw, { name, uid }: PlannedSnapshot): readonly Step[] {
  const restored = { namespace: 'team', name: `restored-${uid}` };
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name };
  const claim = aClaim({ ...restored, phase: 'Pending', spec: { dataSource } });
  const [begins, ends] = drawPeriod(draw);
  return [
    [begins, ({ objects }) => void objects.seed(claim)],
    [ends, ({ objects }) => objects.remove(persistentVolumeClaims, restored)],
  ];
}

/** In each turn csi-snapshotter reports on all contents, or is slow. */
function drawReports(draw: Draw): readonly Step[] {
  return Array.from({ length: draw.turns }, (_, turn): Step => {
    const report = draw.pick<Report | undefined>([undefined, undefined, 'failed', 'cut', 'ready']);
    return [turn, (world) => (report === undefined ? undefined : world.sidecar(report))];
  });
}

/** It ends with the story at the latest. */
function drawPeriod(draw: Draw): readonly [begins: number, ends: number] {
  const begins = draw.turn();
  return [begins, Math.min(begins + 1 + draw.below(10), draw.turns)];
}

const claims = 'persistentvolumeclaims';
const slowWatches: readonly (readonly string[])[] = [
  ['volumesnapshots'],
  ['volumesnapshots'],
  ['volumesnapshotcontents'],
  ['volumesnapshots', 'volumesnapshotcontents', claims],
];

function slowWatch(draw: Draw, slow: readonly string[]): FaultRule {
  const when: FaultRule['when'] = ({ verb, resource }) => verb === 'watch' && slow.includes(resource);
  return { when, fault: { kind: 'lag', ms: 1 + draw.below(6_000) }, times: 99 };
}

function slowWrites(draw: Draw): FaultRule {
  const when: FaultRule['when'] = ({ verb }) => ['create', 'update', 'patch', 'delete'].includes(verb);
  const isSlow = draw.chance(0.4);
  return { when, fault: { kind: 'delay', ms: 1 + draw.below(300) }, times: isSlow ? 9_999 : 0 };
}

/** Each entry happens at most once in a story. */
const otherTroubles: readonly ((draw: Draw) => readonly Step[])[] = [
  drawRefusedRetry,
  drawCrash,
  drawCrash,
  drawAbsence,
  drawSecondDefault,
  drawLostClaim,
];

/**
 * One kind of request meets one fault, or two after each other. While the watch of claims is slow, reads of claims meet none: the
 * controller reads a claim to learn whether it was protected if the answer to the request was lost.
 */
function drawFaults(draw: Draw, slow: readonly string[]): readonly Step[] {
  const ofClaims = slow.includes(claims) ? [`update ${claims}`] : [`update ${claims}`, `get ${claims}`];
  const what = draw.pick([
    ...ofClaims,
    'patch volumesnapshots',
    'patch volumesnapshots/status',
    'patch volumesnapshots/status',
    'patch volumesnapshotcontents',
    'create volumesnapshotcontents',
    'create volumesnapshotcontents',
    'delete volumesnapshotcontents',
    'get volumesnapshots',
    'get volumesnapshotcontents',
  ]);
  const refused = (): Fault =>
    draw.pick<Fault>([
      { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
      { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
      { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests', retryAfter: '1' },
      { kind: 'break', point: 'before', failure: 'reset' },
    ]);
  const unanswered = (): Fault =>
    draw.pick<Fault>([
      { kind: 'status', point: 'after', code: 504, reason: 'Timeout' },
      { kind: 'break', point: 'after', failure: 'reset' },
    ]);
  const late = (): Fault =>
    draw.pick<Fault>([
      { kind: 'delay', ms: 1 + draw.below(5_000) },
      { kind: 'lag', ms: 1 + draw.below(5_000) },
    ]);
  const faults = draw.pick([[refused], [unanswered], [late], [unanswered, refused], [unanswered, unanswered]]);
  const rules = faults.map((fault) => faultOn(what, fault(), 1 + draw.below(2)));
  return [[draw.turn(), (world) => void world.faults.unshift(...rules)]];
}

/** The answer to the report of readiness is lost, and what the controller writes next is refused. */
function drawRefusedRetry(draw: Draw): readonly Step[] {
  const what = 'patch volumesnapshots/status';
  const rules = [
    faultOn(what, { kind: 'break', point: 'after', failure: 'reset' }),
    faultOn(what, { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' }),
  ];
  return [
    [
      draw.turn(),
      (world) => {
        world.faults.unshift(...rules);
        world.sidecar('ready');
      },
    ],
  ];
}

/** The process dies at one of its next writes. If there is none, it dies when the next process starts. */
function drawCrash(draw: Draw): readonly Step[] {
  const [dies, restarts] = drawPeriod(draw);
  const points = draw.below(8);
  return [
    [dies, (world) => world.crashAfter(points)],
    [restarts, (world) => world.restart()],
  ];
}

/** A class or a volume is gone for a while. */
function drawAbsence(draw: Draw): readonly Step[] {
  const [goes, comes] = drawPeriod(draw);
  const [resource, object] = draw.pick([
    [volumeSnapshotClasses, aClass()],
    [volumeSnapshotClasses, aDefaultClass('usual')],
    [volumeSnapshotClasses, aClass('retain', { deletionPolicy: 'Retain' })],
    [persistentVolumes, aVolume()],
  ] as const);
  return [
    [goes, ({ objects }) => objects.remove(resource, { name: object.metadata?.name ?? '' })],
    [comes, ({ objects }) => void objects.seed(object)],
  ];
}

function drawSecondDefault(draw: Draw): readonly Step[] {
  const [comes, goes] = drawPeriod(draw);
  return [
    [comes, ({ objects }) => void objects.seed(aDefaultClass('second'))],
    [goes, ({ objects }) => objects.remove(volumeSnapshotClasses, { name: 'second' })],
  ];
}

function drawLostClaim(draw: Draw): readonly Step[] {
  const [lost, bound] = drawPeriod(draw);
  const become =
    (phase: string): Step[1] =>
    ({ objects }) =>
      void objects.change(persistentVolumeClaims, { namespace: 'team', name: 'data' }, (claim) => ({
        ...claim,
        status: { ...claim.status, phase },
      }));
  return [
    [lost, become('Lost')],
    [bound, become('Bound')],
  ];
}
