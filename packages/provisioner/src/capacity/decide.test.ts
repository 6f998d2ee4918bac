// SPDX-License-Identifier: Apache-2.0
/** One line per row of the capacity table: the state, and the next action. */
import type { CSIStorageCapacity } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { driverName } from '../../testing/builders.ts';
import { aCapacity, aLateClass, anOwner, namespace, show as showObject } from '../../testing/capacity-fixture.ts';
import { toTerm } from '../topology/terms.ts';
import { decide } from './decide.ts';
import { centralManagedBy } from './object.ts';
import { type Action, type CapacityContext, type CapacityState, nothingLearned, type Row } from './state.ts';

const context: CapacityContext = {
  target: { driverName, immediateBinding: false },
  management: { driverName, managedBy: centralManagedBy, namespace, owner: undefined },
};
const owned: CapacityContext = { ...context, management: { ...context.management, owner: anOwner } };

function state(facts: Partial<CapacityState> = {}): CapacityState {
  return {
    className: 'fast',
    knowsSegments: true,
    segment: toTerm([['zone', 'a']]),
    storageClass: aLateClass('fast', { parameters: { kind: 'ssd' } }),
    objects: [],
    ...nothingLearned,
    ...facts,
  };
}

function show(action: Action): string {
  switch (action.kind) {
    case 'ask':
      return `ask ${JSON.stringify(action.request)}`;
    case 'remove':
      return `remove ${action.objects.map(({ metadata }) => metadata?.name).join(' ')}`;
    case 'create':
    case 'update':
      return `${action.kind} ${showObject(action.object)}`;
    case 'conclude': {
      const { outcome } = action;
      return outcome.kind === 'retry' ? `retry: ${outcome.cause.message}` : outcome.kind;
    }
  }
}

