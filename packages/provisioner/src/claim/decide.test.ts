// SPDX-License-Identifier: Apache-2.0
/** One line per row of the claim table: what is known, and the one thing that is done next. */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aDriver, type ClaimFacts, driverName, someSettings } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { decide } from './decide.ts';
import type { Plan } from './plan.ts';
import { type Action, type ClaimContext, type ClaimState, nothingLearned } from './state.ts';

const context: ClaimContext = { driver: aDriver(), settings: someSettings(), supportsTopology: true };
const klass = aClass();
const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const noSecrets = {
  provisioner: undefined,
  controllerPublish: undefined,
  nodeStage: undefined,
  nodePublish: undefined,
  controllerExpand: undefined,
  nodeExpand: undefined,
  controllerModify: undefined,
};
const secret = { namespace: 'ns', name: 's' };
const plan: Plan = {
  volumeName: 'pvc-uid-data',
  request: { name: 'pvc-uid-data' },
  requiredBytes: 100n,
  selectedNode: '',
  fsType: '',
  attributesClass: '',
  secrets: noSecrets,
  klass,
};
const planned = { kind: 'planned', plan } as const;
const withSecret: Plan = { ...plan, secrets: { ...noSecrets, provisioner: secret } };
const pinned = { claim: aClaim(), plan, request: plan.request };
const volume = {
  volume_id: 'v1',
  capacity_bytes: '100',
  volume_context: {},
  content_source: null,
  accessible_topology: [],
};
const made = { kind: 'made', volume, bytes: 100n } as const;
const final = { kind: 'final', message: 'no', isSettled: true } as const;
const tooSmall = { kind: 'tooSmall', message: 'small', volumeId: 'v1' } as const;

function state(facts: Partial<ClaimState> = {}, claim: ClaimFacts = {}): ClaimState {
  return {
    claim: aClaim(claim),
    presence: claim.deleting === 'yes' ? 'deleting' : 'live',
    isGuarded: claim.guard === 'on',
    unsettled: facts.pinned === undefined ? 'no' : 'pinned',
    pinned: undefined,
    klass,
    volume: { kind: 'none' },
    volumeName: 'pvc-uid-data',
    infeasibleForMs: 0,
    ...nothingLearned,
    ...facts,
  };
}

/** `guard`, or for an end `done Warning: text, failure`. */
function show(action: Action): string {
  if (action.kind === 'reschedule') return `reschedule, ${action.guard} guard`;
  if (action.kind === 'plan') return `plan to ${action.purpose}`;
  if (action.kind !== 'conclude') return action.kind;
  const { outcome, events, driverEvents, counts, infeasible } = action;
  return [
    outcome.kind === 'requeueAfter' ? `requeueAfter ${outcome.afterMs}` : outcome.kind,
    ...[...events, ...driverEvents].map(({ type, message }) => `${type}: ${message}`),
    ...(counts === 'no' ? [] : [counts]),
    ...(infeasible === 'yes' ? ['infeasible'] : []),
  ].join(', ');
}

const announced = { announced: 'yes' } as const;
const attempted = { announced: 'yes', planned, pinned } as const;
const foreign = { [annotations.storageProvisioner]: 'other' };
const guard = { guard: 'on' } as const;
const settling = { guard: 'on', deleting: 'yes' } as const;

