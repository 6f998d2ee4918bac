// SPDX-License-Identifier: Apache-2.0
/** One line for each row of the expansion table up to the call: given this state, decide returns that action. */
import { done, dropped, type Outcome, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aCondition, aDriver, aVolume, driverName, sizeOf, someSettings } from '../../testing/builders.ts';
import type { ResizerDriver } from '../driver.ts';
import { annotations } from '../names.ts';
import type { ResizerSettings } from '../settings.ts';
import { decide } from './decide.ts';
import { type Action, type ExpandState, nothingLearned } from './state.ts';

const claim = aClaim();
const volume = aVolume();
const failure = new Error('refused');
const failed = { failure };
const finalEntry = { kind: 'final', uid: 'uid-of-data', isInUse: true } as const;
const resizing = aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInProgress', conditions: [aCondition('Resizing')] });
const marked: Partial<ExpandState> = { claim: resizing, turn: 'taken', marked: 'done', target: sizeOf('2Gi') };
const announced: Partial<ExpandState> = { ...marked, isAnnounced: true };
const reference = { name: 'login', namespace: 'team' };
const withSecret = aVolume({ csi: { controllerExpandSecretRef: reference } });
const recorded = aVolume({ cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '1Gi' } });
const grown = aClaim({ cap: '2Gi' });
const request = {
  volume_id: 'volume-1',
  capacity_range: { required_bytes: '2147483648' },
  volume_capability: { mount: { fs_type: '', mount_flags: [] }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } },
};

const concludes = (row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Action => ({
  row,
  kind: 'conclude',
  outcome,
  events,
});
const fails = (row: string, message: string): Action =>
  concludes(row, retry(new Error(message)), { type: 'Warning', reason: 'VolumeResizeFailed', message });

interface Row {
  readonly id: string;
  readonly given: string;
  readonly state?: Partial<ExpandState>;
  readonly driver?: ResizerDriver;
  readonly features?: Partial<ResizerSettings['features']>;
  readonly then: Action;
}

const check = ({ state, driver = aDriver(), features = {}, then }: Row): void => {
  const context = { driver, settings: someSettings({ features }) };
  const observed = { claim, volume, entry: undefined, infeasibleForMs: 0, isUsed: false };
  expect(decide({ ...observed, ...nothingLearned, ...state }, context)).toEqual(then);
};
const legacy = { recovery: false };
const inTree = aVolume({ spec: { csi: undefined as never, cinder: { volumeID: 'x' } } });
const cinder = aDriver({ name: 'cinder.csi.openstack.org' });
const named = (name: string) => aClaim({ annotations: { [annotations.storageResizer]: name } });

describe('whose volume it is, and whether it grows', () => {
  it.each<Row>([
    { id: '[resizer#E1]', given: 'no claim', state: { claim: undefined }, then: concludes('E1', done) },
    { id: '[resizer#E2]', given: 'no PersistentVolume', state: { volume: undefined }, then: concludes('E2', done) },
    {
      id: '[resizer#E3, 11]',
      given: 'a CSI volume of another driver',
      state: { volume: aVolume({ csi: { driver: 'other' } }) },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 12]',
      given: 'an in-tree volume and a driver that replaced no plugin',
      state: { volume: inTree, claim: named(driverName) },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 123]',
      given: 'an in-tree volume and an annotation that names its plugin',
      driver: cinder,
      state: { volume: inTree, claim: named('kubernetes.io/cinder') },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 129]',
      given: 'a CSI volume of another driver and an annotation that names ours',
      driver: cinder,
      state: { claim: named('cinder.csi.openstack.org') },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 7]',
      given: 'a PersistentVolume without a claim reference',
      state: { volume: aVolume({ spec: { claimRef: undefined as never } }) },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 8]',
      given: 'a PersistentVolume of a claim with another UID',
      state: { volume: aVolume({ claim: aClaim({ uid: 'other' }) }) },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 9]',
      given: 'a PersistentVolume of a claim in another namespace',
      state: { volume: aVolume({ claim: aClaim({ namespace: 'other' }) }) },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E3, 110]',
      given: 'a recorded size on the PersistentVolume of another claim',
      state: { claim: grown, volume: { ...recorded, spec: { ...recorded.spec, claimRef: { uid: 'other' } } } },
      then: concludes('E3', done),
    },
    {
      id: '[resizer#E4]',
      given: 'a node that has finished',
      state: { claim: grown, volume: recorded },
      then: { row: 'E4', kind: 'removeAnnotation', volume: recorded },
    },
    {
      id: '[resizer#E4, 109]',
      given: 'a capacity above that of the PersistentVolume',
      state: { claim: aClaim({ cap: '3Gi' }), volume: recorded },
      then: { row: 'E4', kind: 'removeAnnotation', volume: recorded },
    },
    {
      id: '[resizer#E4]',
      given: 'an annotation that could not be removed',
      state: { claim: grown, volume: recorded, annotationRemoved: failed },
      then: concludes('E4', retry(failure)),
    },
    {
      id: '[resizer#E5, 108]',
      given: 'a node that has finished, without the gate',
      state: { claim: grown, volume: recorded },
      features: { annotateFsResize: false },
      then: concludes('E5', done),
    },
    { id: '[resizer#E5, 2]', given: 'what was requested', state: { claim: grown }, then: concludes('E5', done) },
    {
      id: '[resizer#E5, 3]',
      given: 'more than was requested',
      state: { claim: aClaim({ cap: '3Gi' }) },
      then: concludes('E5', done),
    },
    {
      id: '[resizer#E5, 17]',
      given: '2G requested and 2Gi there',
      state: { claim: aClaim({ spec: '2G', cap: '2Gi' }) },
      then: concludes('E5', done),
    },
    ...['Pending', 'Lost'].map((phase) => ({
      id: '[resizer#E5, 6]',
      given: `a claim that is ${phase}`,
      state: { claim: aClaim({ phase }) },
      then: concludes('E5', done),
    })),
    {
      id: '[resizer#S2]',
      given: 'a node that works on a smaller size',
      state: {
        claim: aClaim({ spec: '4Gi', alloc: '2Gi', rstatus: 'NodeResizePending' }),
        volume: aVolume({ cap: '2Gi' }),
      },
      then: concludes('S2', done),
    },
  ])('$id given $given, then $then.kind', check);
});

