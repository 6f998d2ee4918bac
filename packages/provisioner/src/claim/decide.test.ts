// SPDX-License-Identifier: Apache-2.0
/** One line per row of the claim table, up to the call: what is known, and the one thing that is done next. */
import { describe, expect, it } from 'vitest';
import { driverName, aClass } from '../../testing/builders.ts';
import {
  announced,
  context,
  foreign,
  protection,
  late,
  pinned,
  plan,
  planned,
  type Row,
  settling,
  show,
  state,
  withSecret,
} from '../../testing/claim-states.ts';
import { decide } from './decide.ts';

const rows: readonly Row[] = [
  { row: 'C1', given: 'saving without finalizer', state: state({ unsettled: 'saving' }), next: 'protect' },
  { row: 'C2', given: 'saving with finalizer', state: state({ unsettled: 'saving' }, protection), next: 'done' },
  { row: 'C2', given: 'saving and gone', state: state({ unsettled: 'saving', presence: 'gone' }), next: 'done' },
  { row: 'C3', given: 'settled with finalizer', state: state({ unsettled: 'settled' }, protection), next: 'unprotect' },
  {
    row: 'C3',
    given: 'settled, finalizer stays',
    state: state({ unsettled: 'settled', unprotecting: 'failed' }, protection),
    next: 'retry',
  },
  {
    row: 'C4',
    given: 'finalizer and our volume bound',
    state: state({}, { ...protection, spec: { volumeName: 'pvc-uid-data' } }),
    next: 'settle',
  },
  { row: 'C5', given: 'gone', state: state({ presence: 'gone' }), next: 'done' },
  { row: 'C6', given: 'infeasible lately', state: state({ infeasibleForMs: 7 }), next: 'requeueAfter 7' },
  { row: 'C7', given: 'not ours', state: state({}, { annotations: foreign }), next: 'done' },
  { row: 'C7', given: 'no annotation', state: state({}, { annotations: {} }), next: 'done' },
  { row: 'C7', given: 'bound', state: state({}, { spec: { volumeName: 'pv' } }), next: 'done' },
  { row: 'C8', given: 'class missing', state: state({ storageClass: undefined }), next: 'retry, failure' },
  {
    row: 'C8',
    given: 'class missing with finalizer',
    state: state({ storageClass: undefined }, protection),
    next: 'retry, Warning: storageClass "fast" not found, failure',
  },
  { row: 'C9', given: 'late binding without node', state: state({ storageClass: late }), next: 'done' },
  {
    row: 'C9',
    given: 'late binding with node',
    state: state({ storageClass: late }, { node: 'n1' }),
    next: 'announce',
  },
  { row: 'C10', given: 'volume exists', state: state({ volume: { kind: 'own' } }), next: 'done, failure' },
  { row: 'C10', given: 'volume exists, pinned', state: state({ volume: { kind: 'own' }, pinned }), next: 'settle' },
  {
    row: 'C10',
    given: 'volume exists, finalizer alone',
    state: state({ volume: { kind: 'own' } }, protection),
    next: 'settle',
  },
  {
    row: 'C11',
    given: 'name taken',
    state: state({ volume: { kind: 'taken', name: 'pv', owner: 'a/b' } }),
    next: 'retry, Warning: PersistentVolume pv already exists and belongs to claim a/b, failure',
  },
  {
    row: 'C11',
    given: 'name taken, pinned',
    state: state({ volume: { kind: 'taken', name: 'pv', owner: 'a/b' }, pinned }),
    next: 'announce',
  },
  {
    row: 'C12',
    given: 'class of another',
    state: state({ storageClass: aClass({ provisioner: 'other' }) }),
    next: 'done, failure',
  },
  {
    row: 'C12',
    given: 'class of another with finalizer',
    state: state({ storageClass: aClass({ provisioner: 'other' }) }, protection),
    next: 'retry, Warning: storageClass "fast" belongs to provisioner other, failure',
  },
  { row: 'C13', given: 'a claim to provision', state: state(), next: 'announce' },
  {
    row: 'C13',
    given: 'pinned, class gone, not ours, gone',
    state: state({ pinned, storageClass: undefined, presence: 'gone' }, { annotations: foreign }),
    next: 'announce',
  },
  {
    row: 'C14',
    given: 'a snapshot',
    state: state(announced, {
      spec: { dataSource: { kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 's' } },
    }),
    next: 'done, Warning: creating a volume from VolumeSnapshot s is not supported by this provisioner, failure',
  },
  {
    row: 'C14',
    given: 'a claim',
    state: state(announced, { spec: { dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'c' } } }),
    next: 'done, Warning: creating a volume from PersistentVolumeClaim c is not supported by this provisioner, failure',
  },
  {
    row: 'C15',
    given: 'a populator',
    state: state(announced, { spec: { dataSource: { kind: 'Book', apiGroup: 'x', name: 'b' } } }),
    next: 'done, Normal: Assuming an external populator will provision the volume, failure',
  },
  { row: 'C16', given: 'announced', state: state(announced), next: 'plan to provision' },
  { row: 'C16', given: 'finalizer alone, live', state: state(announced, protection), next: 'plan to provision' },
  {
    row: 'C16',
    given: 'finalizer alone, deleting',
    state: state({ ...announced, storageClass: late }, settling),
    next: 'plan to settle',
  },
  {
    row: 'C16',
    given: 'finalizer alone, bound elsewhere',
    state: state({ ...announced, storageClass: late }, { ...protection, spec: { volumeName: 'x' } }),
    next: 'plan to settle',
  },
  {
    row: 'C16',
    given: 'finalizer alone, not ours any more',
    state: state(announced, { ...protection, annotations: foreign }),
    next: 'plan to settle',
  },
  {
    row: 'C17',
    given: 'node gone',
    state: state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' } }, { node: 'n1' }),
    next: 'reschedule, keep finalizer',
  },
  {
    row: 'C17',
    given: 'node gone, annotation off',
    state: state(
      { ...announced, planned: { kind: 'nodeGone', message: 'gone' }, rescheduling: 'done' },
      { node: 'n1' },
    ),
    next: 'done, Warning: gone, failure',
  },
  {
    row: 'C17',
    given: 'node gone, update failed',
    state: state(
      { ...announced, planned: { kind: 'nodeGone', message: 'gone' }, rescheduling: 'failed' },
      { node: 'n1' },
    ),
    next: 'retry, Warning: gone, failure',
  },
  {
    row: 'C18',
    given: 'node gone by the alpha annotation',
    state: state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' } }),
    next: 'retry, Warning: gone, failure',
  },
  {
    row: 'C18',
    given: 'plan refused',
    state: state({ ...announced, planned: { kind: 'refused', message: 'bad' } }),
    next: 'retry, Warning: bad, failure',
  },
  {
    row: 'C18',
    given: 'plan refused while settling',
    state: state({ ...announced, planned: { kind: 'refused', message: 'bad' } }, settling),
    next: 'retry, Warning: bad; the claim is kept until it is known whether a volume was created for it, failure',
  },
  {
    row: 'C18',
    given: 'source without name',
    state: state(announced, { spec: { dataSource: { kind: 'Book', name: '' } } }),
    next: 'retry, Warning: the PVC source not found for PVC data, failure',
  },
  {
    row: 'C19',
    given: 'secret configured',
    state: state({ ...announced, planned: { kind: 'planned', plan: withSecret } }),
    next: 'readSecret',
  },
  {
    row: 'C19',
    given: 'secret missing',
    state: state({
      ...announced,
      planned: { kind: 'planned', plan: withSecret },
      secrets: { kind: 'missing', message: 'none' },
    }),
    next: 'retry, Warning: none, failure',
  },
  {
    row: 'C19',
    given: 'secret missing, pinned',
    state: state(
      { ...announced, pinned: { ...pinned, plan: withSecret }, secrets: { kind: 'missing', message: 'none' } },
      protection,
    ),
    next: 'createVolume',
  },
  {
    row: 'C19',
    given: 'secret failed, pinned',
    state: state(
      { ...announced, pinned: { ...pinned, plan: withSecret }, secrets: { kind: 'failed', message: 'down' } },
      protection,
    ),
    next: 'retry, Warning: down, failure',
  },
  {
    row: 'C20',
    given: 'attributes class',
    state: state({ ...announced, planned: { kind: 'planned', plan: { ...plan, attributesClass: 'gold' } } }),
    next: 'readAttributesClass',
  },
  {
    row: 'C20',
    given: 'attributes class missing',
    state: state({
      ...announced,
      planned: { kind: 'planned', plan: { ...plan, attributesClass: 'gold' } },
      attributes: { kind: 'failed', message: 'none' },
    }),
    next: 'retry, Warning: none, failure',
  },
  {
    row: 'C20',
    given: 'attributes class foreign',
    state: state({
      ...announced,
      planned: { kind: 'planned', plan: { ...plan, attributesClass: 'gold' } },
      attributes: { kind: 'found', driverName: 'x', parameters: {} },
    }),
    next: `retry, Warning: VAC gold referenced in PVC is for driver x which does not match driver name ${driverName}, failure`,
  },
  { row: 'C21', given: 'pinned without finalizer', state: state({ ...announced, pinned }), next: 'protect' },
  {
    row: 'C21',
    given: 'pinned, finalizer failed',
    state: state({ ...announced, pinned, protecting: 'failed' }),
    next: 'retry',
  },
  {
    row: 'C21',
    given: 'pinned, finalizer refused',
    state: state({ ...announced, pinned, protecting: 'refused' }),
    next: 'createVolume',
  },
  { row: 'C22', given: 'planned', state: state({ ...announced, planned }), next: 'createVolume' },
  {
    row: 'C22',
    given: 'pinned and deleting',
    state: state({ ...announced, pinned }, { deleting: 'yes' }),
    next: 'createVolume',
  },
];

describe('the claim table', () => {
  it.each(rows)('$row: given $given, when decided, then $next', ({ state, next }) => {
    expect(show(decide(state, context))).toBe(next);
  });
});

describe('what a repeated call sends', () => {
  it('given a secret that changed, when repeated, then everything but the secret is as it was', () => {
    const request = { name: 'pvc-uid-data', secrets: { key: 'old' }, parameters: { size: 'big' } };
    const given = state(
      {
        ...announced,
        pinned: { ...pinned, plan: withSecret, request },
        secrets: { kind: 'found', values: { key: 'new' } },
      },
      protection,
    );
    const action = decide(given, context);
    expect(action.kind === 'createVolume' && action.request).toEqual({ ...request, secrets: { key: 'new' } });
  });
});
