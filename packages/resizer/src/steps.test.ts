// SPDX-License-Identifier: Apache-2.0
/** The steps that both loops have. Calls: `expand/steps.test.ts` and `modify/steps.test.ts`. */
import { done } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { runAlone } from '../testing/run-alone.ts';
import { conclude, lockVolume, readCallSecret } from './steps.ts';

it('given volumes without a handle, then each of them is locked by its name', () => {
  const run = runAlone();
  const [first, second] = ['pv1', 'pv2'].map((name) => ({ metadata: { name } }));
  const other = { ...run, key: 'team/other' as never };
  expect([
    lockVolume(run, 'expand', first!),
    lockVolume(other, 'expand', second!),
    lockVolume(other, 'expand', first!),
  ]).toEqual([true, true, false]);
});

it('given a secret that cannot be read, then the error names it and keeps the cause, and the request carried the signal of the run', async () => {
  const cause = new Error('no');
  const signals: unknown[] = [];
  const get = async (_secrets: object, _reference: object, options: { readonly signal?: AbortSignal }) => {
    signals.push(options.signal);
    throw cause;
  };
  const run = runAlone({ get });
  const reading = readCallSecret(run, { namespace: 'ns', name: 's' });
  await expect(reading).rejects.toMatchObject({ message: 'error getting secret s in namespace ns: no', cause });
  expect(signals).toEqual([run.signal]);
});

it('given the end of a run, then it is a conclusion with its events', () => {
  const event = { type: 'Normal', reason: 'R', message: '' } as const;
  expect(conclude('E1', done, event)).toEqual({ row: 'E1', kind: 'conclude', outcome: done, events: [event] });
});
