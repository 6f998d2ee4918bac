// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aClaim } from '../../testing/builders.ts';
import { type DataSource, toDataSource } from './data-source.ts';
import { referencedBy, sourceKey } from './source.ts';

type Spec = NonNullable<Parameters<typeof toDataSource>[0]['spec']>;

interface Given {
  readonly gate?: 'on';
  readonly granted?: 'yes';
}

function read(spec: Partial<Spec>, { gate, granted }: Given = {}): DataSource {
  return toDataSource(aClaim({ spec }), {
    features: { crossNamespaceVolumeDataSource: gate === 'on' },
    isGranted: () => granted === 'yes',
  });
}
const book = { kind: 'Book', apiGroup: 'example.com', name: 'b' };
const snapshot = { kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 'daily' };
const claim = { kind: 'PersistentVolumeClaim', name: 'origin' };
const populator: DataSource = { kind: 'populator' };
const refused = (message: string): DataSource => ({ kind: 'refused', message });
const disabled = refused(
  'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled',
);
const from = (kind: 'snapshot' | 'claim', name: string, namespace = 'team'): DataSource => ({
  kind: 'source',
  ref: { kind, namespace, name },
  isConfirmed: true,
});

describe('the source of a claim', () => {
  it.each([
    { case: 'none', spec: {}, then: { kind: 'none' } },
    { case: 'a snapshot', spec: { dataSource: snapshot }, then: from('snapshot', 'daily') },
    { case: 'a claim', spec: { dataSource: claim }, then: from('claim', 'origin') },
    { case: 'both, which differ', spec: { dataSource: claim, dataSourceRef: snapshot }, then: from('claim', 'origin') },
    { case: 'a kind of a populator', spec: { dataSource: book }, then: populator },
  ] as { case: string; spec: Partial<Spec>; then: DataSource }[])('given $case, then it is read', ({ spec, then }) => {
    expect(read(spec)).toEqual(then);
  });

  it('[provisioner#116] given an empty name, then it is refused, for an unknown kind too', () => {
    for (const source of [snapshot, claim, book]) {
      expect(read({ dataSource: { ...source, name: '' } })).toEqual(refused('the PVC source not found for PVC data'));
    }
  });

  it.each([
    { apiGroup: 'other.io', got: 'other.io' },
    { apiGroup: undefined, got: '' },
  ])('[provisioner#117] given a snapshot of group $apiGroup, then it is refused', ({ apiGroup, got }) => {
    const dataSource = { kind: 'VolumeSnapshot', name: 'daily', ...(apiGroup === undefined ? {} : { apiGroup }) };
    expect(read({ dataSource })).toEqual(
      refused(`the PVC source does not belong to the right APIGroup. Expected snapshot.storage.k8s.io, Got ${got}`),
    );
  });

  it('[provisioner#148] given the kind PersistentVolumeClaim of a foreign group, then it is a clone', () => {
    expect(read({ dataSource: { ...claim, apiGroup: 'other.io' } })).toEqual(from('claim', 'origin'));
  });
});

describe('the source by reference', () => {
  const ref = (source: object, namespace?: string): Partial<Spec> => ({
    dataSourceRef: { ...source, ...(namespace === undefined ? {} : { namespace }) } as NonNullable<
      Spec['dataSourceRef']
    >,
  });
  const unconfirmed = { ...from('claim', 'origin'), isConfirmed: false };

  it('[provisioner#149] given the gate and only dataSource, then it is read as before', () => {
    expect(read({ dataSource: snapshot }, { gate: 'on' })).toEqual(from('snapshot', 'daily'));
  });

  it('[provisioner#157,162] given no gate and a reference without namespace, then the source is in the namespace of the claim, and the answer need not name it', () => {
    expect(read(ref(claim))).toEqual(unconfirmed);
  });

  it('[provisioner#X1] given an empty namespace, then it counts as none, with the gate and without', () => {
    expect([read(ref(claim, '')), read(ref(claim, ''), { gate: 'on' })]).toEqual([unconfirmed, unconfirmed]);
  });

  it('[provisioner#156] given no gate and a namespace, then it is refused, whatever is granted', () => {
    expect([read(ref(claim, 'other'), { granted: 'yes' }), read(ref(claim, 'team'))]).toEqual([disabled, disabled]);
  });

  it('[provisioner#152] given the namespace of the claim, then no grant is needed', () => {
    expect(read(ref(claim, 'team'), { gate: 'on' })).toEqual(from('claim', 'origin'));
    expect(read(ref(snapshot, 'team'), { gate: 'on' })).toEqual(from('snapshot', 'daily'));
  });

  it('[provisioner#150,153] given another namespace, then a grant decides, for snapshots and claims', () => {
    expect(read(ref(snapshot, 'other'), { gate: 'on', granted: 'yes' })).toEqual(from('snapshot', 'daily', 'other'));
    expect(read(ref(claim, 'other'), { gate: 'on', granted: 'yes' })).toEqual(from('claim', 'origin', 'other'));
    expect(read(ref(claim, 'other'), { gate: 'on' })).toEqual(
      refused("accessing other/origin of PersistentVolumeClaim dataSource from team/data isn't allowed"),
    );
  });

  it('[provisioner#158] given a populator in another namespace without a grant, then it is refused before it is left to the populator', () => {
    expect(read(ref(book, 'other'), { gate: 'on' })).toEqual(
      refused("accessing other/b of Book dataSource from team/data isn't allowed"),
    );
    expect(read(ref(book, 'other'), { gate: 'on', granted: 'yes' })).toEqual(populator);
  });
});

describe('the source that a claim keeps', () => {
  const kept = (spec: Partial<Spec>): string | undefined => {
    const source = referencedBy(aClaim({ spec }));
    return source && sourceKey(source);
  };

  it.each([
    ['a snapshot', { dataSource: snapshot }, 'snapshot/team/daily'],
    ['a snapshot without group', { dataSource: { kind: 'VolumeSnapshot', name: 'daily' } }, 'snapshot/team/daily'],
    ['a snapshot with the group null', { dataSource: { ...snapshot, apiGroup: null as never } }, 'snapshot/team/daily'],
    ['a snapshot of a foreign group', { dataSource: { ...snapshot, apiGroup: 'other.io' } }, undefined],
    ['a claim', { dataSource: claim }, 'claim/team/origin'],
    ['a reference', { dataSourceRef: snapshot }, 'snapshot/team/daily'],
    ['a reference elsewhere', { dataSourceRef: { ...claim, namespace: 'other' } }, 'claim/other/origin'],
    ['a reference without namespace', { dataSourceRef: { ...claim, namespace: '' } }, 'claim/team/origin'],
    ['a populator', { dataSource: book, dataSourceRef: book }, undefined],
    ['nothing', {}, undefined],
  ] as [string, Partial<Spec>, string | undefined][])(
    '[provisioner#211,212] given %s, then its key',
    (_what, spec, then) => {
      expect(kept(spec)).toBe(then);
    },
  );
});
