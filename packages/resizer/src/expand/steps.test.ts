// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of an expansion alone: writes A to F of the table of status writes in docs/behaviour/resizer.md as they are sent, what a call
 * carries, what is known afterwards, and what a stop at once aborts.
 */
import type { Code } from '@csi-sidecars/csi';
import { ApiError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aCondition,
  aVolume,
  type ClaimOptions,
  csiFailure,
  sizeOf,
  type VolumeOptions,
} from '../../testing/builders.ts';
import {
  type Answers,
  failureAtStop,
  overtaken,
  type RunAlone,
  runAlone,
  type SentPatch,
  shownBy,
  span,
  written,
} from '../../testing/run-alone.ts';
import type { Claim } from '../claim.ts';
import type { CallEntry } from '../claim-memory.ts';
import { annotations } from '../names.ts';
import * as step from './steps.ts';

const [old, now] = ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'];
const uid = 'uid-of-data';
const version = (resourceVersion: string): Claim => {
  const types = ['Foreign', 'NodeResizeError', 'Resizing', 'ControllerResizeError', 'FileSystemResizePending'];
  const claim = aClaim({ conditions: types.map((type) => aCondition(type)) });
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};
const [claim, stored] = [version('5'), version('6')];
const inProgress: Claim = {
  ...claim,
  status: { ...claim.status, allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } },
};
const size = sizeOf('2Gi');
const failure = csiFailure('Internal');
const all = ['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'];
const but = (type: string): readonly string[] => all.filter((each) => each !== type);
const message = {
  FileSystemResizePending: 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.',
  ControllerResizeError: 'failed to expand pvc with rpc error: code = Internal desc = no',
};
const set = (type: string, lastTransitionTime = old): object => {
  const text = type in message ? message[type as keyof typeof message] : null;
  return { type, status: 'True', message: text, reason: null, lastProbeTime: null, lastTransitionTime };
};
const note = annotations.nodeExpansionNotRequired;
const [withoutNote, withNote] = [{ [note]: null }, { [note]: 'true' }];

type Writing = (run: RunAlone) => Promise<unknown>;

const accepted = async (): Promise<Claim> => stored;

const mark =
  (status: step.Marking, of = claim): Writing =>
  (run) =>
    step.mark(run, of, { target: size, status });
const saveResult =
  (needsNode: boolean, path: 'recovery' | 'legacy', of = claim): Writing =>
  (run) =>
    step.saveResult(run, of, { needsNode, size, path });
const saveFailure =
  (isInfeasible: boolean, of = claim): Writing =>
  (run) =>
    step.saveFailure(run, of, { failure, isInfeasible });
const status = (storage: string | null): object => ({ allocatedResourceStatuses: { storage } });

it.each<{ readonly write: string; readonly by: Writing; readonly shown: object }>([
  {
    write: 'A',
    by: mark('new'),
    shown: {
      guarded: '5',
      annotations: withoutNote,
      set: [set('Resizing')],
      removed: but('Resizing'),
      rest: { allocatedResources: { storage: '2Gi' }, ...status('ControllerResizeInProgress') },
    },
  },
  {
    write: 'A without recovery',
    by: mark('legacy'),
    shown: { guarded: '5', annotations: undefined, set: [set('Resizing')], removed: but('Resizing'), rest: {} },
  },
  {
    write: 'B',
    by: mark('same', inProgress),
    shown: { guarded: '5', annotations: withoutNote, set: [set('Resizing')], removed: [], rest: {} },
  },
  {
    write: 'B after the end of an earlier attempt',
    by: mark('same'),
    shown: {
      guarded: '5',
      annotations: withoutNote,
      set: [set('Resizing')],
      removed: [],
      rest: status('ControllerResizeInProgress'),
    },
  },
  {
    write: 'C',
    by: saveResult(true, 'recovery'),
    shown: {
      guarded: '5',
      annotations: withoutNote,
      set: [set('FileSystemResizePending')],
      removed: [],
      rest: status('NodeResizePending'),
    },
  },
  {
    write: 'C without recovery',
    by: saveResult(true, 'legacy'),
    shown: {
      guarded: '5',
      annotations: undefined,
      set: [set('FileSystemResizePending')],
      removed: but('FileSystemResizePending'),
      rest: {},
    },
  },
  {
    write: 'D',
    by: saveResult(false, 'recovery'),
    shown: {
      guarded: '5',
      annotations: withNote,
      set: [],
      removed: all,
      rest: { capacity: { storage: '2Gi' }, ...status(null) },
    },
  },
  {
    write: 'D without recovery',
    by: saveResult(false, 'legacy'),
    shown: {
      guarded: '5',
      annotations: undefined,
      set: [],
      removed: all,
      rest: { capacity: { storage: '2Gi' } },
    },
  },
  {
    write: 'E',
    by: saveFailure(true),
    shown: {
      guarded: '5',
      annotations: undefined,
      set: [set('ControllerResizeError')],
      removed: [],
      rest: status('ControllerResizeInfeasible'),
    },
  },
  {
    write: 'F',
    by: saveFailure(false),
    shown: { guarded: '5', annotations: undefined, set: [set('ControllerResizeError')], removed: [], rest: {} },
  },
])(
  'given write $write, then exactly this is sent, other conditions stay, and the run knows the stored claim',
  async ({ by, shown }) => {
    const { sent, result } = await written(by, accepted);
    expect([sent.map(shownBy), result]).toEqual([[shown], stored]);
  },
);

