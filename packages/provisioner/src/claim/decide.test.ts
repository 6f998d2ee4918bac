// SPDX-License-Identifier: Apache-2.0
/** One line per row of the claim table, up to the call: the state, and the next action. */
import { describe, expect, it } from 'vitest';
import { refuse } from '@csi-sidecars/volume';
import {
  aClaim,
  aClass,
  aContent,
  aSnapshot,
  aVolume,
  type ClaimFacts,
  driverName,
  type SnapshotFacts,
} from '../../testing/builders.ts';
import { fromClaim, fromSnapshot } from '../../testing/sources.ts';
import {
  ambiguous,
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
  type StateFacts,
  withSecret,
} from '../../testing/claim-states.ts';
import { annotations, snapshotSourceProtection } from '../names.ts';
import { decide } from './decide.ts';
import type { Plan } from './plan.ts';
import type { ClaimState } from './state.ts';

const kept = `; finalizer provisioning-protection.provisioner.storage.kubernetes.io/${driverName} keeps the claim for some minutes until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`;
const finals = ['final', 'final', 'final'] as const;

const losing = {
  kind: 'losing',
  record: aVolume({ deleting: 'yes', phase: 'Available', finalizers: ['a/b'] }),
} as const;
const losingBound = {
  kind: 'losing',
  record: aVolume({ deleting: 'yes', phase: 'Bound', finalizers: ['a/b'] }),
} as const;
const restoring = { spec: fromSnapshot };

interface SnapshotReadFacts extends SnapshotFacts {
  readonly snapshot?: Extract<ClaimState['source'], { kind: 'snapshot' }>['snapshot'];
  readonly content?: 'unread';
}

function snapshotRead({ snapshot, content, ...facts }: SnapshotReadFacts = {}): ClaimState['source'] {
  return {
    kind: 'snapshot',
    snapshot: snapshot ?? { kind: 'found', object: aSnapshot(facts) },
    content: content ?? { kind: 'found', object: aContent() },
  };
}

const goneAndReleased: StateFacts = {
  ...announced,
  source: snapshotRead({ snapshot: { kind: 'failed', message: 'no' } }),
  remembers: 'open',
  presence: 'gone',
  answers: ['final', 'final'],
};

