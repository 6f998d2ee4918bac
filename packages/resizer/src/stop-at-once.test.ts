// SPDX-License-Identifier: Apache-2.0
/** A process that must stop at once waits for nothing: every request and every call carries the signal of the run. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { ApiError, type EventRecorder, isFailed, type LoopPorts } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aDriver, aVolume, csiFailure, sizeOf, someSettings } from '../testing/builders.ts';
import { claimKey } from './claim.ts';
import { createClaimMemory } from './claim-memory.ts';
import type { ExpandEntry } from './expand/memory.ts';
import { performers as expandPerformers } from './expand/perform.ts';
import type { Action as ExpandAction } from './expand/state.ts';
import type { ModifyEntry } from './modify/memory.ts';
import { performers as modifyPerformers } from './modify/perform.ts';
import type { Action as ModifyAction } from './modify/state.ts';
import { createOpenCalls } from './open-calls.ts';
import { createOwnWrites } from './own-writes.ts';
import { createVolumeTurns } from './volume-turns.ts';

type StepOf<Action extends { readonly kind: string }> = Exclude<Action, { readonly kind: 'conclude' }>;
type Perform = (step: unknown) => Promise<object>;
interface Options {
  readonly signal?: AbortSignal;
}

const [claim, volume, target] = [aClaim(), aVolume(), aClass()];
const key = claimKey(claim);
const reference = { namespace: 'team', name: 'login' };
const size = sizeOf('2Gi');
const failure = csiFailure('Internal');

/** Never answers; ends with the reason of the signal. */
const silence = (_target: unknown, _detail: unknown, { signal }: Options): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

function prepare<Entry extends ExpandEntry | ModifyEntry>({ patch = silence, call = silence } = {}) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const context = {
    driver: aDriver(),
    channel: { call } as unknown as CsiChannel,
    settings: someSettings(),
    events: {} as EventRecorder,
    memory: createClaimMemory<Entry>(),
    turns: createVolumeTurns(),
    ownWrites: createOwnWrites(),
    openCalls: createOpenCalls({ clock, logger }),
  };
  const stop = new AbortController();
  const client = { patch, get: silence } as unknown as LoopPorts['client'];
  const step = { client, clock, logger, key, state: {}, caches: {}, signal: stop.signal };
  return { context, step, stop };
}

/** What the run has learned once the process had to stop. */
async function learnedFrom(perform: Perform, step: object, stop: AbortController): Promise<readonly unknown[]> {
  let learned: object | undefined;
  void perform(step).then((result) => (learned = result));
  await settle();
  expect(learned).toBeUndefined();
  stop.abort(new Error('stop at once'));
  await settle();
  return Object.values(learned ?? {}).filter((result) => isFailed(result as never));
}
const stopped = [{ failure: expect.objectContaining({ message: expect.stringMatching(/\bstop at once$/) }) }];

describe('given no answer, when the process must stop at once, then the step ends with the reason of the stop', () => {
  it.each<StepOf<ExpandAction>>([
    { row: 'E4', kind: 'removeAnnotation', volume },
    { row: 'E10', kind: 'mark', claim, target: size, status: 'new' },
    { row: 'E14', kind: 'readSecret', reference },
    { row: 'E15', kind: 'expand', claim, request: { volume_id: 'volume-1' }, migrated: false },
    { row: 'E21', kind: 'saveVolume', volume, size },
    { row: 'E23', kind: 'saveResult', claim, result: { needsNode: true, size, path: 'recovery' } },
    { row: 'E18', kind: 'saveFailure', claim, failure, isInfeasible: false },
  ])('an expansion: $kind', async (action) => {
    const { context, step, stop } = prepare<ExpandEntry>();
    const perform = expandPerformers(context)[action.kind] as Perform;
    expect(await learnedFrom(perform, { ...step, action }, stop)).toEqual(stopped);
  });

  it.each<StepOf<ModifyAction>>([
    { row: 'M6', kind: 'cancel', claim },
    { row: 'M8', kind: 'confirm', claim },
    { row: 'M9', kind: 'savePending', claim },
    { row: 'M12', kind: 'mark', claim, target },
    { row: 'M15', kind: 'readSecret', reference },
    { row: 'M16', kind: 'modify', claim, request: { volume_id: 'volume-1' } },
    { row: 'M17', kind: 'saveVolume', volume, className: 'gold' },
    { row: 'M18', kind: 'saveResult', claim, className: 'gold' },
    { row: 'M22', kind: 'saveFailure', claim, failure, outcome: 'final' },
  ])('a modification: $kind', async (action) => {
    const { context, step, stop } = prepare<ModifyEntry>();
    const perform = modifyPerformers(context)[action.kind] as Perform;
    expect(await learnedFrom(perform, { ...step, action }, stop)).toEqual(stopped);
  });

  it('the read of a claim after a conflict', async () => {
    const refused = new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
    const { context, step, stop } = prepare<ModifyEntry>({ patch: () => Promise.reject(refused) });
    const action = { row: 'M12', kind: 'mark', claim, target };
    const perform = modifyPerformers(context).mark as Perform;
    expect(await learnedFrom(perform, { ...step, action }, stop)).toEqual([{ failure: refused }]);
  });
});

describe('given a call that could not be made, then what is known about the last one stays', () => {
  const notSent = () => Promise.reject(new Error('not sent'));
  const request = { volume_id: 'volume-1' };
  const uid = 'uid-of-data';

  it('an expansion', async () => {
    for (const entry of [undefined, { kind: 'final', uid, isInUse: true } as const]) {
      const { context, step } = prepare<ExpandEntry>({ call: notSent });
      if (entry !== undefined) context.memory.set(key, entry);
      const action = { row: 'E15', kind: 'expand', claim, request, migrated: false };
      const learned = await (expandPerformers(context).expand as Perform)({ ...step, action });
      expect([learned, context.memory.get(key, uid)]).toEqual([
        { expanded: { failure: new Error('not sent') } },
        entry,
      ]);
    }
  });

  it('a modification', async () => {
    for (const entry of [undefined, { kind: 'settled', uid } as const]) {
      const { context, step } = prepare<ModifyEntry>({ call: notSent });
      if (entry !== undefined) context.memory.set(key, entry);
      const action = { row: 'M16', kind: 'modify', claim, request };
      const learned = await (modifyPerformers(context).modify as Perform)({ ...step, action });
      expect([learned, context.memory.get(key, uid)]).toEqual([
        { modified: { failure: new Error('not sent') } },
        entry,
      ]);
    }
  });
});