it.each<{ readonly by: Writing; readonly type: string }>([
  { by: mark('same', aClaim()), type: 'Resizing' },
  { by: saveResult(true, 'recovery', aClaim()), type: 'FileSystemResizePending' },
  { by: saveFailure(false, aClaim()), type: 'ControllerResizeError' },
])('given a claim without $type, then its transition time is set', async ({ by, type }) => {
  const { sent } = await written(by, accepted);
  expect(sent.map(({ status: { conditions } }) => conditions)).toEqual([[set(type, now)]]);
});

describe('what is known about the call', () => {
  it.each<{ readonly given: string; readonly entry: CallEntry | undefined; readonly isInUse: boolean }>([
    { given: 'nothing', entry: undefined, isInUse: false },
    { given: 'a size that is infeasible', entry: { kind: 'infeasible', uid, sinceMs: 0 }, isInUse: false },
    { given: 'a refusal', entry: { kind: 'final', uid, isInUse: false }, isInUse: false },
    { given: 'a volume in use', entry: { kind: 'final', uid, isInUse: true }, isInUse: true },
  ])(
    'given $given, when another size is recorded, or the same one after its end, then no call is under way, and the volume is in use: $isInUse',
    async ({ entry, isInUse }) => {
      for (const status of ['new', 'same'] as const) {
        expect((await written(mark(status), accepted, entry)).entry).toEqual({ kind: 'final', uid, isInUse });
      }
      expect((await written(mark('same', inProgress), accepted, entry)).entry).toBe(entry);
      expect((await written(mark('legacy'), accepted, entry)).entry).toBe(entry);
    },
  );

  it('given another size that could not be recorded, then nothing is known', async () => {
    const refused = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    const { result, entry } = await written(mark('new'), () => Promise.reject(refused));
    expect([result, entry]).toEqual([refused, undefined]);
  });
});

/** What an attempt has marked: a claim that grows from 1Gi to 2Gi. */
const grows = (options: ClaimOptions = {}): Claim =>
  aClaim({
    alloc: '2Gi',
    rstatus: 'ControllerResizeInProgress',
    conditions: [aCondition('Resizing'), aCondition('NodeResizeError', { status: 'False' })],
    ...options,
  });

/** For each patch: types that it sets, types that it removes, the rest. */
function outline(sent: readonly SentPatch[]): readonly unknown[] {
  return sent.map((patch) => {
    const { conditions = [], '$setElementOrder/conditions': _order, ...rest } = patch.status;
    const typesOf = (change: string | undefined) =>
      conditions.filter(({ $patch }) => $patch === change).map(({ type }) => type);
    return [typesOf(undefined), typesOf('delete'), rest];
  });
}