const tooLarge = aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInfeasible' });
const refusedByNode = aClaim({ alloc: '3Gi', rstatus: 'NodeResizeInfeasible' });
const grownVolume = aVolume({ spec: { capacity: { storage: '3Gi' } } });
const takesTurn = (row: string): Action => ({ row, kind: 'takeTurn', volumeHandle: 'volume-1' });

describe('an attempt up to the call', () => {
  it.each<Row>([
    {
      id: '[resizer#E6, 73]',
      given: 'an infeasible size that is held back',
      state: { claim: tooLarge, infeasibleForMs: 5_000 },
      then: concludes('E6', requeueAfter(5_000)),
    },
    {
      id: '[resizer#S4, 86]',
      given: 'an infeasible size that the claim does not show',
      state: { claim: resizing, infeasibleForMs: 5_000 },
      then: takesTurn('S4'),
    },
    {
      id: '[resizer#S5, 72]',
      given: 'another size than the infeasible one',
      state: { claim: aClaim({ alloc: '3Gi', rstatus: 'ControllerResizeInfeasible' }), infeasibleForMs: 5_000 },
      then: takesTurn('S5'),
    },
    {
      id: '[resizer#L2]',
      given: 'an infeasible size, without recovery',
      state: { claim: tooLarge, infeasibleForMs: 5_000 },
      features: legacy,
      then: takesTurn('L2'),
    },
    { id: '[resizer#E7]', given: 'a modification under way', state: { turn: 'busy' }, then: concludes('E7', dropped) },
    {
      id: '[resizer#E8, 82]',
      given: 'a claim that changed meanwhile',
      state: { turn: 'taken', marked: 'conflict' },
      then: concludes('E8', requeueAfter(50)),
    },
    {
      id: '[resizer#E9]',
      given: 'a claim that cannot be written',
      state: { turn: 'taken', marked: failed },
      then: concludes(
        'E9',
        retry(
          new Error(`marking pvc "team/data" as resizing failed: can't patch status of  PVC team/data with refused`),
        ),
      ),
    },
    {
      id: '[resizer#E10]',
      given: 'a first attempt',
      state: { turn: 'taken' },
      then: { row: 'E10', kind: 'mark', claim, target: sizeOf('2Gi'), status: 'new' },
    },
    {
      id: '[resizer#E10]',
      given: 'another attempt that the claim does not show',
      state: { claim: tooLarge, turn: 'taken' },
      then: { row: 'E10', kind: 'mark', claim: tooLarge, target: sizeOf('2Gi'), status: 'same' },
    },
    {
      id: '[resizer#E10, 55]',
      given: 'another attempt that the claim shows',
      state: { claim: resizing, turn: 'taken' },
      then: { row: 'E10', kind: 'mark', claim: resizing, target: sizeOf('2Gi'), status: 'same' },
    },
    ...['ControllerResizeInfeasible', 'SomethingNew', undefined].map((rstatus) => {
      const conditions = [aCondition('Resizing')];
      const shown = aClaim({ alloc: '2Gi', conditions, ...(rstatus === undefined ? {} : { rstatus }) });
      return {
        id: '[resizer#E10]',
        given: `another attempt of a claim with the resize status ${rstatus ?? 'none'}`,
        state: { claim: shown, turn: 'taken' },
        then: { row: 'E10', kind: 'mark', claim: shown, target: sizeOf('2Gi'), status: 'same' },
      } as const;
    }),
    ...['NodeResizeInfeasible', 'NodeResizePending', 'NodeResizeInProgress'].map((rstatus) => {
      const shown = aClaim({ alloc: '2Gi', rstatus, conditions: [aCondition('Resizing')] });
      return {
        id: '[resizer#E10]',
        given: `another attempt of a claim with the resize status ${rstatus}`,
        state: { claim: shown, turn: 'taken', target: sizeOf('2Gi') },
        then: { row: 'E10', kind: 'mark', claim: shown, target: sizeOf('2Gi'), status: 'same' },
      } as const;
    }),
    {
      id: '[resizer#S7]',
      given: 'a driver that expands volumes, and a size that the node refused and the user has lowered',
      state: { claim: refusedByNode, volume: grownVolume, turn: 'taken' },
      then: { row: 'E10', kind: 'mark', claim: refusedByNode, target: sizeOf('3Gi'), status: 'same' },
    },
    {
      id: '[resizer#E10, 61]',
      given: 'another attempt of a claim with the annotation',
      state: { claim: annotated(resizing), turn: 'taken' },
      then: { row: 'E10', kind: 'mark', claim: annotated(resizing), target: sizeOf('2Gi'), status: 'same' },
    },
    {
      id: '[resizer#E10]',
      given: 'no recovery, and an older condition',
      state: {
        claim: aClaim({ conditions: [aCondition('Resizing'), aCondition('FileSystemResizePending')] }),
        turn: 'taken',
      },
      features: legacy,
      then: {
        row: 'E10',
        kind: 'mark',
        claim: aClaim({ conditions: [aCondition('Resizing'), aCondition('FileSystemResizePending')] }),
        target: sizeOf('2Gi'),
        status: 'legacy',
      },
    },
    {
      id: '[resizer#E12]',
      given: 'another attempt that was marked',
      state: { claim: resizing, turn: 'taken', marked: 'done' },
      then: { row: 'E12', kind: 'announce', claim: resizing, volume, target: sizeOf('2Gi') },
    },
    {
      id: '[resizer#E12]',
      given: 'no recovery, and a claim with the annotation that was marked',
      state: { claim: annotated(aClaim({ conditions: [aCondition('Resizing')] })), turn: 'taken', marked: 'done' },
      features: legacy,
      then: {
        row: 'E12',
        kind: 'announce',
        claim: annotated(aClaim({ conditions: [aCondition('Resizing')] })),
        volume,
        target: sizeOf('2Gi'),
      },
    },
    {
      id: '[resizer#E11, 90]',
      given: 'a volume in use',
      state: { ...marked, entry: finalEntry, isUsed: true },
      then: fails(
        'E11',
        `Unable to expand team/data because CSI driver ${driverName} only supports offline expansion and volume is currently in-use`,
      ),
    },
    ...[
      { given: 'a pod, and no such answer', state: { ...marked, isUsed: true } },
      { given: 'such an answer, and no pod', state: { ...marked, entry: finalEntry } },
      {
        given: 'another refusal, and a pod',
        state: { ...marked, entry: { ...finalEntry, isInUse: false }, isUsed: true },
      },
    ].map(({ given, state }) => ({
      id: '[resizer#E12, 91, 92]',
      given,
      state,
      then: { row: 'E12', kind: 'announce', claim: resizing, volume, target: sizeOf('2Gi') } as const,
    })),
    {
      id: '[resizer#E13]',
      given: 'a driver that expands on nodes only',
      driver: aDriver({ expansion: 'trivial' }),
      state: announced,
      then: { row: 'E13', kind: 'skipCall', target: sizeOf('2Gi') },
    },
    {
      id: '[resizer#E14]',
      given: 'a secret',
      state: { ...announced, volume: withSecret },
      then: { row: 'E14', kind: 'readSecret', reference },
    },
    {
      id: '[resizer#E14]',
      given: 'a secret that cannot be read',
      state: { ...announced, volume: withSecret, secrets: failed },
      then: fails('E14', `resize volume "pv1" by resizer "${driverName}" failed: refused`),
    },
    {
      id: '[resizer#E14, 121]',
      given: 'a volume without a handle',
      state: { ...announced, volume: aVolume({ csi: { volumeHandle: '' } }) },
      then: fails('E14', `resize volume "pv1" by resizer "${driverName}" failed: empty volume handle`),
    },
    {
      id: '[resizer#E15]',
      given: 'no secret',
      state: announced,
      then: { row: 'E15', kind: 'expand', claim: resizing, migrated: false, request },
    },
    {
      id: '[resizer#E15]',
      given: 'the secret',
      state: { ...announced, volume: withSecret, secrets: { value: { key: 'x' } } },
      then: {
        row: 'E15',
        kind: 'expand',
        claim: resizing,
        migrated: false,
        request: { ...request, secrets: { key: 'x' } },
      },
    },
  ])('$id given $given, then $then.kind', check);
});

