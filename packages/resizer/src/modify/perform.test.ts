// SPDX-License-Identifier: Apache-2.0
/** The steps of a modification alone: what a call carries, what is known about it afterwards, and what a stop at once aborts. */
import type { Code } from '@csi-sidecars/csi';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume, csiFailure } from '../../testing/builders.ts';
import { failedAtStop, stepAlone, type StepAloneOptions } from '../../testing/step-alone.ts';
import type { ModifyEntry } from './memory.ts';
import { performers } from './perform.ts';
import type { Action } from './state.ts';

const uid = 'uid-of-data';
const request = { volume_id: 'volume-1', mutable_parameters: { tier: 'gold' } };
const settled: ModifyEntry = { kind: 'settled', uid };

/** Makes the call 7 s after the start of the process; an entry is what was known before. */
async function called(call: NonNullable<StepAloneOptions['call']>, entry: ModifyEntry = settled) {
  const { context, step } = stepAlone<ModifyEntry>({ call });
  context.memory.set(step.key, entry);
  await step.clock.advance(7_000);
  const action = { row: 'M16', kind: 'modify', claim: aClaim(), request } as const;
  const learned = await performers(context).modify({ ...step, action } as never);
  return { learned, entry: context.memory.get(step.key, uid), signal: step.signal };
}

it('given a success, then the call carried the timeout of modifications and the signal of the run, and nothing is remembered', async () => {
  const sent: unknown[] = [];
  const result = await called(async (...all: readonly unknown[]) => {
    sent.push(all);
    return {};
  });
  const options = { timeoutMs: 10_000, signal: result.signal };
  expect(sent).toEqual([['/csi.v1.Controller/ControllerModifyVolume', request, options]]);
  expect([result.learned, result.entry]).toEqual([{ modified: 'done' }, undefined]);
});

it.each<{ readonly code: Exclude<Code, 'OK'>; readonly entry: ModifyEntry | undefined }>([
  { code: 'Internal', entry: settled },
  { code: 'InvalidArgument', entry: { kind: 'infeasible', uid, sinceMs: 7_000 } },
  { code: 'Aborted', entry: undefined },
])('given the answer $code, then $entry is remembered in place of what was known', async ({ code, entry }) => {
  const failure = csiFailure(code);
  const result = await called(() => Promise.reject(failure), { kind: 'infeasible', uid, sinceMs: 5_000 });
  expect([result.learned, result.entry]).toEqual([{ modified: { failure } }, entry]);
});

it.each<{ readonly entry: ModifyEntry }>([{ entry: settled }, { entry: { kind: 'infeasible', uid, sinceMs: 5_000 } }])(
  'given a call that could not be made, then what was known stays: $entry',
  async ({ entry }) => {
    const failure = new Error('not sent');
    const result = await called(() => Promise.reject(failure), entry);
    expect([result.learned, result.entry]).toEqual([{ modified: { failure } }, entry]);
  },
);

const claim = aClaim();
const stopped = [{ failure: expect.objectContaining({ message: expect.stringMatching(/\bstop at once$/) }) }];

it.each<Exclude<Action, { readonly kind: 'conclude' }>>([
  { row: 'M6', kind: 'cancel', claim },
  { row: 'M9', kind: 'savePending', claim },
  { row: 'M12', kind: 'mark', claim, target: aClass() },
  { row: 'M15', kind: 'readSecret', reference: { namespace: 'team', name: 'login' } },
  { row: 'M16', kind: 'modify', claim, request },
  { row: 'M17', kind: 'saveVolume', volume: aVolume(), className: 'gold' },
  { row: 'M18', kind: 'saveResult', claim, className: 'gold' },
  { row: 'M22', kind: 'saveFailure', claim, failure: csiFailure('Internal'), outcome: 'final' },
])('given no answer to $kind, when the process must stop at once, then the step ends', async (action) => {
  const { context, ...alone } = stepAlone<ModifyEntry>();
  expect(await failedAtStop(performers(context)[action.kind], { ...alone, action })).toEqual(stopped);
});