describe('a result that the node, another process or a left over size has come before', () => {
  const pending = [['FileSystemResizePending'], [], status('NodeResizePending')];
  const legacyPending = [['FileSystemResizePending'], but('FileSystemResizePending'), {}];
  const [conditionsGo, allGoes] = [
    [[], all, {}],
    [[], all, status(null)],
  ];
  const [none, noStatus] = [{ conditions: [] }, { rstatus: undefined as never }];

  interface Row {
    readonly given: string;
    readonly path?: 'recovery' | 'legacy';
    /** The claim as it was marked. */
    readonly marked?: ClaimOptions;
    /** As it is when the result is written; undefined: as it was marked. */
    readonly now?: ClaimOptions;
    readonly writes: readonly unknown[];
    readonly result?: 'overtaken';
  }

  it.each<Row>([
    { given: 'a change of something else', now: {}, writes: [pending] },
    { given: 'the recorded size in another text', now: { alloc: '2048Mi' }, writes: [pending] },
    {
      given: 'no recorded size, then as now',
      marked: { alloc: undefined as never },
      now: { alloc: undefined as never },
      writes: [pending],
    },
    {
      given: 'a size left over from an earlier expansion, and no status',
      marked: { ...noStatus, cap: '2Gi' },
      writes: [pending],
    },
    {
      given: 'a change of the recorded size, without recovery',
      path: 'legacy',
      now: { alloc: '4Gi' },
      writes: [legacyPending],
    },
    {
      given: 'a size and a status that were left over, without recovery',
      path: 'legacy',
      marked: { cap: '2Gi' },
      writes: [legacyPending],
    },
    ...[
      { given: 'another recorded size', now: { alloc: '4Gi' }, writes: [] },
      { given: 'a recorded size that is gone', now: { alloc: undefined as never }, writes: [] },
      { given: 'a recorded size that is new', marked: { alloc: undefined as never }, now: {}, writes: [] },
      { given: 'another status', now: { rstatus: 'NodeResizePending' }, writes: [] },
      { given: 'a node that has finished', now: { cap: '2Gi' }, writes: [allGoes] },
      { given: 'a node that has finished and removed the conditions', now: { cap: '2Gi', ...none }, writes: [allGoes] },
      { given: 'a node that has finished before the attempt ends', marked: { cap: '2Gi' }, writes: [allGoes] },
      {
        given: 'a node that has finished, and no status',
        marked: noStatus,
        now: { ...noStatus, cap: '2Gi' },
        writes: [conditionsGo],
      },
      {
        given: 'a node that has finished and left nothing',
        marked: noStatus,
        now: { ...noStatus, ...none, cap: '2Gi' },
        writes: [],
      },
      {
        given: 'an attempt that is not shown any more, without recovery',
        path: 'legacy' as const,
        now: none,
        writes: [],
      },
      {
        given: 'a node that has finished, without recovery',
        path: 'legacy' as const,
        now: { cap: '2Gi' },
        writes: [conditionsGo],
      },
      {
        given: 'a node that has finished and left only a status, without recovery',
        path: 'legacy' as const,
        marked: none,
        now: { ...none, cap: '2Gi' },
        writes: [],
      },
    ].map((row) => ({ ...row, result: 'overtaken' as const })),
  ])(
    'given $given, when the result is written, then the claim gets only what holds by now',
    async ({ path = 'recovery', marked, now: later, writes, result }) => {
      const write = saveResult(true, path, grows(marked));
      const saved = later === undefined ? await written(write, accepted) : await overtaken(write, grows(later));
      expect([outline(saved.sent), saved.result === 'overtaken']).toEqual([writes, result === 'overtaken']);
    },
  );
});

it.each<{ readonly given: string; readonly now: ClaimOptions; readonly writes: readonly unknown[] }>([
  { given: 'the same attempt', now: {}, writes: [[['ControllerResizeError'], [], {}]] },
  { given: 'another one', now: { alloc: '4Gi' }, writes: [] },
])(
  'given a claim that shows $given by now, when a refusal is written, then the claim shows it only if it is about that attempt',
  async ({ now: later, writes }) => {
    expect(outline((await overtaken(saveFailure(false, grows()), grows(later))).sent)).toEqual(writes);
  },
);

it('given a claim that changed before it could be marked, then what is known about the call stays', async () => {
  const { result, entry, sent } = await overtaken(mark('new'), aClaim());
  expect([result, entry, sent]).toEqual(['conflict', undefined, []]);
});

it.each<{
  readonly given: string;
  readonly before?: string;
  readonly now: VolumeOptions;
  readonly writes: readonly object[];
}>([
  { given: 'a larger size', now: { cap: '4Gi' }, writes: [] },
  { given: 'the same size', now: { cap: '2Gi' }, writes: [] },
  { given: 'a smaller size', now: { cap: '1536Mi' }, writes: [{}] },
  { given: 'no other size', now: {}, writes: [{}] },
  { given: 'no record', before: '1Gi', now: {}, writes: [{ annotations: { [annotations.preResizeCapacity]: '1Gi' } }] },
  {
    given: 'an older record',
    before: '1Gi',
    now: { annotations: { [annotations.preResizeCapacity]: '512Mi' } },
    writes: [{}],
  },
])(
  'given a PersistentVolume that has got $given meanwhile, and the size $before to record, when the new size is written, then nothing that is larger or older is lost',
  async ({ before, now: later, writes }) => {
    const { sent } = await overtaken((run) => step.saveVolume(run, aVolume(), { size, before }), aVolume(later));
    const spec = { capacity: { storage: '2Gi' } };
    expect(sent.map(({ metadata, ...rest }) => ({ annotations: metadata.annotations, ...rest }))).toEqual(
      writes.map((write) => ({ ...write, spec })),
    );
  },
);

const request = { volume_id: 'volume-1' };
const inUse: CallEntry = { kind: 'final', uid, isInUse: true };