function annotated(it: typeof claim): typeof claim {
  return { ...it, metadata: { ...it.metadata, annotations: { [annotations.nodeExpansionNotRequired]: 'true' } } };
}

describe('states that differ from these in one part', () => {
  const asksForMore = aClaim({
    spec: '3Gi',
    alloc: '2Gi',
    rstatus: 'ControllerResizeInProgress',
    conditions: [aCondition('Resizing')],
  });
  const refused = aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInfeasible', conditions: [aCondition('Resizing')] });

  it.each<Row>([
    {
      id: '[resizer#E5]',
      given: 'an annotation that was removed in this run and is still shown',
      state: { claim: grown, volume: recorded, annotationRemoved: 'done' },
      then: concludes('E5', done),
    },
    {
      id: '[resizer#E6]',
      given: 'a refusal that holds for a last millisecond',
      state: { claim: refused, infeasibleForMs: 1 },
      then: concludes('E6', requeueAfter(1)),
    },
    {
      id: '[resizer#E15]',
      given: 'a size that was recorded in this run, and a larger one by now',
      state: { ...announced, claim: asksForMore, entry: { ...finalEntry, isInUse: false } },
      then: { row: 'E15', kind: 'expand', claim: asksForMore, migrated: false, request },
    },
    {
      id: '[resizer#E15]',
      given: 'a size that was recorded in this run, although its refusal holds',
      state: { ...announced, claim: refused, infeasibleForMs: 5 },
      then: { row: 'E15', kind: 'expand', claim: refused, migrated: false, request },
    },
    {
      id: '[resizer#E7]',
      given: 'an in-tree volume, which has no handle',
      driver: cinder,
      state: { volume: inTree, claim: named('cinder.csi.openstack.org') },
      then: { row: 'S5', kind: 'takeTurn', volumeHandle: 'pv1' },
    },
  ])('$id given $given, then $then.row', check);

  it.each([
    { given: 'a size that could not be recorded', state: { turn: 'taken', marked: failed } as const },
    { given: 'a secret that could not be read', state: { ...announced, volume: withSecret, secrets: failed } },
  ])('given $given, then the failure is the cause of the cause', ({ state }) => {
    const observed = { claim, volume, entry: undefined, infeasibleForMs: 0, isUsed: false };
    const action = decide(
      { ...observed, ...nothingLearned, ...state },
      { driver: aDriver(), settings: someSettings({ features: {} }) },
    );
    expect(action).toMatchObject({ kind: 'conclude', outcome: { kind: 'retry' } });
    expect(action.kind === 'conclude' && action.outcome.kind === 'retry' && action.outcome.cause.cause).toBe(failure);
  });
});
