// SPDX-License-Identifier: Apache-2.0
/** Writes A to F of the table of status writes in docs/behaviour/resizer.md, with and without recovery, as they are sent. */
import { ApiError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aCondition, csiFailure, sizeOf } from '../../testing/builders.ts';
import { type SentPatch, shownBy, stepAlone } from '../../testing/step-alone.ts';
import type { Claim } from '../claim.ts';
import { annotations } from '../names.ts';
import type { ExpandEntry } from './memory.ts';
import { performers } from './perform.ts';
import type { Action } from './state.ts';

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

type Writing = Extract<Action, { readonly kind: 'mark' | 'saveResult' | 'saveFailure' }>;

async function written(action: Writing, { state = {}, answer = async (): Promise<Claim> => stored } = {}) {
  const sent: SentPatch[] = [];
  const patch = async (_target: unknown, { body }: { readonly body: SentPatch }) => {
    sent.push(body);
    return await answer();
  };
  const { context, step } = stepAlone<ExpandEntry>({ patch, state });
  const learned = await performers(context)[action.kind]({ ...step, action } as never);
  return { sent, learned, entry: context.memory.get(step.key, uid) };
}

const mark = { row: 'E10', kind: 'mark', claim, target: size } as const;
const result = { row: 'E23', kind: 'saveResult', claim } as const;
const refusal = { row: 'E18', kind: 'saveFailure', claim, failure } as const;
const status = (storage: string | null): object => ({ allocatedResourceStatuses: { storage } });

it.each<{ readonly write: string; readonly action: Writing; readonly shown: object; readonly learned: object }>([
  {
    write: 'A',
    action: { ...mark, status: 'new' },
    shown: {
      guarded: '5',
      annotations: withoutNote,
      set: [set('Resizing')],
      removed: but('Resizing'),
      rest: { allocatedResources: { storage: '2Gi' }, ...status('ControllerResizeInProgress') },
    },
    learned: { marked: 'done', claim: stored, target: size },
  },
  {
    write: 'A without recovery',
    action: { ...mark, status: 'legacy' },
    shown: { guarded: '5', annotations: undefined, set: [set('Resizing')], removed: but('Resizing'), rest: {} },
    learned: { marked: 'done', claim: stored, target: size },
  },
  {
    write: 'B',
    action: { ...mark, claim: inProgress, status: 'same' },
    shown: { guarded: '5', annotations: withoutNote, set: [set('Resizing')], removed: [], rest: {} },
    learned: { marked: 'done', claim: stored, target: size },
  },
  {
    write: 'B after the end of an earlier attempt',
    action: { ...mark, status: 'same' },
    shown: {
      guarded: '5',
      annotations: withoutNote,
      set: [set('Resizing')],
      removed: [],
      rest: status('ControllerResizeInProgress'),
    },
    learned: { marked: 'done', claim: stored, target: size },
  },
  {
    write: 'C',
    action: { ...result, result: { needsNode: true, size, path: 'recovery' } },
    shown: {
      guarded: '5',
      annotations: withoutNote,
      set: [set('FileSystemResizePending')],
      removed: [],
      rest: status('NodeResizePending'),
    },
    learned: { resultSaved: 'done', claim: stored },
  },
  {
    write: 'C without recovery',
    action: { ...result, result: { needsNode: true, size, path: 'legacy' } },
    shown: {
      guarded: '5',
      annotations: undefined,
      set: [set('FileSystemResizePending')],
      removed: but('FileSystemResizePending'),
      rest: {},
    },
    learned: { resultSaved: 'done', claim: stored },
  },
  {
    write: 'D',
    action: { ...result, result: { needsNode: false, size, path: 'recovery' } },
    shown: {
      guarded: '5',
      annotations: withNote,
      set: [],
      removed: all,
      rest: { capacity: { storage: '2Gi' }, ...status(null) },
    },
    learned: { resultSaved: 'done', claim: stored },
  },
  {
    write: 'D without recovery',
    action: { ...result, result: { needsNode: false, size, path: 'legacy' } },
    shown: {
      guarded: '5',
      annotations: undefined,
      set: [],
      removed: all,
      rest: { capacity: { storage: '2Gi' } },
    },
    learned: { resultSaved: 'done', claim: stored },
  },
  {
    write: 'E',
    action: { ...refusal, isInfeasible: true },
    shown: {
      guarded: '5',
      annotations: undefined,
      set: [set('ControllerResizeError')],
      removed: [],
      rest: status('ControllerResizeInfeasible'),
    },
    learned: { failureSaved: 'done', claim: stored },
  },
  {
    write: 'F',
    action: { ...refusal, isInfeasible: false },
    shown: { guarded: '5', annotations: undefined, set: [set('ControllerResizeError')], removed: [], rest: {} },
    learned: { failureSaved: 'done', claim: stored },
  },
])(
  'given write $write, then exactly this is sent, other conditions stay, and the run knows the stored claim',
  async ({ action, shown, learned }) => {
    const { sent, learned: found } = await written(action);
    expect([sent.map(shownBy), found]).toEqual([[shown], learned]);
  },
);

it.each<{ readonly action: Writing; readonly type: string }>([
  { action: { ...mark, status: 'same' }, type: 'Resizing' },
  { action: { ...result, result: { needsNode: true, size, path: 'recovery' } }, type: 'FileSystemResizePending' },
  { action: { ...refusal, isInfeasible: false }, type: 'ControllerResizeError' },
])('given a claim without $type, then $action.kind sets its transition time', async ({ action, type }) => {
  const { sent } = await written({ ...action, claim: aClaim() });
  expect(sent.map(({ status: { conditions } }) => conditions)).toEqual([[set(type, now)]]);
});

describe('what is known about the call', () => {
  it.each<{ readonly given: string; readonly entry: ExpandEntry | undefined; readonly isInUse: boolean }>([
    { given: 'nothing', entry: undefined, isInUse: false },
    { given: 'a size that is infeasible', entry: { kind: 'infeasible', uid, sinceMs: 0 }, isInUse: false },
    { given: 'a refusal', entry: { kind: 'final', uid, isInUse: false }, isInUse: false },
    { given: 'a volume in use', entry: { kind: 'final', uid, isInUse: true }, isInUse: true },
  ])(
    'given $given, when another size is recorded, or the same one after its end, then no call is under way, and the volume is in use: $isInUse',
    async ({ entry, isInUse }) => {
      const state = { entry };
      for (const status of ['new', 'same'] as const) {
        expect((await written({ ...mark, status }, { state })).entry).toEqual({ kind: 'final', uid, isInUse });
      }
      const repeated = { ...mark, claim: inProgress, status: 'same' } as const;
      expect((await written(repeated, { state })).entry).toBeUndefined();
      expect((await written({ ...mark, status: 'legacy' }, { state })).entry).toBeUndefined();
    },
  );

  it('given another size that could not be recorded, then nothing is known, and the claim is what it was', async () => {
    const refused = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    const { learned, entry } = await written({ ...mark, status: 'new' }, { answer: () => Promise.reject(refused) });
    expect([learned, entry]).toEqual([{ marked: { failure: refused }, claim }, undefined]);
  });
});
