// SPDX-License-Identifier: Apache-2.0
import { type PersistentVolume, toObjectKey } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume, driverName, someSettings } from '../../../testing/builders.ts';
import { aRestore, type UserFacts } from '../../../testing/source-builders.ts';
import { annotations } from '../../names.ts';
import { type Need, needOf, type NeedContext } from './need.ts';

interface Line {
  readonly id: string;
  readonly given: UserFacts;
  readonly state?: 'inUse' | 'failed';
  /** Name of a PersistentVolume for this claim. */
  readonly recorded?: string;
  readonly owner?: string;
  /** Who put the finalizer on the source. Default `found`. */
  readonly origin?: 'ours';
  readonly then: Need['kind'];
}

const theirs = { annotations: { [annotations.storageProvisioner]: 'other' } };

const lines: readonly Line[] = [
  { id: 'pending, not tried yet', given: {}, then: 'always' },
  { id: 'without a phase', given: { phase: '' }, then: 'always' },
  { id: 'of another driver, pending', given: theirs, then: 'always' },
  { id: 'of no driver yet, pending', given: { annotations: {} }, then: 'always' },
  { id: 'of no driver yet, beside one of this process', given: { annotations: {} }, origin: 'ours', then: 'none' },
  { id: 'of another driver, beside one of this process', given: theirs, origin: 'ours', then: 'always' },
  { id: 'of this driver, beside one of this process', given: {}, origin: 'ours', then: 'always' },
  { id: 'bound', given: { phase: 'Bound' }, then: 'none' },
  { id: 'lost', given: { phase: 'Lost' }, then: 'none' },
  { id: 'being deleted, pending', given: { deleting: 'yes' }, then: 'always' },
  { id: 'pending, its last call failed for good', given: {}, state: 'failed', then: 'unlessDeleted' },
  { id: 'pending, under way', given: {}, state: 'inUse', then: 'always' },
  { id: 'recorded, not bound yet', given: {}, recorded: 'pvc-uid-restored', then: 'none' },
  { id: 'recorded, but a call is open', given: {}, state: 'inUse', recorded: 'pvc-uid-restored', then: 'always' },
  { id: 'its name is taken', given: {}, recorded: 'pvc-uid-restored', owner: 'another', then: 'always' },
  { id: 'with an open outcome of an earlier process', given: { protection: 'on' }, then: 'always' },
  { id: 'bound, with an open outcome', given: { protection: 'on', phase: 'Bound' }, then: 'always' },
  {
    id: 'settled, its finalizer not yet removed',
    given: { protection: 'on' },
    state: 'failed',
    then: 'unlessDeleted',
  },
  {
    id: 'of another driver, with its outcome open',
    given: { ...theirs, phase: 'Bound', protection: 'on' },
    then: 'always',
  },
];

function contextOf(line: Partial<Line>): NeedContext {
  const { state = 'unknown' as never, recorded = '', owner = 'uid-restored', origin = 'found' } = line;
  const volume: PersistentVolume = aVolume({ spec: { claimRef: { uid: owner } } });
  return {
    driverName,
    settings: someSettings(),
    origin,
    references: { stateOf: () => state },
    volumes: { get: (key) => (key === toObjectKey(undefined, recorded) ? volume : undefined) },
  };
}

it.each(lines)('given a claim that is $id, then its need of the source is: $then', (line) => {
  const need = needOf([aRestore(line.given)], contextOf(line));
  expect(need).toEqual(line.then === 'none' ? { kind: 'none' } : { kind: line.then, claim: 'restored' });
});

it('given the name flags changed, then a PersistentVolume under either name records the claim', () => {
  const settings = someSettings({ volumeNamePrefix: 'vol' });
  const kinds = ['vol-uid-restored', 'pvc-uid-restored', 'other'].map(
    (recorded) => needOf([aRestore()], { ...contextOf({ recorded }), settings }).kind,
  );
  expect(kinds).toEqual(['none', 'none', 'always']);
});

it('given several claims, then the strongest need counts, whatever their order', () => {
  const bound = aRestore({ phase: 'Bound' });
  const [failed, foreign] = [aRestore({ name: 'failed' }), aRestore({ name: 'foreign', ...theirs })];
  const context = contextOf({ state: 'failed' });
  expect(needOf([bound, failed], context)).toEqual({ kind: 'unlessDeleted', claim: 'failed' });
  expect(needOf([failed, foreign, bound], context)).toEqual({ kind: 'always', claim: 'foreign' });
  expect(needOf([foreign, failed], context)).toEqual({ kind: 'always', claim: 'foreign' });
  expect(needOf([], context)).toEqual({ kind: 'none' });
});
