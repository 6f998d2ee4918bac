// SPDX-License-Identifier: Apache-2.0
/** The steps of a modification alone: what is sent, what is known afterwards, and what a stop at once aborts. */
import type { Code } from '@csi-sidecars/csi';
import { ApiError } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume, csiFailure, driverName } from '../../testing/builders.ts';
import {
  type Answers,
  failureAtStop,
  overtaken,
  type RunAlone,
  runAlone,
  shownBy,
  span,
  written,
} from '../../testing/run-alone.ts';
import type { Claim } from '../claim.ts';
import type { CallEntry } from '../claim-memory.ts';
import * as step from './steps.ts';

const [old, now] = ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'];
const uid = 'uid-of-data';
const version = (resourceVersion: string): Claim => {
  const claim = aClaim({
    wantedClass: 'gold',
    modifyStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
    conditions: ['Foreign', 'ModifyVolumeError', 'ModifyingVolume'].map((type) => aCondition(type)),
  });
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};
const [claim, stored] = [version('5'), version('6')];
const both = ['ModifyingVolume', 'ModifyVolumeError'];

type Writing = (run: RunAlone) => Promise<unknown>;

const accepted = async (): Promise<Claim> => stored;

const set = (
  type: string,
  message: string,
  { reason = null as string | null, lastTransitionTime = old } = {},
): object => ({
  type,
  status: 'True',
  message,
  reason,
  lastProbeTime: now,
  lastTransitionTime,
});
const begun = 'Modifying volume to "gold" is in progress.';
const failed = 'Modifying volume to "gold" failed. Waiting for retry.';
const open = 'Modifying volume to "gold" is still in progress.';
/** The error gets a reason that it did not have before. */
const error = (reason: string, message = 'no'): object =>
  set('ModifyVolumeError', message, { reason, lastTransitionTime: now });
const target = aClass('gold');
const foreignText = `VAC "alien" belongs to driver other, the volume to driver ${driverName}.`;