/** Makes the call 7 s after the start of the process; an entry is what was known before. */
async function called(call: NonNullable<Answers['call']>, { migrated = false, entry = inUse } = {}) {
  const run = runAlone({ call });
  run.context.memory.set(run.key, entry);
  await run.clock.advance(7_000);
  const result = await step.expand(run, aClaim(), { request, migrated }).catch((error: unknown) => error);
  return { result, entry: run.context.memory.get(run.key, uid), signal: run.signal };
}

it.each([true, false])(
  'given a volume with migrated %s, then the call carries that, the timeout of expansions, and the signal and the span of the run',
  async (migrated) => {
    const sent: unknown[] = [];
    const call = async (...all: readonly unknown[]) => {
      sent.push(all);
      return { capacity_bytes: '1', node_expansion_required: true };
    };
    const { signal } = await called(call, { migrated });
    const options = { timeoutMs: 10_000, signal, span, migrated };
    expect(sent).toEqual([['/csi.v1.Controller/ControllerExpandVolume', request, options]]);
  },
);

it.each([true, false])(
  'given an answer with node_expansion_required %s, then size and need of the node are as it says, and nothing is remembered',
  async (needsNode) => {
    const answer = { capacity_bytes: '2147483648', node_expansion_required: needsNode };
    const { result, entry } = await called(() => Promise.resolve(answer));
    expect([result, entry]).toEqual([{ size: sizeOf('2Gi'), needsNode }, undefined]);
  },
);

it.each<{ readonly code: Exclude<Code, 'OK'>; readonly entry: CallEntry | undefined }>([
  { code: 'Internal', entry: { kind: 'final', uid, isInUse: false } },
  { code: 'FailedPrecondition', entry: { kind: 'final', uid, isInUse: true } },
  { code: 'OutOfRange', entry: { kind: 'infeasible', uid, sinceMs: 7_000 } },
  { code: 'Aborted', entry: undefined },
])('given the answer $code, then $entry is remembered in place of what was known', async ({ code, entry }) => {
  const failure = csiFailure(code);
  const result = await called(() => Promise.reject(failure));
  expect([result.result, result.entry]).toEqual([failure, entry]);
});

it.each<{ readonly entry: CallEntry }>([{ entry: inUse }, { entry: { kind: 'infeasible', uid, sinceMs: 5_000 } }])(
  'given a call that could not be made, then what was known stays: $entry',
  async ({ entry }) => {
    const failure = new Error('not sent');
    const result = await called(() => Promise.reject(failure), { entry });
    expect([result.result, result.entry]).toEqual([failure, entry]);
  },
);

it('given only the node expands, then there is no call, the size is the target, and nothing is remembered', () => {
  const run = runAlone();
  run.context.memory.set(run.key, inUse);
  expect(step.skipCall(run, size)).toEqual({ size, needsNode: true });
  expect(run.context.memory.get(run.key, uid)).toBe(undefined);
});

it('given calls one second apart, then a refusal with Aborted is logged with the open call before it, if there is one', async () => {
  const answer = { capacity_bytes: '1', node_expansion_required: true };
  const results = ['DeadlineExceeded', 'Aborted', 'OK', 'Aborted', 'Internal', 'Aborted'] as const;
  let index = 0;
  const call = async () => {
    const result = results[index++];
    if (result === undefined || result === 'OK') return answer;
    throw csiFailure(result);
  };
  const run = runAlone({ call });
  for (const _ of results) {
    await run.clock.advance(1_000);
    await step.expand(run, aClaim(), { request, migrated: false }).catch(() => undefined);
  }
  const method = '/csi.v1.Controller/ControllerExpandVolume';
  const waited = { key: 'team/data', volumeHandle: 'volume-1', method };
  expect(run.logger.lines.map(({ facts }) => facts)).toEqual([
    { ...waited, earlierMethod: method, ageSeconds: 1 },
    { ...waited, earlierMethod: 'unknown', ageSeconds: 'unknown' },
    { ...waited, earlierMethod: 'unknown', ageSeconds: 'unknown' },
  ]);
});

it.each<{ readonly by: (run: RunAlone) => unknown }>([
  { by: (run) => step.removeAnnotation(run, aVolume()) },
  { by: mark('new') },
  { by: (run) => step.expand(run, claim, { request, migrated: false }) },
  { by: (run) => step.saveVolume(run, aVolume(), { size, before: undefined }) },
  { by: saveResult(true, 'recovery') },
  { by: saveFailure(false) },
])('given no answer to $by, when the process must stop at once, then the step ends', async ({ by }) => {
  expect(await failureAtStop(by)).toEqual(
    expect.objectContaining({ message: expect.stringMatching(/\bstop at once$/) }),
  );
});
