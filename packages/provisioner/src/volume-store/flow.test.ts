// SPDX-License-Identifier: Apache-2.0
/** What a run of the save loop begins with, and one line per answer of the API server: how the run ends. */
import type { Lister, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, aDriver, aNodeDeployment, aVolume, someSettings } from '../../testing/builders.ts';
import { pinned } from '../../testing/claim-states.ts';
import { createClaimMemory, type Saving } from '../claim/memory.ts';
import { observe, save } from './loop.ts';
import type { SaveOutcome } from './outcome.ts';

const saving: Saving = { kind: 'saving', claim: aClaim(), pinned, volume: aVolume(), deletion: undefined };

function observed(cached: PersistentVolumeClaim | undefined, settings = someSettings()) {
  const memory = createClaimMemory();
  memory.set(saving);
  const claims = { byIndex: () => (cached === undefined ? [] : [cached]) } as unknown as Lister<PersistentVolumeClaim>;
  const deps = { memory, claims, driver: aDriver(), settings };
  return { waiting: observe(deps, pinned.plan.volumeName), other: observe(deps, 'pvc-other') };
}

it('given nothing waits under a name, then there is no state', () => {
  expect(observed(aClaim()).other).toBeUndefined();
});

it('given a volume that waits, then its claim is that of the cache, or else that of memory without our finalizer', () => {
  const cached = aClaim({ protection: 'on', annotations: { note: 'newer' } });
  expect(observed(cached).waiting).toEqual({ saving, claim: cached, isProtected: true });
  expect(observed(aClaim()).waiting).toMatchObject({ isProtected: false });
  expect(observed(undefined).waiting).toMatchObject({ claim: saving.claim, isProtected: false });
});

it('given the finalizer of the instance of another node, then it is not ours to remove', () => {
  const settings = someSettings({ node: aNodeDeployment('n1') });
  expect(observed(aClaim({ protection: 'on', node: 'n2' }), settings).waiting).toMatchObject({ isProtected: false });
  expect(observed(aClaim({ protection: 'on', node: 'n1' }), settings).waiting).toMatchObject({ isProtected: true });
});

const cause = new Error('down');
const success = 'Normal: Successfully provisioned volume pvc-uid-data';

it.each<{ readonly answer: SaveOutcome; readonly ends: string }>([
  { answer: { row: 'S1', kind: 'saved', claim: 'there' }, ends: `done, ${success}, settled` },
  { answer: { row: 'S1', kind: 'saved', claim: 'gone' }, ends: 'done, settled' },
  { answer: { row: 'S3', kind: 'saved', claim: 'gone' }, ends: 'done, settled' },
  { answer: { row: 'S4', kind: 'taken', message: 'theirs' }, ends: 'done, Warning: theirs, settled' },
  { answer: { row: 'S5', kind: 'refused', message: 'other' }, ends: 'done, Warning: other, again' },
  { answer: { row: 'S6', kind: 'later', cause }, ends: 'retry, saving' },
  { answer: { row: 'S7', kind: 'refused', message: 'bad' }, ends: 'done, Warning: bad, again' },
  { answer: { row: 'S8', kind: 'later', cause }, ends: 'retry, saving' },
])('S9, $answer.row: given $answer.kind, then the run ends as $ends', async ({ answer, ends }) => {
  const flow = save({ saving, claim: aClaim(), isProtected: true });
  const { said, steps, conclusion } = await walkFlow(flow, { sendVolume: answer });
  const events = conclusion.events.map(({ type, message }) => `${type}: ${message}`);
  expect(steps).toEqual(['S9 sendVolume']);
  expect(said('sendVolume')).toEqual([[saving.volume]]);
  expect([
    conclusion.row,
    conclusion.kind,
    [conclusion.outcome.kind, ...events, conclusion.claimIs].join(', '),
  ]).toEqual([answer.row, 'conclude', ends]);
});