const tib = 1024n ** 4n;
const failure = { failure: new Error('no') };
const all = { value: { available: tib, maximum: tib } };
const half = { value: { available: tib / 2n, maximum: undefined } };
const same = aCapacity();
const twin = aCapacity({ name: 'csisc-2' });
const leaving: CSIStorageCapacity = {
  ...twin,
  metadata: { ...twin.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
};

interface Case {
  readonly row: Row;
  readonly given: string;
  readonly state: CapacityState;
  readonly owner?: 'configured';
  readonly next: string;
}

const rows: readonly Case[] = [
  { row: 'K1', given: 'no pass yet', state: state({ knowsSegments: false, objects: [same] }), next: 'done' },
  {
    row: 'K2',
    given: 'no such segment',
    state: state({ segment: undefined, objects: [same, twin] }),
    next: 'remove csisc-1 csisc-2',
  },
  { row: 'K2', given: 'no class', state: state({ storageClass: undefined, objects: [same] }), next: 'remove csisc-1' },
  { row: 'K3', given: 'no class, no object', state: state({ storageClass: undefined }), next: 'done' },
  {
    row: 'K3',
    given: 'no class, removed',
    state: state({ storageClass: undefined, objects: [same], removed: 'done' }),
    next: 'done',
  },
  {
    row: 'K3',
    given: 'no class, being deleted',
    state: state({ storageClass: undefined, objects: [leaving] }),
    next: 'done',
  },
  {
    row: 'K3',
    given: 'no class, not removed',
    state: state({ storageClass: undefined, objects: [same], removed: failure }),
    next: 'retry: no',
  },
  { row: 'K4', given: 'two objects', state: state({ objects: [same, twin] }), next: 'remove csisc-2' },
  {
    row: 'K5',
    given: 'no object',
    state: state(),
    next: 'ask {"parameters":{"kind":"ssd"},"accessible_topology":{"segments":{"zone":"a"}}}',
  },
  {
    row: 'K5',
    given: 'an object and one that is being deleted',
    state: state({ objects: [same, leaving], segment: [] }),
    next: 'ask {"parameters":{"kind":"ssd"},"accessible_topology":{"segments":{}}}',
  },
  {
    row: 'K5',
    given: 'a class without parameters',
    state: state({ storageClass: aLateClass() }),
    next: 'ask {"parameters":{},"accessible_topology":{"segments":{"zone":"a"}}}',
  },
  { row: 'K6', given: 'no answer', state: state({ objects: [same], reported: failure }), next: 'retry: no' },
  { row: 'K7', given: 'no object', state: state({ reported: all }), next: 'create fast zone=a 1Ti max 1Ti' },
  { row: 'K7', given: 'no maximum', state: state({ reported: half }), next: 'create fast zone=a 512Gi' },
  {
    row: 'K7',
    given: 'the empty segment',
    state: state({ reported: half, segment: [] }),
    next: 'create fast {} 512Gi',
  },
  {
    row: 'K7',
    given: 'an owner',
    state: state({ reported: half }),
    owner: 'configured',
    next: 'create fast zone=a 512Gi of driver',
  },
  { row: 'K8', given: 'the same sizes', state: state({ objects: [same], reported: all }), next: 'done' },
  {
    row: 'K8',
    given: 'the same sizes in other words',
    state: state({ objects: [aCapacity({ capacity: '1024Gi', maximum: '1099511627776' })], reported: all }),
    next: 'done',
  },
  {
    row: 'K8',
    given: 'the same sizes and the owner',
    state: state({ objects: [aCapacity({ owners: [anOwner] })], reported: all }),
    owner: 'configured',
    next: 'done',
  },
  {
    row: 'K8',
    given: 'an owner that is not configured',
    state: state({ objects: [aCapacity({ owners: [anOwner] })], reported: all }),
    next: 'done',
  },
  { row: 'K8', given: 'created', state: state({ reported: all, written: 'done' }), next: 'done' },
  {
    row: 'K9',
    given: 'other sizes',
    state: state({ objects: [same], reported: half }),
    next: 'update fast zone=a 512Gi',
  },
  {
    row: 'K9',
    given: 'another maximum',
    state: state({ objects: [aCapacity({ maximum: '1Gi' })], reported: all }),
    next: 'update fast zone=a 1Ti max 1Ti',
  },
  {
    row: 'K9',
    given: 'no capacity',
    state: state({ objects: [aCapacity({ capacity: '' })], reported: all }),
    next: 'update fast zone=a 1Ti max 1Ti',
  },
  {
    row: 'K9',
    given: 'a capacity that is no quantity',
    state: state({ objects: [aCapacity({ capacity: 'much' })], reported: all }),
    next: 'update fast zone=a 1Ti max 1Ti',
  },
  {
    row: 'K9',
    given: 'no owner',
    state: state({ objects: [same], reported: all }),
    owner: 'configured',
    next: 'update fast zone=a 1Ti max 1Ti of driver',
  },
  {
    row: 'K9',
    given: 'another controller and another reference',
    state: state({
      objects: [
        aCapacity({
          owners: [
            { ...anOwner, name: 'old', uid: 'uid-of-old' },
            { ...anOwner, name: 'friend', uid: 'uid-of-friend', controller: false },
          ],
        }),
      ],
      reported: all,
    }),
    owner: 'configured',
    next: 'update fast zone=a 1Ti max 1Ti of friend and driver',
  },
  {
    row: 'K9',
    given: 'the owner, but not as the controller',
    state: state({ objects: [aCapacity({ owners: [{ ...anOwner, controller: false }] })], reported: all }),
    owner: 'configured',
    next: 'update fast zone=a 1Ti max 1Ti of driver',
  },
  {
    row: 'K10',
    given: 'not written',
    state: state({ objects: [same], reported: half, written: failure }),
    next: 'retry: no',
  },
  {
    row: 'K10',
    given: 'a twin that stays',
    state: state({ objects: [same, twin], removed: failure, reported: all }),
    next: 'retry: no',
  },
  {
    row: 'K10',
    given: 'a twin that stays, and a write',
    state: state({ objects: [same, twin], removed: failure, reported: half, written: 'done' }),
    next: 'retry: no',
  },
];

describe('the capacity table', () => {
  it.each(rows)('[$row] given $given, then $next', ({ row, state: given, owner, next }) => {
    const action = decide(given, owner === undefined ? context : owned);
    expect([action.row, show(action)]).toEqual([row, next]);
  });

  it('given a twin that could not be removed, then the kept object is still brought up to date', () => {
    const given = state({ objects: [same, twin], removed: failure, reported: half });
    expect(show(decide(given, context))).toBe('update fast zone=a 512Gi');
  });

  it('given an update, then everything else of the object stays, and the cached object is not changed', () => {
    const object = aCapacity({ labels: { ...same.metadata?.labels, mine: 'x' } });
    const frozen = JSON.stringify(object);
    const action = decide(state({ objects: [object], reported: half }), owned);
    if (action.kind !== 'update') throw new Error(action.kind);
    expect(action.object).toEqual({
      ...object,
      metadata: { ...object.metadata, ownerReferences: [anOwner] },
      capacity: '512Gi',
      maximumVolumeSize: undefined,
    });
    expect(JSON.stringify(object)).toBe(frozen);
  });

  it('given a new object, then it has both labels and a name of the server', () => {
    const action = decide(state({ reported: half }), context);
    expect(action.kind === 'create' && action.object).toEqual({
      metadata: {
        namespace,
        generateName: 'csisc-',
        labels: {
          'csi.storage.k8s.io/drivername': driverName,
          'csi.storage.k8s.io/managed-by': 'external-provisioner',
        },
      },
      storageClassName: 'fast',
      nodeTopology: { matchLabels: { zone: 'a' } },
      capacity: '512Gi',
    });
  });
});
