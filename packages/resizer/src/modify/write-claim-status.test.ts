// SPDX-License-Identifier: Apache-2.0
/** What the modification loop writes to a claim, as it is sent. */
import { ApiError } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass, aCondition, csiFailure, driverName } from '../../testing/builders.ts';
import { type SentPatch, shownBy, stepAlone } from '../../testing/step-alone.ts';
import type { Claim } from '../claim.ts';
import type { ModifyEntry } from './memory.ts';
import { performers } from './perform.ts';
import type { Action } from './state.ts';

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

type Writing = Extract<
  Action,
  { readonly kind: 'savePending' | 'saveForeign' | 'cancel' | 'mark' | 'saveResult' | 'saveFailure' }
>;

async function written(action: Writing, answer: () => Promise<Claim> = async () => stored) {
  const sent: SentPatch[] = [];
  const patch = async (_target: unknown, { body }: { readonly body: SentPatch }) => {
    sent.push(body);
    return await answer();
  };
  const { context, step } = stepAlone<ModifyEntry>({ patch });
  const learned = await performers(context)[action.kind]({ ...step, action } as never);
  return { sent, learned, entry: context.memory.get(step.key, uid) };
}

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
const refusal = { row: 'M22', kind: 'saveFailure', claim } as const;
/** The error gets a reason that it did not have before. */
const error = (reason: string, message = 'no'): object =>
  set('ModifyVolumeError', message, { reason, lastTransitionTime: now });
const target = aClass('gold');
const foreign = aClass('alien', { driverName: 'other' });
const foreignText = `VAC "alien" belongs to driver other, the volume to driver ${driverName}.`;

it.each<{ readonly write: string; readonly action: Writing; readonly shown: object; readonly learned: object }>([
  {
    write: 'Pending',
    action: { row: 'M9', kind: 'savePending', claim },
    shown: { guarded: '5', set: [], removed: [], rest: { modifyVolumeStatus: { status: 'Pending' } } },
    learned: { noCallSaved: 'done', claim: stored },
  },
  {
    write: 'a class of another driver',
    action: { row: 'M10', kind: 'saveForeign', claim, target: foreign },
    shown: {
      guarded: '5',
      set: [error('InvalidArgument', foreignText), set('ModifyingVolume', failed.replace('gold', 'alien'))],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'alien' } },
    },
    learned: { noCallSaved: 'done', claim: stored },
  },
  {
    write: 'a cancel',
    action: { row: 'M6', kind: 'cancel', claim },
    shown: { guarded: '5', set: [], removed: ['ModifyingVolume'], rest: {} },
    learned: { cancelled: 'done', claim: stored },
  },
  {
    write: 'the beginning',
    action: { row: 'M12', kind: 'mark', claim, target },
    shown: {
      guarded: '5',
      set: [set('ModifyingVolume', begun)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } },
    },
    learned: { marked: 'done', claim: stored, modifiesTo: target },
  },
  {
    write: 'the result',
    action: { row: 'M18', kind: 'saveResult', claim, className: 'gold' },
    shown: {
      guarded: '5',
      set: [],
      removed: both,
      rest: { modifyVolumeStatus: null, currentVolumeAttributesClassName: 'gold' },
    },
    learned: { resultSaved: 'done', claim: stored },
  },
  {
    write: 'a refusal',
    action: { ...refusal, failure: csiFailure('Internal'), outcome: 'final' },
    shown: {
      guarded: '5',
      set: [error('Internal'), set('ModifyingVolume', failed)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
    learned: { failureSaved: 'done', claim: stored },
  },
  {
    write: 'an infeasible class',
    action: { ...refusal, failure: csiFailure('InvalidArgument'), outcome: 'infeasible' },
    shown: {
      guarded: '5',
      set: [error('InvalidArgument'), set('ModifyingVolume', failed)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'Infeasible' } },
    },
    learned: { failureSaved: 'done', claim: stored },
  },
  {
    write: 'a refusal on a server that does not keep the recorded class',
    action: { ...refusal, claim: aClaim(), failure: csiFailure('Internal'), outcome: 'final' },
    shown: {
      guarded: undefined,
      set: [
        set('ModifyingVolume', 'Modifying volume to "" failed. Waiting for retry.', { lastTransitionTime: now }),
        error('Internal'),
      ],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
    learned: { failureSaved: 'done', claim: stored },
  },
  {
    write: 'a failure that is no status of the driver',
    action: { ...refusal, failure: new Error('odd'), outcome: 'final' },
    shown: {
      guarded: '5',
      set: [error('Unknown', 'odd'), set('ModifyingVolume', failed)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
    learned: { failureSaved: 'done', claim: stored },
  },
  {
    write: 'an open outcome',
    action: { ...refusal, failure: csiFailure('Aborted'), outcome: 'open' },
    shown: {
      guarded: '5',
      set: [error('Aborted'), set('ModifyingVolume', open)],
      removed: [],
      rest: { modifyVolumeStatus: { status: 'InProgress' } },
    },
    learned: { failureSaved: 'done', claim: stored },
  },
])(
  'given $write, then exactly this is sent, other conditions stay, and the run knows the stored claim',
  async ({ action, shown, learned }) => {
    const { sent, learned: found } = await written(action);
    expect([sent.map(shownBy), found]).toEqual([[shown], learned]);
  },
);

it.each<{ readonly write: string; readonly action: Writing; readonly field: string }>([
  { write: 'a beginning', action: { row: 'M12', kind: 'mark', claim, target }, field: 'marked' },
  {
    write: 'a class of another driver',
    action: { row: 'M10', kind: 'saveForeign', claim, target: foreign },
    field: 'noCallSaved',
  },
])(
  'given $write, then no call is under way; given it could not be recorded, then nothing is known',
  async ({ action, field }) => {
    expect((await written(action)).entry).toEqual({ kind: 'settled', uid });
    const refused = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    const { learned, entry } = await written(action, () => Promise.reject(refused));
    expect([learned, entry]).toEqual([{ [field]: { failure: refused }, claim }, undefined]);
  },
);
