// SPDX-License-Identifier: Apache-2.0
/** The state of one claim, from caches and memory that the test fills. */
import type { Caches, KubeObject, PersistentVolume, PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNodeDeployment, aVolume, driverName, someSettings } from '../../testing/builders.ts';
import { context, pinned, unusable } from '../../testing/claim-states.ts';
import { uidOf } from './claim.ts';
import { instanceAnnotation } from '../names.ts';
import { createClaimMemory, type ClaimRecord } from './memory.ts';
import { observe } from './observe.ts';
import type { ClaimLoop } from './state.ts';

interface Given {
  /** Default: a claim in the cache. */
  readonly claim?: PersistentVolumeClaim | null;
  readonly entry?: ClaimRecord;
  readonly volumes?: readonly PersistentVolume[];
  /** Default: the class of the claim. */
  readonly storageClass?: StorageClass | null;
  readonly volumeNamePrefix?: string;
  /** The instance of this node, whose wait has 700 ms left. */
  readonly node?: string;
}

const uid = uidOf(aClaim());
const clock = new FakeClock();

function observed({
  claim = aClaim(),
  entry,
  volumes = [],
  storageClass = aClass(),
  volumeNamePrefix = 'pvc',
  node,
}: Given) {
  const memory = createClaimMemory();
  if (entry !== undefined) memory.set(entry);
  const byName = (objects: readonly KubeObject[]) => ({
    get: (key: string) => objects.find(({ metadata }) => metadata?.name === key),
    list: () => objects,
  });
  const caches = {
    claims: { byIndex: () => (claim === null ? [] : [claim]) },
    volumes: byName(volumes),
    classes: byName(storageClass === null ? [] : [storageClass]),
    nodes: byName([]),
    csiNodes: byName([]),
  } as unknown as Caches<ClaimLoop>;
  const settings = someSettings({ volumeNamePrefix, node: node === undefined ? undefined : aNodeDeployment(node) });
  const ownership = { leftMs: (claim: string) => (claim === uid ? 700 : undefined) };
  return observe({ context: { ...context, settings, supportsTopology: false }, memory, ownership, clock }, caches, uid);
}

const refused = (untilMs: number, classUid = 'class-uid'): ClaimRecord => ({
  kind: 'settled',
  claim: aClaim(),
  refusal: { untilMs, classUid },
});
const later = clock.monotonicMs() + 1000;

it('given a claim that is in neither cache nor memory, then there is no state', () => {
  expect(observed({ claim: null })).toBeUndefined();
});

it('given a claim that has left the cache, then it is observed from memory as gone', () => {
  const entry: ClaimRecord = { kind: 'open', claim: aClaim({ protection: 'on' }), deletion: undefined };
  expect(observed({ claim: null, entry })).toMatchObject({ claim: entry.claim, presence: 'gone', isProtected: false });
});

describe('the refusal of a class', () => {
  it('given a refusal that holds, then it holds for the remaining time, and the entry is observed', () => {
    const entry = refused(later);
    expect(observed({ entry })).toMatchObject({ infeasibleForMs: 1000, memory: entry });
  });

  it.each([
    ['that is over', { entry: refused(clock.monotonicMs()) }],
    ['of another class of the same name', { entry: refused(later, 'former') }],
    ['of a class that is gone', { entry: refused(later), storageClass: null }],
  ] as [string, Given][])('given a refusal %s, then it does not hold, and nothing is remembered', (_what, given) => {
    expect(observed(given)).toMatchObject({ infeasibleForMs: 0, memory: { kind: 'none' } });
  });

  it('given a settled claim with our finalizer, then the entry is observed until the finalizer is removed', () => {
    const claim = aClaim({ protection: 'on' });
    expect(observed({ claim, entry: refused(0) })?.memory.kind).toBe('settled');
  });
});