const rows: readonly (readonly [row: string, given: string, ClaimState, next: string])[] = [
  ['C1', 'saving without guard', state({ unsettled: 'saving' }), 'guard'],
  ['C2', 'saving with guard', state({ unsettled: 'saving' }, guard), 'done'],
  ['C2', 'saving and gone', state({ unsettled: 'saving', presence: 'gone' }), 'done'],
  ['C3', 'settled with guard', state({ unsettled: 'settled' }, guard), 'unguard'],
  ['C3', 'settled, guard stays', state({ unsettled: 'settled', unguarding: 'failed' }, guard), 'retry'],
  ['C4', 'guard and our volume bound', state({}, { ...guard, spec: { volumeName: 'pvc-uid-data' } }), 'settle'],
  ['C5', 'gone', state({ presence: 'gone' }), 'done'],
  ['C6', 'infeasible lately', state({ infeasibleForMs: 7 }), 'requeueAfter 7'],
  ['C7', 'not ours', state({}, { annotations: foreign }), 'done'],
  ['C7', 'no annotation', state({}, { annotations: {} }), 'done'],
  ['C7', 'bound', state({}, { spec: { volumeName: 'pv' } }), 'done'],
  ['C8', 'class missing', state({ klass: undefined }), 'retry, failure'],
  [
    'C8',
    'class missing with guard',
    state({ klass: undefined }, guard),
    'retry, Warning: storageClass "fast" not found, failure',
  ],
  ['C9', 'late binding without node', state({ klass: late }), 'done'],
  ['C9', 'late binding with node', state({ klass: late }, { node: 'n1' }), 'announce'],
  ['C10', 'volume exists', state({ volume: { kind: 'own' } }), 'done, failure'],
  ['C10', 'volume exists, pinned', state({ volume: { kind: 'own' }, pinned }), 'settle'],
  ['C10', 'volume exists, guard alone', state({ volume: { kind: 'own' } }, guard), 'settle'],
  [
    'C11',
    'name taken',
    state({ volume: { kind: 'taken', name: 'pv', owner: 'a/b' } }),
    'retry, Warning: PersistentVolume pv already exists and belongs to claim a/b, failure',
  ],
  ['C11', 'name taken, pinned', state({ volume: { kind: 'taken', name: 'pv', owner: 'a/b' }, pinned }), 'announce'],
  ['C12', 'class of another', state({ klass: aClass({ provisioner: 'other' }) }), 'done, failure'],
  [
    'C12',
    'class of another with guard',
    state({ klass: aClass({ provisioner: 'other' }) }, guard),
    'retry, Warning: storageClass "fast" belongs to provisioner other, failure',
  ],
  ['C13', 'a claim to provision', state(), 'announce'],
  [
    'C13',
    'pinned, class gone, not ours, gone',
    state({ pinned, klass: undefined, presence: 'gone' }, { annotations: foreign }),
    'announce',
  ],
  [
    'C14',
    'a snapshot',
    state(announced, {
      spec: { dataSource: { kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 's' } },
    }),
    'done, Warning: creating a volume from VolumeSnapshot s is not supported by this provisioner, failure',
  ],
  [
    'C14',
    'a claim',
    state(announced, { spec: { dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'c' } } }),
    'done, Warning: creating a volume from PersistentVolumeClaim c is not supported by this provisioner, failure',
  ],
  [
    'C15',
    'a populator',
    state(announced, { spec: { dataSource: { kind: 'Book', apiGroup: 'x', name: 'b' } } }),
    'done, Normal: Assuming an external populator will provision the volume, failure',
  ],
  ['C16', 'announced', state(announced), 'plan to provision'],
  ['C16', 'guard alone, live', state(announced, guard), 'plan to provision'],
  ['C16', 'guard alone, deleting', state({ ...announced, klass: late }, settling), 'plan to settle'],
  [
    'C16',
    'guard alone, bound elsewhere',
    state({ ...announced, klass: late }, { ...guard, spec: { volumeName: 'x' } }),
    'plan to settle',
  ],
  ['C16', 'guard alone, not ours any more', state(announced, { ...guard, annotations: foreign }), 'plan to settle'],
  [
    'C17',
    'node gone',
    state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' } }, { node: 'n1' }),
    'reschedule, keep guard',
  ],
  [
    'C17',
    'node gone, annotation off',
    state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' }, rescheduling: 'done' }, { node: 'n1' }),
    'done, Warning: gone, failure',
  ],
  [
    'C17',
    'node gone, update failed',
    state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' }, rescheduling: 'failed' }, { node: 'n1' }),
    'retry, Warning: gone, failure',
  ],
  [
    'C18',
    'node gone by the alpha annotation',
    state({ ...announced, planned: { kind: 'nodeGone', message: 'gone' } }),
    'retry, Warning: gone, failure',
  ],
  [
    'C18',
    'plan refused',
    state({ ...announced, planned: { kind: 'refused', message: 'bad' } }),
    'retry, Warning: bad, failure',
  ],
  [
    'C18',
    'plan refused while settling',
    state({ ...announced, planned: { kind: 'refused', message: 'bad' } }, settling),
    'retry, Warning: bad; the claim is kept until it is known whether a volume was created for it, failure',
  ],
  [
    'C18',
    'source without name',
    state(announced, { spec: { dataSource: { kind: 'Book', name: '' } } }),
    'retry, Warning: the PVC source not found for PVC data, failure',
  ],
  ['C19', 'secret configured', state({ ...announced, planned: { kind: 'planned', plan: withSecret } }), 'readSecret'],
  [
    'C19',
    'secret missing',
    state({
      ...announced,
      planned: { kind: 'planned', plan: withSecret },
      secrets: { kind: 'missing', message: 'none' },
    }),
    'retry, Warning: none, failure',
  ],
  [
    'C19',
    'secret missing, pinned',
    state(
      { ...announced, pinned: { ...pinned, plan: withSecret }, secrets: { kind: 'missing', message: 'none' } },
      guard,
    ),
    'createVolume',
  ],
  [
    'C19',
    'secret failed, pinned',
    state(
      { ...announced, pinned: { ...pinned, plan: withSecret }, secrets: { kind: 'failed', message: 'down' } },
      guard,
    ),
    'retry, Warning: down, failure',
  ],
  [
    'C20',
    'attributes class',
    state({ ...announced, planned: { kind: 'planned', plan: { ...plan, attributesClass: 'gold' } } }),
    'readAttributesClass',
  ],
  [
    'C20',
    'attributes class missing',
    state({
      ...announced,
      planned: { kind: 'planned', plan: { ...plan, attributesClass: 'gold' } },
      attributes: { kind: 'failed', message: 'none' },
    }),
    'retry, Warning: none, failure',
  ],
  [
    'C20',
    'attributes class foreign',
    state({
      ...announced,
      planned: { kind: 'planned', plan: { ...plan, attributesClass: 'gold' } },
      attributes: { kind: 'found', driverName: 'x', parameters: {} },
    }),
    `retry, Warning: VAC gold referenced in PVC is for driver x which does not match driver name ${driverName}, failure`,
  ],
  ['C21', 'pinned without guard', state({ ...announced, pinned }), 'guard'],
  ['C21', 'pinned, guard failed', state({ ...announced, pinned, guarding: 'failed' }), 'retry'],
  ['C21', 'pinned, guard refused', state({ ...announced, pinned, guarding: 'refused' }), 'createVolume'],
  ['C22', 'planned', state({ ...announced, planned }), 'createVolume'],
  ['C22', 'pinned and deleting', state({ ...announced, pinned }, { deleting: 'yes' }), 'createVolume'],
  ['C23', 'final, pinned', state({ ...attempted, created: final }), 'settle'],
  ['C23', 'final, settled', state({ ...attempted, created: final, unsettled: 'no' }), 'retry, Warning: no, failure'],
  ['C23', 'final, guard still on', state({ ...attempted, created: final, unsettled: 'settled' }, guard), 'unguard'],
  [
    'C23',
    'final, guard stays',
    state({ ...attempted, created: final, unsettled: 'settled', unguarding: 'failed' }, guard),
    'retry, Warning: no, failure',
  ],
  [
    'C23',
    'final, claim gone',
    state({ ...attempted, created: final, unsettled: 'no', presence: 'gone' }),
    'done, Warning: no, failure',
  ],
  [
    'C24',
    'infeasible',
    state({ ...attempted, created: { kind: 'infeasible', message: 'no' }, unsettled: 'no' }),
    'retry, Warning: Volume provisioning failed with infeasible error. Retries will be delayed. no, failure, infeasible',
  ],
  [
    'C25',
    'reschedule, pinned',
    state({ ...attempted, created: { kind: 'reschedule', message: 'full' } }, { node: 'n' }),
    'settle',
  ],
  [
    'C25',
    'reschedule',
    state({ ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no' }, { node: 'n' }),
    'reschedule, remove guard',
  ],
  [
    'C25',
    'rescheduled',
    state(
      { ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no', rescheduling: 'done' },
      { node: 'n' },
    ),
    'done, Warning: full, failure',
  ],
  [
    'C25',
    'reschedule failed',
    state(
      { ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no', rescheduling: 'failed' },
      { node: 'n' },
    ),
    'retry, Warning: full, failure',
  ],
  [
    'C26',
    'reschedule without annotation',
    state({ ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'no' }),
    'retry, Warning: full, failure',
  ],
  [
    'C26',
    'reschedule, deleting',
    state(
      { ...attempted, created: { kind: 'reschedule', message: 'full' }, unsettled: 'settled' },
      { ...settling, node: 'n' },
    ),
    'unguard',
  ],
  ['C27', 'ambiguous', state({ ...attempted, created: { kind: 'ambiguous', message: 'late' } }), 'guard'],
  [
    'C27',
    'ambiguous, guarded',
    state({ ...attempted, created: { kind: 'ambiguous', message: 'late' } }, guard),
    'retry, Warning: late, failure',
  ],
  [
    'C27',
    'ambiguous, deleting',
    state({ ...attempted, created: { kind: 'ambiguous', message: 'late' } }, { deleting: 'yes' }),
    'retry, Warning: late, failure',
  ],
  ['C27', 'malformed', state({ ...attempted, created: { kind: 'malformed', message: 'odd' } }), 'guard'],
  [
    'C27',
    'exists, unsettled',
    state({ ...attempted, created: { kind: 'final', message: 'exists', isSettled: false } }, settling),
    'retry, Warning: exists; the claim is kept until it is known whether a volume was created for it, failure',
  ],
  ['C28', 'too small', state({ ...attempted, created: tooSmall }), 'cleanUp'],
  [
    'C29',
    'too small, cleaned up',
    state({ ...attempted, created: tooSmall, cleanedUp: 'yes', unsettled: 'no' }),
    'retry, Warning: small, failure',
  ],
  [
    'C30',
    'too small, not cleaned up',
    state({ ...attempted, created: tooSmall, cleanedUp: { failure: 'busy' } }, guard),
    'retry, Warning: small. Cleanup of volume pvc-uid-data failed, volume is orphaned: busy, failure',
  ],
  [
    'C30',
    'too small, not cleaned up, no guard',
    state({ ...attempted, created: tooSmall, cleanedUp: { failure: 'busy' } }),
    'guard',
  ],
  ['C31', 'made', state({ ...attempted, created: made }), 'save'],
  ['C32', 'saved', state({ ...attempted, created: made, saved: { kind: 'saved', claim: 'there' } }), 'settle'],
  [
    'C32',
    'saved, settled',
    state({ ...attempted, created: made, saved: { kind: 'saved', claim: 'there' }, unsettled: 'no' }),
    'done, Normal: Successfully provisioned volume pvc-uid-data, success',
  ],
  [
    'C32',
    'saved, claim gone',
    state({ ...attempted, created: made, saved: { kind: 'saved', claim: 'gone' }, unsettled: 'no' }),
    'done, success',
  ],
  [
    'C33',
    'not saved',
    state({ ...attempted, created: made, saved: { kind: 'later', cause: new Error('x') }, unsettled: 'saving' }),
    'guard',
  ],
  [
    'C33',
    'not saved, guarded',
    state({ ...attempted, created: made, saved: { kind: 'later', cause: new Error('x') }, unsettled: 'saving' }, guard),
    'done, success',
  ],
  ['C34', 'taken', state({ ...attempted, created: made, saved: { kind: 'taken', message: 'theirs' } }), 'settle'],
  [
    'C34',
    'taken, settled',
    state({ ...attempted, created: made, saved: { kind: 'taken', message: 'theirs' }, unsettled: 'no' }),
    'retry, Warning: theirs, failure',
  ],
  ['C35', 'refused', state({ ...attempted, created: made, saved: { kind: 'refused', message: 'bad' } }), 'guard'],
  [
    'C35',
    'refused, guarded',
    state({ ...attempted, created: made, saved: { kind: 'refused', message: 'bad' } }, guard),
    'retry, Warning: bad, failure',
  ],
];

describe('the claim table', () => {
  it.each(rows)('%s: given %s, when decided, then the row holds', (_row, _given, given, next) => {
    expect(show(decide(given, context))).toBe(next);
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
      guard,
    );
    const action = decide(given, context);
    expect(action.kind === 'createVolume' && action.request).toEqual({ ...request, secrets: { key: 'new' } });
  });
});