it.each<{ readonly write: string; readonly by: Writing; readonly shown: object }>([
  {
    write: 'Pending',
    by: (run) => step.savePending(run, claim),
    shown: { guarded: '5', set: [], removed: [], rest: { modifyVolumeStatus: { status: 'Pending' } } },
  },
  {
    write: 'a class of another driver',
    by: (run) => step.saveForeign(run, claim, { className: 'alien', text: foreignText }),
    shown: {
      guarded: '5',
      set: [error('InvalidArgument', foreignText), set('ModifyingVolume', failed.replace('gold', 'alien'))],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'alien' } },
    },
  },
  {
    write: 'a cancel',
    by: (run) => step.cancel(run, claim),
    shown: { guarded: '5', set: [], removed: ['ModifyingVolume'], rest: {} },
  },
  {
    write: 'the beginning',
    by: (run) => step.mark(run, claim, target),
    shown: {
      guarded: '5',
      set: [set('ModifyingVolume', begun)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } },
    },
  },
  {
    write: 'the result',
    by: (run) => step.saveResult(run, claim, 'gold'),
    shown: {
      guarded: '5',
      set: [],
      removed: both,
      rest: { modifyVolumeStatus: null, currentVolumeAttributesClassName: 'gold' },
    },
  },
  {
    write: 'a refusal',
    by: (run) => step.saveFailure(run, claim, { failure: csiFailure('Internal'), outcome: 'final' }),
    shown: {
      guarded: '5',
      set: [error('Internal'), set('ModifyingVolume', failed)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
  },
  {
    write: 'an infeasible class',
    by: (run) => step.saveFailure(run, claim, { failure: csiFailure('InvalidArgument'), outcome: 'infeasible' }),
    shown: {
      guarded: '5',
      set: [error('InvalidArgument'), set('ModifyingVolume', failed)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'Infeasible' } },
    },
  },
  {
    write: 'a refusal on a server that does not keep the recorded class',
    by: (run) => step.saveFailure(run, aClaim(), { failure: csiFailure('Internal'), outcome: 'final' }),
    shown: {
      guarded: undefined,
      set: [
        set('ModifyingVolume', 'Modifying volume to "" failed. Waiting for retry.', { lastTransitionTime: now }),
        error('Internal'),
      ],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
  },
  {
    write: 'a failure that is no status of the driver',
    by: (run) => step.saveFailure(run, claim, { failure: new Error('odd'), outcome: 'final' }),
    shown: {
      guarded: '5',
      set: [error('Unknown', 'odd'), set('ModifyingVolume', failed)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
  },
  {
    write: 'an open outcome',
    by: (run) => step.saveFailure(run, claim, { failure: csiFailure('Aborted'), outcome: 'open' }),
    shown: {
      guarded: '5',
      set: [error('Aborted'), set('ModifyingVolume', open)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
  },
])(
  'given $write, then exactly this is sent, other conditions stay, and the run knows the stored claim',
  async ({ by, shown }) => {
    const { sent, result } = await written(by, accepted);
    expect([sent.map(shownBy), result]).toEqual([[shown], stored]);
  },
);

it.each<{ readonly write: string; readonly by: Writing }>([
  { write: 'a beginning', by: (run) => step.mark(run, claim, target) },
  {
    write: 'a class of another driver',
    by: (run) => step.saveForeign(run, claim, { className: 'alien', text: foreignText }),
  },
])('given $write, then no call is under way; given it could not be recorded, then nothing is known', async ({ by }) => {
  expect((await written(by, accepted)).entry).toEqual({ kind: 'final', uid, isInUse: false });
  const refused = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
  const { result, entry } = await written(by, () => Promise.reject(refused));
  expect([result, entry]).toEqual([refused, undefined]);
});

const otherStatus = aClaim({ modifyStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' } });
const otherClass = aClaim({ modifyStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'silver' } });

it.each<{ readonly write: string; readonly by: Writing; readonly onceMore: number }>([
  { write: 'a beginning', by: (run) => step.mark(run, claim, target), onceMore: 0 },
  {
    write: 'a class of another driver',
    by: (run) => step.saveForeign(run, claim, { className: 'alien', text: foreignText }),
    onceMore: 0,
  },
  { write: 'a cancel', by: (run) => step.cancel(run, claim), onceMore: 1 },
  { write: 'the result', by: (run) => step.saveResult(run, claim, 'gold'), onceMore: 1 },
  {
    write: 'a refusal',
    by: (run) => step.saveFailure(run, claim, { failure: csiFailure('Internal'), outcome: 'final' }),
    onceMore: 1,
  },
])(
  'given a claim that changed before $write, then that is sent $onceMore times for the same modification, never for another one, and no call becomes known',
  async ({ by, onceMore }) => {
    const results = [await overtaken(by, claim), await overtaken(by, otherStatus), await overtaken(by, otherClass)];
    expect(results.map(({ sent, entry }) => [sent.length, entry])).toEqual([
      [onceMore, undefined],
      [0, undefined],
      [0, undefined],
    ]);
  },
);

it.each([
  { given: 'the class of before', was: 'silver', is: 'silver', sent: 1 },
  { given: 'no class any more, as its claim', was: 'silver', is: undefined, sent: 1 },
  { given: 'another class', was: undefined, is: 'silver', sent: 0 },
])('given a PersistentVolume that has $given by now, then its class is sent $sent times', async ({ was, is, sent }) => {
  const of = (name: string | undefined) =>
    aVolume({ spec: name === undefined ? {} : { volumeAttributesClassName: name } });
  const saved = await overtaken((run) => step.saveVolume(run, { claim, volume: of(was) }, 'gold'), of(is));
  const specs = [{ volumeAttributesClassName: 'gold' }].slice(0, sent);
  expect(saved.sent.map(({ spec }) => spec)).toEqual(specs);
});

const request = { volume_id: 'volume-1', mutable_parameters: { tier: 'gold' } };
const settled: CallEntry = { kind: 'final', uid, isInUse: false };

/** Makes the call 7 s after the start of the process; an entry is what was known before. */
async function called(call: NonNullable<Answers['call']>, entry: CallEntry = settled) {
  const run = runAlone({ call });
  run.context.memory.set(run.key, entry);
  await run.clock.advance(7_000);
  const result = await step.modify(run, aClaim(), request).catch((error: unknown) => error);
  return { result, entry: run.context.memory.get(run.key, uid), signal: run.signal };
}

it('given a success, then the call carried the timeout of modifications, and the signal and the span of the run, and nothing is remembered', async () => {
  const sent: unknown[] = [];
  const { entry, signal } = await called(async (...all: readonly unknown[]) => {
    sent.push(all);
    return {};
  });
  const options = { timeoutMs: 10_000, signal, span };
  expect([sent, entry]).toEqual([[['/csi.v1.Controller/ControllerModifyVolume', request, options]], undefined]);
});

it.each<{ readonly code: Exclude<Code, 'OK'>; readonly entry: CallEntry | undefined }>([
  { code: 'Internal', entry: settled },
  { code: 'InvalidArgument', entry: { kind: 'infeasible', uid, sinceMs: 7_000 } },
  { code: 'Aborted', entry: undefined },
])('given the answer $code, then $entry is remembered in place of what was known', async ({ code, entry }) => {
  const failure = csiFailure(code);
  const result = await called(() => Promise.reject(failure), { kind: 'infeasible', uid, sinceMs: 5_000 });
  expect([result.result, result.entry]).toEqual([failure, entry]);
});

it.each<{ readonly by: (run: RunAlone) => unknown }>([
  { by: (run) => step.savePending(run, claim) },
  { by: (run) => step.saveForeign(run, claim, { className: 'alien', text: foreignText }) },
  { by: (run) => step.cancel(run, claim) },
  { by: (run) => step.mark(run, claim, target) },
  { by: (run) => step.modify(run, claim, request) },
  { by: (run) => step.saveVolume(run, { claim, volume: aVolume() }, 'gold') },
  { by: (run) => step.saveResult(run, claim, 'gold') },
  { by: (run) => step.saveFailure(run, claim, { failure: csiFailure('Internal'), outcome: 'final' }) },
])('given no answer to $by, when the process must stop at once, then the step ends', async ({ by }) => {
  expect(await failureAtStop(by)).toEqual(
    expect.objectContaining({ message: expect.stringMatching(/\bstop at once$/) }),
  );
});