describe('the volume of the claim', () => {
  const ownedBy = (claimRef: NonNullable<PersistentVolume['spec']>['claimRef']): PersistentVolume =>
    ({ ...aVolume(), spec: { ...aVolume().spec, claimRef } }) as PersistentVolume;
  const volumeOf = (given: Given): unknown => observed(given)?.volume;

  it.each([
    ['none', []],
    ['own', [aVolume()]],
    ['own', [ownedBy(undefined)]],
    ['own', [ownedBy({ namespace: 'team', name: 'data' })]],
  ] as ['none' | 'own', PersistentVolume[]][])('given that the cache has %s, then it is observed', (kind, volumes) => {
    expect(volumeOf({ volumes })).toEqual({ kind });
  });

  it('given a record that is being deleted before its claim is bound, whatever its phase, then it is about to be lost; given one that is not, or a claim that is gone, going or has a volume, then it is not', () => {
    const record = aVolume({ deleting: 'yes', phase: 'Available' });
    const bound = aVolume({ deleting: 'yes', phase: 'Bound' });
    expect(volumeOf({ volumes: [bound] })).toEqual({ kind: 'losing', record: bound });
    expect(volumeOf({ volumes: [record] })).toEqual({ kind: 'losing', record });
    expect(volumeOf({ volumes: [record], volumeNamePrefix: 'disk' })).toEqual({ kind: 'losing', record });
    const entry: ClaimRecord = { kind: 'open', claim: aClaim(), deletion: undefined };
    const others: readonly Given[] = [
      { volumes: [aVolume({ phase: 'Available' })] },
      { volumes: [bound], claim: aClaim({ deleting: 'yes' }) },
      { volumes: [bound], claim: aClaim({ spec: { volumeName: 'pvc-uid-data' } }) },
      { volumes: [record], claim: null, entry },
      { volumes: [record], claim: aClaim({ deleting: 'yes' }) },
      { volumes: [record], claim: aClaim({ spec: { volumeName: 'pvc-uid-data' } }) },
    ];
    expect(others.map(volumeOf)).toEqual(others.map(() => ({ kind: 'own' })));
  });

  it('given a volume of another claim under our name, then it is taken, with its owner', () => {
    const other = ownedBy({ namespace: 'a', name: 'b', uid: 'other' });
    expect(volumeOf({ volumes: [other] })).toEqual({ kind: 'taken', name: 'pvc-uid-data', owner: 'a/b' });
    expect(volumeOf({ volumes: [ownedBy({ uid: 'other' })] })).toMatchObject({ owner: '/' });
  });

  it('given a volume under the usual name while the prefix is another one, then it is our own', () => {
    expect(volumeOf({ volumes: [aVolume()], volumeNamePrefix: 'disk' })).toEqual({ kind: 'own' });
    const foreign = ownedBy({ namespace: 'a', name: 'b', uid: 'other' });
    expect(volumeOf({ volumes: [foreign], volumeNamePrefix: 'disk' })).toEqual({ kind: 'none' });
  });

  it('given a prefix from which no name can be formed, then the name is empty', () => {
    expect(observed({ volumeNamePrefix: '' })).toMatchObject({ volumeName: '', volume: { kind: 'none' } });
  });
});

describe('the instance of a node', () => {
  const of = (node: string): PersistentVolumeClaim =>
    aClaim({ protection: 'on', annotations: { [instanceAnnotation(driverName)]: node } });

  it('given the finalizer of another instance, then that one settles the claim, and the time that is left is observed', () => {
    const facts = { isProtected: false, otherInstance: 'n2', waitMs: 700 };
    expect(observed({ claim: of('n2'), node: 'n1' })).toMatchObject(facts);
  });

  it('given its own finalizer, or a central deployment, then no other instance settles the claim', () => {
    expect(observed({ claim: of('n1'), node: 'n1' })).toMatchObject({ isProtected: true, otherInstance: undefined });
    expect(observed({ claim: of('n1') })).toMatchObject({ isProtected: true, otherInstance: undefined });
  });

  it('given a class without topologies, then the volume may be made here', () => {
    expect(observed({ node: 'n1' })?.isAllowedHere(aClass())).toBe(true);
  });
});

it('given a settled claim that no class refused, then nothing holds it back', () => {
  const entry: ClaimRecord = { kind: 'settled', claim: aClaim(), refusal: undefined };
  expect(observed({ entry })).toMatchObject({ infeasibleForMs: 0, memory: { kind: 'none' } });
});

it('given a run that plans twice, then both plans for one purpose are the same, and those for two purposes are not', () => {
  const plan = observed({})!.plan;
  const first = plan(aClass(), 'provision');
  expect(plan(aClass({ parameters: { changed: 'meanwhile' } }), 'provision')).toBe(first);
  expect(plan(aClass(), 'settle')).not.toBe(first);
});

it.each([
  { given: 'a second volume beside that of another node', row: 'O12', is: 'one' },
  { given: 'a volume that is too small', row: 'O8', is: 'none' },
] as const)('given a live claim, and $given is being deleted, then its deletion counts as $is', ({ row, is }) => {
  const deleting = { ...unusable, row };
  const entry: ClaimRecord = { kind: 'pinned', claim: aClaim(), pinned: { ...pinned, deleting }, deletion: undefined };
  const counted = { seenMs: clock.monotonicMs(), answers: [], forMs: 0, seenForMs: 0 };
  expect(observed({ entry })).toMatchObject({ presence: 'live', deletion: is === 'one' ? counted : undefined });
});
