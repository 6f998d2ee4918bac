// SPDX-License-Identifier: Apache-2.0
/** The steps of an expansion alone: what a call carries, what is known about it afterwards, and what a stop at once aborts. */
import type { Code } from '@csi-sidecars/csi';
import { expect, it } from 'vitest';
import { aClaim, aVolume, csiFailure, sizeOf } from '../../testing/builders.ts';
import { failedAtStop, stepAlone, type StepAloneOptions } from '../../testing/step-alone.ts';
import type { ExpandEntry } from './memory.ts';
import { performers } from './perform.ts';
import type { Action } from './state.ts';

const uid = 'uid-of-data';
const request = { volume_id: 'volume-1' };
const inUse: ExpandEntry = { kind: 'final', uid, isInUse: true };

/** Makes the call 7 s after the start of the process; an entry is what was known before. */
async function called(call: NonNullable<StepAloneOptions['call']>, { migrated = false, entry = inUse } = {}) {
  const { context, step } = stepAlone<ExpandEntry>({ call });
  context.memory.set(step.key, entry);
  await step.clock.advance(7_000);
  const action = { row: 'E15', kind: 'expand', claim: aClaim(), request, migrated } as const;
  const learned = await performers(context).expand({ ...step, action } as never);
  return { learned, entry: context.memory.get(step.key, uid), signal: step.signal };
}

it.each([true, false])(
  'given a volume with migrated %s, then the call carries that, the timeout of expansions and the signal of the run',
  async (migrated) => {
    const sent: unknown[] = [];
    const call = async (...all: readonly unknown[]) => {
      sent.push(all);
      return { capacity_bytes: '1', node_expansion_required: true };
    };
    const { signal } = await called(call, { migrated });
    const options = { timeoutMs: 10_000, signal, migrated };
    expect(sent).toEqual([['/csi.v1.Controller/ControllerExpandVolume', request, options]]);
  },
);

it.each([true, false])(
  'given an answer with node_expansion_required %s, then size and need of the node are as it says, and nothing is remembered',
  async (needsNode) => {
    const answer = { capacity_bytes: '2147483648', node_expansion_required: needsNode };
    const { learned, entry } = await called(() => Promise.resolve(answer));
    expect([learned, entry]).toEqual([{ expanded: { value: { size: sizeOf('2Gi'), needsNode } } }, undefined]);
  },
);

it.each<{ readonly code: Exclude<Code, 'OK'>; readonly entry: ExpandEntry | undefined }>([
  { code: 'Internal', entry: { kind: 'final', uid, isInUse: false } },
  { code: 'FailedPrecondition', entry: { kind: 'final', uid, isInUse: true } },
  { code: 'OutOfRange', entry: { kind: 'infeasible', uid, sinceMs: 7_000 } },
  { code: 'Aborted', entry: undefined },
])('given the answer $code, then $entry is remembered in place of what was known', async ({ code, entry }) => {
  const failure = csiFailure(code);
  const result = await called(() => Promise.reject(failure));
  expect([result.learned, result.entry]).toEqual([{ expanded: { failure } }, entry]);
});

it.each<{ readonly entry: ExpandEntry }>([{ entry: inUse }, { entry: { kind: 'infeasible', uid, sinceMs: 5_000 } }])(
  'given a call that could not be made, then what was known stays: $entry',
  async ({ entry }) => {
    const failure = new Error('not sent');
    const result = await called(() => Promise.reject(failure), { entry });
    expect([result.learned, result.entry]).toEqual([{ expanded: { failure } }, entry]);
  },
);

it('given only the node expands, then there is no call, the size is the target, and nothing is remembered', async () => {
  const { context, step } = stepAlone<ExpandEntry>();
  context.memory.set(step.key, inUse);
  const target = sizeOf('2Gi');
  const learned = await performers(context).skipCall({ ...step, action: { target } } as never);
  expect([learned, context.memory.get(step.key, uid)]).toEqual([
    { expanded: { value: { size: target, needsNode: true } } },
    undefined,
  ]);
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
  const { context, step } = stepAlone<ExpandEntry>({ call });
  const action = { row: 'E15', kind: 'expand', claim: aClaim(), request, migrated: false } as const;
  for (const _ of results) {
    await step.clock.advance(1_000);
    await performers(context).expand({ ...step, action } as never);
  }
  const method = '/csi.v1.Controller/ControllerExpandVolume';
  const waited = { key: 'team/data', volumeHandle: 'volume-1', method };
  expect(step.logger.lines.map(({ facts }) => facts)).toEqual([
    { ...waited, earlierMethod: method, ageSeconds: 1 },
    { ...waited, earlierMethod: 'unknown', ageSeconds: 'unknown' },
    { ...waited, earlierMethod: 'unknown', ageSeconds: 'unknown' },
  ]);
});

const [claim, volume, size] = [aClaim(), aVolume(), sizeOf('2Gi')];
const stopped = [{ failure: expect.objectContaining({ message: expect.stringMatching(/\bstop at once$/) }) }];

it.each<Exclude<Action, { readonly kind: 'conclude' }>>([
  { row: 'E4', kind: 'removeAnnotation', volume },
  { row: 'E10', kind: 'mark', claim, target: size, status: 'new' },
  { row: 'E14', kind: 'readSecret', reference: { namespace: 'team', name: 'login' } },
  { row: 'E15', kind: 'expand', claim, request, migrated: false },
  { row: 'E21', kind: 'saveVolume', volume, size },
  { row: 'E23', kind: 'saveResult', claim, result: { needsNode: true, size, path: 'recovery' } },
  { row: 'E18', kind: 'saveFailure', claim, failure: csiFailure('Internal'), isInfeasible: false },
])('given no answer to $kind, when the process must stop at once, then the step ends', async (action) => {
  const { context, ...alone } = stepAlone<ExpandEntry>();
  expect(await failedAtStop(performers(context)[action.kind], { ...alone, action })).toEqual(stopped);
});
