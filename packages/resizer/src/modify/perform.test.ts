// SPDX-License-Identifier: Apache-2.0
/** A call of ControllerModifyVolume: what it carries, and what is known about it afterwards. */
import type { Code } from '@csi-sidecars/csi';
import { expect, it } from 'vitest';
import { aClaim, csiFailure } from '../../testing/builders.ts';
import { stepAlone, type StepAloneOptions } from '../../testing/step-alone.ts';
import type { ModifyEntry } from './memory.ts';
import { performers } from './perform.ts';

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
