// SPDX-License-Identifier: Apache-2.0
/** The steps of a modification alone: what a call carries, what is known about it afterwards, and what a stop at once aborts. */
import type { Code } from '@csi-sidecars/csi';
import { ApiError, type VolumeAttributesClass } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
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

describe('given a claim that an earlier process has written, when it is read', () => {
  const claim = aClaim({
    wantedClass: 'silver',
    modifyStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
  });
  const classes = { get: (name: string): VolumeAttributesClass => aClass(name) };

  async function confirmed(get: NonNullable<StepAloneOptions['get']>) {
    const { step, context } = stepAlone<ModifyEntry>({ get });
    const remembered: unknown[] = [];
    const claims = { remember: (found: unknown) => void remembered.push(found), doubt: () => undefined };
    const action = { row: 'M8', kind: 'confirm', claim } as const;
    const learned = await performers(context).confirm({ ...step, action, caches: { claims, classes } } as never);
    return { learned, remembered };
  }

  it('then the run goes on with the claim as it is now, and with its classes', async () => {
    const asked: unknown[] = [];
    const { learned, remembered } = await confirmed((...all) => {
      asked.push(all[1]);
      return Promise.resolve(claim);
    });
    const known = { confirmed: 'done', claim, wantedClass: aClass('silver'), targetClass: aClass('gold') };
    expect([asked, learned, remembered]).toEqual([[{ namespace: 'team', name: 'data' }], known, [claim]]);
  });

  it('and is gone, or another one of its name, then the run has no claim, and nothing is remembered', async () => {
    const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
    for (const get of [() => Promise.reject(notFound), () => Promise.resolve(aClaim({ uid: 'next' }))]) {
      expect(await confirmed(get)).toEqual({ learned: { confirmed: 'done', claim: undefined }, remembered: [] });
    }
  });

  it('and the read fails, then the run knows the failure only', async () => {
    const failure = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    expect(await confirmed(() => Promise.reject(failure))).toEqual({
      learned: { confirmed: { failure } },
      remembered: [],
    });
  });
});

const claim = aClaim();
const stopped = [{ failure: expect.objectContaining({ message: expect.stringMatching(/\bstop at once$/) }) }];

it.each<Exclude<Action, { readonly kind: 'conclude' }>>([
  { row: 'M6', kind: 'cancel', claim },
  { row: 'M8', kind: 'confirm', claim },
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