const rows: readonly Row[] = [
  { row: 'C1', given: 'saving without finalizer', state: state({ remembers: 'saving' }), next: 'protect' },
  { row: 'C2', given: 'saving with finalizer', state: state({ remembers: 'saving' }, protection), next: 'done' },
  { row: 'C2', given: 'saving and gone', state: state({ remembers: 'saving', presence: 'gone' }), next: 'done' },
  { row: 'C3', given: 'settled with finalizer', state: state({ remembers: 'settled' }, protection), next: 'unprotect' },
  {
    row: 'C3',
    given: 'settled, finalizer still there',
    state: state({ remembers: 'settled', unprotecting: 'failed' }, protection),
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
    row: 'C13',
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
  { row: 'C63', given: 'record being deleted', state: state({ volume: losing }), next: 'releaseRequest' },
  {
    row: 'C63',
    given: 'record being deleted, finalizer alone',
    state: state({ volume: losing }, protection),
    next: 'releaseRequest',
  },
  {
    row: 'C63',
    given: 'record being deleted, settled with finalizer',
    state: state({ volume: losing, remembers: 'settled' }, protection),
    next: 'releaseRequest',
  },
  { row: 'C63', given: 'record being deleted, pinned', state: state({ volume: losing, pinned }), next: 'protect' },
  {
    row: 'C63',
    given: 'record being deleted, open',
    state: state({ volume: losing, remembers: 'open' }),
    next: 'protect',
  },
  ...[
    ['pinned', { pinned }],
    ['open', { remembers: 'open' }],
  ].map(([given, facts]) => ({
    row: 'C63' as const,
    given: `record being deleted, ${given as string}, finalizer`,
    state: state({ volume: losing, ...(facts as object) }, protection),
    next: 'retry, Warning: PersistentVolume pvc-uid-data of this claim is being deleted, and the claim cannot be bound to it. Once it is gone, the claim is provisioned again. If its finalizers (a/b) keep it, remove them, or delete the claim, failure',
  })),
  ...[
    ['nothing remembered', {}],
    ['pinned', { pinned }],
    ['settled with finalizer', { remembers: 'settled', isProtected: true }],
  ].map(([given, facts]) => ({
    row: 'C64' as const,
    given: `bound record being deleted, ${given as string}`,
    state: state({ volume: losingBound, ...(facts as object) }),
    next: 'readClaim',
  })),
  {
    row: 'C64',
    given: 'bound record being deleted, claim not read',
    state: state({ volume: losingBound, reread: { failure: new Error('late') } }),
    next: 'retry',
  },
  {
    row: 'C63',
    given: 'bound record being deleted, claim read',
    state: state({ volume: losingBound, reread: 'read' }),
    next: 'releaseRequest',
  },
  {
    row: 'C10',
    given: 'bound record being deleted, claim read and bound',
    state: state({ volume: { kind: 'own' }, remembers: 'open', reread: 'read' }, protection),
    next: 'settle',
  },
  {
    row: 'C11',
    given: 'name taken',
    state: state({ volume: { kind: 'taken', name: 'pv', owner: 'a/b' } }),
    next: 'retry, Warning: PersistentVolume pv already exists and belongs to claim a/b, failure',
  },
  {
    row: 'C13',
    given: 'name taken, pinned',
    state: state({ volume: { kind: 'taken', name: 'pv', owner: 'a/b' }, pinned }),
    next: 'announce',
  },
  {
    row: 'C12',
    given: 'class of another provisioner',
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
    row: 'C22',
    given: 'pinned, class gone, not ours, gone: no event',
    state: state({ pinned, storageClass: undefined, presence: 'gone' }, { annotations: foreign }),
    next: 'createVolume',
  },
  {
    row: 'C18',
    given: 'a source that the driver cannot copy',
    state: state({ ...announced, shape: () => refuse('cannot copy') }, restoring),
    next: 'retry, Warning: cannot copy, failure',
  },
  { row: 'C42', given: 'a snapshot, unread', state: state(announced, restoring), next: 'readSource' },
  {
    row: 'C43',
    given: 'a snapshot, its content unread',
    state: state({ ...announced, source: snapshotRead({ content: 'unread' }) }, restoring),
    next: 'readBacking',
  },
  {
    row: 'C44',
    given: 'a snapshot that cannot be read',
    state: state({ ...announced, source: snapshotRead({ snapshot: { kind: 'failed', message: 'no' } }) }, restoring),
    next: `retry, Warning: error getting handle for DataSource Type VolumeSnapshot by Name daily: error getting snapshot daily from api server: no, failure`,
  },
  {
    row: 'C44',
    given: 'a snapshot that cannot be read while settling',
    state: state(
      { ...announced, source: snapshotRead({ snapshot: { kind: 'failed', message: 'no' } }) },
      { ...settling, ...restoring },
    ),
    next: `retry, Warning: error getting handle for DataSource Type VolumeSnapshot by Name daily: error getting snapshot daily from api server: no${kept}, failure, open answer`,
  },
  {
    row: 'C62',
    given: 'a snapshot that cannot be read for the third time, gone for minutes, and its request was released',
    state: state({ ...goneAndReleased, deletedForMs: 300_000 }, restoring),
    next: 'done, failure, given up',
  },
  {
    row: 'C44',
    given:
      'a snapshot that cannot be read for the third time, gone for less than minutes, and its request was released',
    state: state({ ...goneAndReleased, deletedForMs: 299_999 }, restoring),
    next: 'retry, failure, open answer',
  },
  {
    row: 'C44',
    given: 'a claim as source that cannot be read',
    state: state(
      { ...announced, source: { kind: 'claim', source: { kind: 'failed', message: 'no' }, volume: 'unread' } },
      { spec: fromClaim },
    ),
    next: `retry, Warning: error getting handle for DataSource Type PersistentVolumeClaim by Name origin: error getting PVC origin (namespace "team") from api server: no, failure`,
  },
  {
    row: 'C45',
    given: 'a usable snapshot',
    state: state({ ...announced, source: snapshotRead() }, restoring),
    next: 'protectSource',
  },
  {
    row: 'C46',
    given: 'a snapshot that could not be protected',
    state: state({ ...announced, source: snapshotRead(), protectingSource: { failure: 'conflict' } }, restoring),
    next: 'retry, Warning: conflict, failure',
  },
  {
    row: 'C22',
    given: 'a snapshot, protected in this run',
    state: state({ ...announced, source: snapshotRead(), protectingSource: 'done' }, restoring),
    next: 'createVolume, first',
  },
  {
    row: 'C22',
    given: 'a snapshot with the finalizer',
    state: state({ ...announced, source: snapshotRead({ finalizers: [snapshotSourceProtection] }) }, restoring),
    next: 'createVolume, first',
  },
  {
    row: 'C18',
    given: 'a protected source and a plan that is refused',
    state: state(
      {
        ...announced,
        source: snapshotRead(),
        protectingSource: 'done',
        planned: { kind: 'refused', message: 'no topology' },
      },
      restoring,
    ),
    next: 'retry, Warning: no topology, failure',
  },
  {
    row: 'C22',
    given: 'pinned, with a source that is unread',
    state: state({ ...announced, pinned }, { ...restoring, ...protection }),
    next: 'createVolume',
  },
  {
    row: 'C15',
    given: 'a populator',
    state: state(announced, { spec: { dataSource: { kind: 'Book', apiGroup: 'x', name: 'b' } } }),
    next: 'done, Normal: Assuming an external populator will provision the volume, failure',
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
    next: `retry, Warning: bad${kept}, failure, open answer`,
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
    row: 'C22',
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
    row: 'C22',
    given: 'pinned, finalizer refused',
    state: state({ ...announced, pinned, protecting: 'refused' }),
    next: 'createVolume',
  },
  { row: 'C22', given: 'planned', state: state({ ...announced, planned }), next: 'createVolume, first' },
  {
    row: 'C22',
    given: 'pinned and deleting',
    state: state({ ...announced, pinned }, { deleting: 'yes' }),
    next: 'createVolume',
  },
  {
    row: 'C8',
    given: 'class missing, deleting with the finalizer',
    state: state({ storageClass: undefined }, settling),
    next: `retry, Warning: storageClass "fast" not found${kept}, failure, open answer`,
  },
  {
    row: 'C17',
    given: 'node gone by the cache of a late-binding class, annotation off',
    state: state({
      ...announced,
      storageClass: late,
      planned: { kind: 'nodeGone', message: 'gone' },
      rescheduling: 'done',
    }),
    next: 'done, Warning: gone, failure',
  },
  { row: 'C22', given: 'finalizer alone', state: state({ ...announced, planned }, protection), next: 'createVolume' },
  {
    row: 'C22',
    given: 'released request',
    state: state({ ...announced, remembers: 'open' }, protection),
    next: 'createVolume',
  },
  {
    row: 'C36',
    given: 'released request, no finalizer',
    state: state({ ...announced, remembers: 'open' }),
    next: 'protect',
  },
  {
    row: 'C36',
    given: 'released request, finalizer failed',
    state: state({ ...announced, remembers: 'open', protecting: 'failed' }),
    next: 'retry',
  },
  {
    row: 'C22',
    given: 'released request, finalizer refused',
    state: state({ ...announced, remembers: 'open', protecting: 'refused' }),
    next: 'createVolume',
  },
  {
    row: 'C37',
    given: 'three final answers, deleted a minute ago, pinned',
    state: state({ pinned, answers: finals, deletedForMs: 60_000 }, settling),
    next: 'giveUp, final',
  },
  {
    row: 'C13',
    given: 'three final answers, deleted 59 seconds ago, pinned',
    state: state({ pinned, answers: finals, deletedForMs: 59_999 }, settling),
    next: 'announce',
  },
  {
    row: 'C13',
    given: 'three answers, deleted five minutes ago, without the finalizer',
    state: state({ pinned, answers: finals, deletedForMs: 300_000 }, { deleting: 'yes' }),
    next: 'announce',
  },
  {
    row: 'C37',
    given: 'three saves failed, deleted five minutes ago',
    state: state({ remembers: 'saving', answers: ['open', 'open', 'open'], deletedForMs: 300_000 }, settling),
    next: 'giveUp, open',
  },
  {
    row: 'C2',
    given: 'saving, deleted a minute ago',
    state: state({ remembers: 'saving', answers: ['open', 'open', 'open'], deletedForMs: 60_000 }, settling),
    next: 'requeueAfter 240000',
  },
];

const taken = { volume: { kind: 'taken', name: 'pv', owner: 'a/b' } } as const;
const populator = { dataSource: { kind: 'Populator', apiGroup: 'example.com', name: 'p' } };
const secretFailed = { secrets: { kind: 'failed', message: 'no secret' } } as const;
const pinnedWithSecret = { ...pinned, plan: withSecret, request: { ...plan.request, secrets: { key: 'old' } } };

/** Rows whose conditions differ from those above in one part. */
const neighbours: readonly Row[] = [
  {
    row: 'C2',
    given: 'saving, finalizer failed',
    state: state({ remembers: 'saving', protecting: 'failed' }),
    next: 'done',
  },
  {
    row: 'C2',
    given: 'saving, deleted five minutes ago, one answer',
    state: state({ remembers: 'saving', answers: ['open'], deletedForMs: 300_000 }, settling),
    next: 'requeueAfter 10000',
  },
  {
    row: 'C6',
    given: 'infeasible for a last millisecond',
    state: state({ infeasibleForMs: 1 }),
    next: 'requeueAfter 1',
  },
  {
    row: 'C7',
    given: 'our volume bound, no finalizer',
    state: state({}, { spec: { volumeName: 'pvc-uid-data' } }),
    next: 'done',
  },
  {
    row: 'C7',
    given: 'finalizer, a claim of another driver, and no volume name',
    state: state({ volumeName: '', remembers: 'settled', isProtected: false }, { annotations: foreign }),
    next: 'done',
  },
  {
    row: 'C37',
    given: 'three answers of which the last is final, deleted five minutes ago, pinned',
    state: state({ pinned, answers: ['final', 'open', 'final'], deletedForMs: 300_000 }, settling),
    next: 'giveUp, final',
  },
  {
    row: 'C37',
    given: 'three answers of which the last is open, deleted five minutes ago, pinned',
    state: state({ pinned, answers: ['open', 'final', 'open'], deletedForMs: 300_000 }, settling),
    next: 'giveUp, open',
  },
  {
    row: 'C13',
    given: 'name taken, the outcome of a deleted claim open',
    state: state({ ...taken, remembers: 'open' }, settling),
    next: 'announce',
  },
  {
    row: 'C15',
    given: 'a populator, the finalizer alone',
    state: state(announced, { ...protection, spec: populator }),
    next: 'retry, Warning: creating a volume from a populator is not supported by this provisioner, failure',
  },
  {
    row: 'C18',
    given: 'node gone, deleting with the finalizer',
    state: state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' } }, { ...settling, node: 'n1' }),
    next: `retry, Warning: gone${kept}, failure, open answer`,
  },
  {
    row: 'C19',
    given: 'secret unreadable, deleting with the finalizer',
    state: state({ ...announced, ...secretFailed, planned: { kind: 'planned', plan: withSecret } }, settling),
    next: `retry, Warning: no secret${kept}, failure, open answer`,
  },
  {
    row: 'C19',
    given: 'secret unread, pinned',
    state: state({ ...announced, pinned: pinnedWithSecret }),
    next: 'readSecret',
  },
  {
    row: 'C19',
    given: 'secret unreadable, pinned, deleting',
    state: state({ ...announced, ...secretFailed, pinned: pinnedWithSecret }, settling),
    next: `retry, Warning: no secret${kept}, failure, open answer`,
  },
  {
    row: 'C22',
    given: 'released request, finalizer written in this run',
    state: state({ ...announced, remembers: 'open', protecting: 'done' }, protection),
    next: 'createVolume',
  },
];

it.each([
  state({ ...announced, planned: { kind: 'planned', plan: withSecret } }),
  state({ ...announced, pinned: pinnedWithSecret }),
])('given a secret of the plan that is not read yet, when decided, then that secret is read', (given) => {
  expect(decide(given, context)).toEqual({ row: 'C19', kind: 'readSecret', reference: withSecret.secrets.provisioner });
});

it('given a usable snapshot, when decided, then the request names its handle, and the answer has to name a source', () => {
  const given = state({ ...announced, source: snapshotRead(), protectingSource: 'done' }, restoring);
  const content = { snapshot: { snapshot_id: 'snapshot-handle' } };
  expect(decide(given, context)).toMatchObject({
    request: { ...plan.request, volume_content_source: content },
    pinned: { request: { volume_content_source: content }, isConfirmed: true },
  });
  const byReference = { spec: { dataSourceRef: fromSnapshot.dataSource } };
  const unconfirmed = state({ ...announced, source: snapshotRead(), protectingSource: 'done' }, byReference);
  expect(decide(unconfirmed, context)).toMatchObject({ pinned: { isConfirmed: false } });
});

describe('requests', () => {
  const requestOf = (given: ClaimState) => {
    const action = decide(given, context);
    if (action.kind !== 'createVolume') throw new Error(show(action));
    return action;
  };

  it('given a plan without secret and attributes class, when decided, then the request has neither', () => {
    expect(requestOf(state(announced)).request).toStrictEqual(plan.request);
  });

  it('given a secret and an attributes class, when decided, then the request has both, and is pinned as it is sent', () => {
    const wanted: Plan = { ...withSecret, attributesClass: 'gold' };
    const { request, pinned: sent } = requestOf(
      state({
        ...announced,
        planned: { kind: 'planned', plan: wanted },
        secrets: { kind: 'found', values: { key: 'new' } },
        attributes: { kind: 'found', driverName, parameters: { tier: 'gold' } },
      }),
    );
    expect(request).toEqual({ ...plan.request, secrets: { key: 'new' }, mutable_parameters: { tier: 'gold' } });
    expect(sent).toEqual({ plan: wanted, request, isConfirmed: false });
  });

  it('given a pinned request whose secret has changed, when repeated, then it is sent and pinned with the current secret', () => {
    const secrets = { kind: 'found', values: { key: 'new' } } as const;
    const { request, pinned: sent } = requestOf(
      state({ ...announced, ...protectedNow, pinned: pinnedWithSecret, secrets }),
    );
    expect(request).toEqual({ ...plan.request, secrets: { key: 'new' } });
    expect(sent).toEqual({ plan: withSecret, request, isConfirmed: false });
  });

  it('given a pinned request whose secret is gone, when repeated, then it is sent with the last secret', () => {
    const secrets = { kind: 'missing', message: 'gone' } as const;
    const { request } = requestOf(state({ ...announced, ...protectedNow, pinned: pinnedWithSecret, secrets }));
    expect(request).toEqual(pinnedWithSecret.request);
  });
});

const protectedNow = { isProtected: true } as const;

it.each([
  ['remove', state({ remembers: 'settled', unprotecting: 'failed' }, protection)],
  ['add', state({ ...announced, remembers: 'open', protecting: 'failed' })],
  ['add', state({ ...announced, pinned, protecting: 'failed' })],
])(
  'given a write of the finalizer that failed, when decided, then the cause of the retry says that it could not %s it',
  (what, given) => {
    const action = decide(given, context);
    expect(action.kind === 'conclude' && action.outcome.kind === 'retry' && action.outcome.cause.message).toBe(
      `failed to ${what} the provisioning finalizer of claim team/data`,
    );
  },
);

it('given a run that reschedules a claim whose class is gone, when decided, then it is a defect', () => {
  expect(() => decide(state({ ...announced, storageClass: undefined, rescheduling: 'failed' }), context)).toThrow(
    'a claim without a class was to be planned',
  );
});

it.each([
  { driver: 'pd.csi.storage.gke.io', provisioner: 'kubernetes.io/gce-pd', next: /^C22 createVolume, first$/ },
  { driver: 'pd.csi.storage.gke.io', provisioner: 'pd.csi.storage.gke.io', next: /^C22 createVolume, first$/ },
])(
  'given the driver $driver and a class of $provisioner, when decided, then $next',
  ({ driver, provisioner, next }) => {
    const given = state(
      { ...announced, storageClass: aClass({ provisioner }) },
      { annotations: { [annotations.storageProvisioner]: driver } },
    );
    const action = decide(given, { ...context, driver: { ...context.driver, name: driver } });
    expect(`${action.row} ${show(action)}`).toMatch(next);
  },
);

describe('the claim table', () => {
  it.each(neighbours)('$row: given $given, when decided, then $next', ({ row, state, next }) => {
    const action = decide(state, context);
    expect([action.row, show(action)]).toEqual([row, next]);
  });

  it.each(rows)('$row: given $given, when decided, then $next', ({ row, state, next }) => {
    const action = decide(state, context);
    expect([action.row, show(action)]).toEqual([row, next]);
  });
});

describe('when a volume is wanted, and when only the outcome', () => {
  const purposeOf = (facts: StateFacts, claim: ClaimFacts): unknown => {
    const asked: string[] = [];
    decide(
      { ...state({ ...announced, ...facts }, claim), plan: (_class, purpose) => (asked.push(purpose), planned) },
      context,
    );
    return [...new Set(asked)];
  };

  it.each([
    ['provision', 'a claim of which nothing is known', {}, {}],
    ['provision', 'the finalizer alone, live', {}, protection],
    ['provision', 'a released request, live', { remembers: 'open' }, protection],
    ['settle', 'the finalizer alone, deleting', { storageClass: late }, settling],
    [
      'settle',
      'the finalizer alone, bound elsewhere',
      { storageClass: late },
      { ...protection, spec: { volumeName: 'x' } },
    ],
    ['settle', 'the finalizer alone, not ours any more', {}, { ...protection, annotations: foreign }],
    ['settle', 'a released request, gone', { remembers: 'open', presence: 'gone' }, {}],
  ] as [string, string, StateFacts, ClaimFacts][])('to %s: %s', (...[purpose, , facts, claim]) => {
    expect(purposeOf(facts, claim)).toEqual([purpose]);
  });
});

describe('--provisioning-protection', () => {
  const nextOf = (mode: 'always' | 'off', given: ClaimState): string => {
    const settings = { ...context.settings, provisioningProtection: mode };
    const action = decide(given, { ...context, settings });
    return `${action.row} ${show(action)}`;
  };

  it('[provisioner#P8] given always, when a claim is about to be provisioned, then the finalizer comes before the call, and its refusal prevents the call', () => {
    expect(nextOf('always', state(announced))).toBe('C36 protect');
    expect(nextOf('always', state({ ...announced, protecting: 'done' }, protection))).toBe('C22 createVolume, first');
    expect(nextOf('always', state({ ...announced, protecting: 'failed' }))).toBe('C36 retry');
    expect(nextOf('always', state({ ...announced, protecting: 'refused' }))).toMatch(
      /^C36 retry, Warning: cannot put finalizer/,
    );
    expect(nextOf('always', state({ ...announced, protecting: 'refused', presence: 'gone' }))).toBe('C5 done');
  });

  it('[provisioner#P8] given always, when a claim is deleted before its first call, then no volume is created for it', () => {
    expect(nextOf('always', state({}, { deleting: 'yes' }))).toBe('C40 done');
    expect(nextOf('always', state({ pinned }, { deleting: 'yes' }))).toBe('C13 announce');
  });

  it('[provisioner#P9] given always, when a deleted claim has waited for days, then it is kept', () => {
    const answers = ['open', 'open', 'open'] as const;
    expect(nextOf('always', state({ pinned, answers, deletedForMs: 9e8 }, settling))).toBe('C13 announce');
    expect(nextOf('always', state({ remembers: 'saving', answers, deletedForMs: 9e8 }, settling))).toBe('C2 done');
  });

  it('[provisioner#P10] given off, when an answer is ambiguous, a request is repeated or a volume not saved, then no finalizer is written', () => {
    expect(nextOf('off', state({ ...announced, pinned }))).toBe('C22 createVolume');
    expect(nextOf('off', state({ remembers: 'saving' }))).toBe('C2 done');
    expect(nextOf('off', state({ ...announced, pinned, created: ambiguous }))).toBe(
      'C27 retry, Warning: late, failure',
    );
  });
});

describe('what a repeated call sends', () => {
  it('given a secret that changed, when the request is repeated, then only the secret differs', () => {
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

it('given the finalizer, no volume name and a claim without one, when decided, then the claim does not count as bound to its volume', () => {
  const given = state({ volumeName: '' }, { ...protection, spec: { volumeName: '' } });
  expect(decide(given, context)).toMatchObject({ row: 'C13', kind: 'announce' });
});

it('[C14] given a class of an in-tree plugin that cannot be translated, when decided, then the message of the translation is the failure', () => {
  const driver = { ...context.driver, name: 'ebs.csi.aws.com' };
  const storageClass = aClass({
    provisioner: 'kubernetes.io/aws-ebs',
    parameters: { zone: 'a' },
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['b'] }] }],
  });
  const given = state(
    { ...announced, storageClass },
    { annotations: { [annotations.storageProvisioner]: driver.name } },
  );
  const action = decide(given, { ...context, driver });
  expect(`${action.row} ${show(action)}`).toBe(
    'C14 retry, Warning: failed to translate storage class: cannot simultaneously set allowed topologies and zone/zones parameters, failure',
  );
});

describe('what a source is judged by', () => {
  const found = <T>(object: T) => ({ kind: 'found', object }) as const;

  it('given a snapshot of another mode, when --prevent-volume-mode-conversion is set, then it is refused, else used', () => {
    const content = { ...aContent(), spec: { ...aContent().spec, sourceVolumeMode: 'Block' } };
    const source = { kind: 'snapshot', snapshot: found(aSnapshot()), content: found(content) } as const;
    const given = state({ ...announced, source }, restoring);
    const rows = [true, false].map(
      (preventsModeConversion) =>
        decide(given, { ...context, settings: { ...context.settings, preventsModeConversion } }).row,
    );
    expect(rows).toEqual(['C44', 'C45']);
  });

  it('given a snapshot of another driver, when decided, then the message names the class of the claim', () => {
    const content = { ...aContent(), spec: { ...aContent().spec, driver: 'other' } };
    const source = { kind: 'snapshot', snapshot: found(aSnapshot()), content: found(content) } as const;
    expect(show(decide(state({ ...announced, source }, restoring), context))).toContain(
      'is not handled by CSI driver of StorageClass fast',
    );
  });

  it('given a claim whose volume is of another driver, when decided, then the message names the class of the clone', () => {
    const origin = { ...aClaim({ name: 'origin', spec: { volumeName: 'pv' } }), status: { phase: 'Bound' } };
    const volume = aVolume({ phase: 'Bound', spec: { csi: { driver: 'other', volumeHandle: 'h' } } });
    const source = { kind: 'claim', source: found(origin), volume: found(volume) } as const;
    expect(show(decide(state({ ...announced, source }, { spec: fromClaim }), context))).toContain(
      'is handled by a different CSI driver than requested by StorageClass fast',
    );
  });
});
