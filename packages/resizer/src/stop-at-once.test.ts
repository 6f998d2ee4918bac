// SPDX-License-Identifier: Apache-2.0
/** A process that must stop at once waits for nothing: every request and every call carries the signal of the run. */
import { ApiError, isFailed } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume, csiFailure, sizeOf } from '../testing/builders.ts';
import { stepAlone } from '../testing/step-alone.ts';
import type { ExpandEntry } from './expand/memory.ts';
import { performers as expandPerformers } from './expand/perform.ts';
import type { Action as ExpandAction } from './expand/state.ts';
import type { ModifyEntry } from './modify/memory.ts';
import { performers as modifyPerformers } from './modify/perform.ts';
import type { Action as ModifyAction } from './modify/state.ts';

type StepOf<Action extends { readonly kind: string }> = Exclude<Action, { readonly kind: 'conclude' }>;
type Perform = (step: unknown) => Promise<object>;

const [claim, volume, target] = [aClaim(), aVolume(), aClass()];
const reference = { namespace: 'team', name: 'login' };
const size = sizeOf('2Gi');
const failure = csiFailure('Internal');

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
    const { context, step, stop } = stepAlone<ExpandEntry>();
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
    const { context, step, stop } = stepAlone<ModifyEntry>();
    const perform = modifyPerformers(context)[action.kind] as Perform;
    expect(await learnedFrom(perform, { ...step, action }, stop)).toEqual(stopped);
  });

  it('the read of a claim after a conflict', async () => {
    const refused = new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
    const { context, step, stop } = stepAlone<ModifyEntry>({ patch: () => Promise.reject(refused) });
    const action = { row: 'M12', kind: 'mark', claim, target };
    const perform = modifyPerformers(context).mark as Perform;
    expect(await learnedFrom(perform, { ...step, action }, stop)).toEqual([{ failure: refused }]);
  });
});
