// SPDX-License-Identifier: Apache-2.0
/** One line for each row of the modification table: given this state, decide returns that action. */
import { done, dropped, type Outcome, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aCondition,
  aVolume,
  type ClaimOptions,
  csiFailure,
  driverName,
} from '../../testing/builders.ts';
import { decide } from './decide.ts';
import { type Action, type ModifyState, nothingLearned } from './state.ts';

const gold = aClass('gold');
const silver = aClass('silver');
const foreign = aClass('gold', { driverName: 'other' });
const volume = aVolume();
const failure = new Error('refused');
const failed = { failure };
const reference = { name: 'login', namespace: 'team' };
const withSecret = aVolume({ csi: { controllerExpandSecretRef: reference } });
const settled = { kind: 'settled', uid: 'uid-of-data' } as const;

const claimOf = (options: ClaimOptions = {}) => aClaim({ spec: '1Gi', wantedClass: 'gold', ...options });
const recorded = (status: string, target = 'gold', options: ClaimOptions = {}) =>
  claimOf({ modifyStatus: { status, targetVolumeAttributesClassName: target }, ...options });
const fresh = claimOf();
const inProgress = recorded('InProgress');
const called: Partial<ModifyState> = { claim: inProgress, turn: 'taken', modifiesTo: gold };

const concludes = (row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Action => ({
  row,
  kind: 'conclude',
  outcome,
  events,
});
const warning = (message: string) => ({ type: 'Warning', reason: 'VolumeModifyFailed', message }) as const;
const missing = warning('VAC "gold" does not exist.');
const foreignText = `VAC "gold" belongs to driver other, the volume to driver ${driverName}.`;
const foreignShown = [aCondition('ModifyVolumeError', { reason: 'InvalidArgument', message: foreignText })];
const silently = (row: string, cause = 'refused'): Action =>
  concludes(row, retry(new Error(`cannot get error status from modify volume err: ${cause}`)));
const takesTurn: Action = { row: 'M11', kind: 'takeTurn', volumeHandle: 'volume-1' };
const success = {
  type: 'Normal',
  reason: 'VolumeModifySuccessful',
  message: 'external resizer modified volume data with vac gold successfully',
} as const;

interface Row {
  readonly id: string;
  readonly given: string;
  readonly state?: Partial<ModifyState>;
  readonly then: Action;
}

const check = ({ state, then }: Row): void => {
  const context = { driver: { name: driverName }, settings: { extraModifyMetadata: false } };
  const observed = {
    claim: fresh,
    volume,
    wantedClass: gold,
    targetClass: gold,
    entry: undefined,
    infeasibleForMs: 0,
  };
  expect(decide({ ...observed, ...nothingLearned, ...state }, context)).toEqual(then);
};

describe('which class', () => {
  it.each<Row>([
    { id: '[resizer#M1]', given: 'no claim', state: { claim: undefined }, then: concludes('M1', done) },
    { id: '[resizer#M2]', given: 'no PersistentVolume', state: { volume: undefined }, then: concludes('M2', done) },
    {
      id: '[resizer#M2, 150]',
      given: 'a volume of another driver',
      state: { volume: aVolume({ csi: { driver: 'other' } }) },
      then: concludes('M2', done),
    },
    {
      id: '[resizer#M2, 150, 160]',
      given: 'an in-tree volume',
      state: { volume: aVolume({ spec: { csi: undefined as never, cinder: { volumeID: 'x' } } }) },
      then: concludes('M2', done),
    },
    {
      id: '[resizer#M3, 151]',
      given: 'a claim that is not Bound',
      state: { claim: claimOf({ phase: 'Pending' }) },
      then: concludes('M3', done),
    },
    {
      id: '[resizer#M3]',
      given: 'a PersistentVolume of another claim',
      state: { volume: aVolume({ claim: aClaim({ uid: 'other' }) }) },
      then: concludes('M3', done),
    },
    {
      id: '[resizer#M4]',
      given: 'an infeasible class that is held back',
      state: { claim: recorded('Infeasible'), infeasibleForMs: 7_000 },
      then: concludes('M4', requeueAfter(7_000)),
    },
    {
      id: '[resizer#M11]',
      given: 'an infeasible class that the claim does not show',
      state: {
        claim: inProgress,
        entry: { kind: 'infeasible', uid: 'uid-of-data', sinceMs: 0 },
        infeasibleForMs: 7_000,
      },
      then: takesTurn,
    },
    {
      id: '[resizer#M11, 178]',
      given: 'another class than the one that is held back',
      state: { claim: recorded('Infeasible', 'silver'), infeasibleForMs: 7_000 },
      then: takesTurn,
    },
    {
      id: '[resizer#M5, 143]',
      given: 'the current class',
      state: { claim: claimOf({ currentClass: 'gold' }) },
      then: concludes('M5', done),
    },
    {
      id: '[resizer#M5, 143]',
      given: 'no class, wanted or current',
      state: { claim: aClaim(), wantedClass: undefined },
      then: concludes('M5', done),
    },
    {
      id: '[resizer#M11, 155]',
      given: 'the current class after an infeasible one',
      state: { claim: recorded('Infeasible', 'silver', { currentClass: 'gold' }) },
      then: takesTurn,
    },
    {
      id: '[resizer#M6, 148]',
      given: 'no wanted class, and no condition',
      state: { claim: recorded('Infeasible', 'gold', { wantedClass: '' }) },
      then: concludes('M6', done),
    },
    {
      id: '[resizer#M6, 153]',
      given: 'no wanted class, and the condition',
      state: {
        claim: recorded('Infeasible', 'gold', { wantedClass: '', conditions: [aCondition('ModifyingVolume')] }),
      },
      then: {
        row: 'M6',
        kind: 'cancel',
        claim: recorded('Infeasible', 'gold', { wantedClass: '', conditions: [aCondition('ModifyingVolume')] }),
      },
    },
    {
      id: '[resizer#M6, 153]',
      given: 'a condition that was removed',
      state: { claim: recorded('Infeasible', 'gold', { wantedClass: '' }), cancelled: 'done' },
      then: concludes('M6', done, { type: 'Normal', reason: 'VolumeModifyCanceled', message: 'Cancelled modify.' }),
    },
    {
      id: '[resizer#M6, 215]',
      given: 'a cancel that another modification came before',
      state: { claim: recorded('InProgress', 'silver', { wantedClass: '' }), targetClass: gold, cancelled: 'done' },
      then: concludes('M6', requeueAfter(50)),
    },
    {
      id: '[resizer#M6]',
      given: 'a condition that could not be removed',
      state: { claim: recorded('Pending', '', { wantedClass: '' }), cancelled: failed },
      then: concludes('M6', retry(failure)),
    },
    {
      id: '[resizer#M7, 176]',
      given: 'an open modification whose class is gone',
      state: { claim: inProgress, targetClass: undefined },
      then: concludes('M7', retry(new Error(missing.message)), missing),
    },
    {
      id: '[resizer#M8, 152]',
      given: 'an open modification, and another wanted class',
      state: { claim: recorded('InProgress', 'silver'), targetClass: silver, turn: 'taken' },
      then: { row: 'M8', kind: 'resume', target: silver },
    },
    {
      id: '[resizer#M8]',
      given: 'an open modification, however it was recorded',
      state: { claim: inProgress, turn: 'taken' },
      then: { row: 'M8', kind: 'resume', target: gold },
    },
    {
      id: '[resizer#M8, 149]',
      given: 'a modification in progress that was refused, and no wanted class',
      state: {
        claim: recorded('InProgress', 'silver', { wantedClass: '' }),
        targetClass: silver,
        turn: 'taken',
        entry: settled,
      },
      then: { row: 'M8', kind: 'resume', target: silver },
    },
    {
      id: '[resizer#M9, 146]',
      given: 'a wanted class that does not exist',
      state: { wantedClass: undefined },
      then: { row: 'M9', kind: 'savePending', claim: fresh },
    },
    {
      id: '[resizer#M9]',
      given: 'a class that does not exist, recorded',
      state: { claim: recorded('Pending'), wantedClass: undefined, noCallSaved: 'done' },
      then: concludes('M9', done, missing),
    },
    {
      id: '[resizer#M9]',
      given: 'a class that does not exist, recorded earlier',
      state: { claim: recorded('Pending'), wantedClass: undefined },
      then: concludes('M9', done, missing),
    },
    {
      id: '[resizer#M9]',
      given: 'a claim that changed meanwhile',
      state: { wantedClass: undefined, noCallSaved: 'conflict' },
      then: concludes('M9', requeueAfter(50)),
    },
    {
      id: '[resizer#M9]',
      given: 'a claim that cannot be written',
      state: { wantedClass: undefined, noCallSaved: failed },
      then: concludes('M9', retry(failure), missing),
    },
    {
      id: '[resizer#M10, 162]',
      given: 'a wanted class of another driver',
      state: { wantedClass: foreign },
      then: { row: 'M10', kind: 'saveForeign', claim: fresh, target: foreign },
    },
    {
      id: '[resizer#M10]',
      given: 'a wanted class of another driver after a refusal of another class',
      state: { claim: recorded('InProgress', 'silver'), targetClass: silver, wantedClass: foreign, entry: settled },
      then: { row: 'M10', kind: 'saveForeign', claim: recorded('InProgress', 'silver'), target: foreign },
    },
    {
      id: '[resizer#M10]',
      given: 'a class of another driver that is infeasible for another reason',
      state: {
        claim: recorded('Infeasible', 'gold', { conditions: [aCondition('ModifyVolumeError', { message: 'no' })] }),
        wantedClass: foreign,
      },
      then: {
        row: 'M10',
        kind: 'saveForeign',
        claim: recorded('Infeasible', 'gold', { conditions: [aCondition('ModifyVolumeError', { message: 'no' })] }),
        target: foreign,
      },
    },
    ...(['Pending', 'InProgress'] as const).map((status) => ({
      id: '[resizer#M10]',
      given: `a class of another driver, recorded as ${status} with its error`,
      state: { claim: recorded(status, 'gold', { conditions: foreignShown }), wantedClass: foreign, entry: settled },
      then: {
        row: 'M10',
        kind: 'saveForeign',
        claim: recorded(status, 'gold', { conditions: foreignShown }),
        target: foreign,
      } as const,
    })),
    {
      id: '[resizer#M10]',
      given: 'another class recorded with the error of the wanted one',
      state: { claim: recorded('Infeasible', 'silver', { conditions: foreignShown }), wantedClass: foreign },
      then: {
        row: 'M10',
        kind: 'saveForeign',
        claim: recorded('Infeasible', 'silver', { conditions: foreignShown }),
        target: foreign,
      },
    },
    {
      id: '[resizer#M10]',
      given: 'a class of another driver that the claim shows as infeasible',
      state: { claim: recorded('Infeasible', 'gold', { conditions: foreignShown }), wantedClass: foreign },
      then: concludes('M10', done, warning(foreignText)),
    },
    {
      id: '[resizer#M10]',
      given: 'a class of another driver, recorded in this run',
      state: { wantedClass: foreign, noCallSaved: 'done' },
      then: concludes('M10', done, warning(foreignText)),
    },
    {
      id: '[resizer#M10]',
      given: 'a class of another driver, and a claim that changed meanwhile',
      state: { wantedClass: foreign, noCallSaved: 'conflict' },
      then: concludes('M10', requeueAfter(50)),
    },
    {
      id: '[resizer#M10]',
      given: 'a class of another driver, and a claim that cannot be written',
      state: { wantedClass: foreign, noCallSaved: failed },
      then: concludes('M10', retry(failure), warning(foreignText)),
    },
    {
      id: '[resizer#M11]',
      given: 'an open modification whose class names another driver',
      state: { claim: inProgress, targetClass: foreign, wantedClass: foreign },
      then: takesTurn,
    },
    {
      id: '[resizer#M5]',
      given: 'the current class, which names another driver',
      state: { claim: claimOf({ currentClass: 'gold' }), wantedClass: foreign },
      then: concludes('M5', done),
    },
    { id: '[resizer#M11]', given: 'a class that exists', then: takesTurn },
    { id: '[resizer#M11]', given: 'an open modification', state: { claim: inProgress }, then: takesTurn },
    {
      id: '[resizer#M11]',
      given: 'an expansion under way',
      state: { turn: 'busy' },
      then: concludes('M11', dropped),
    },
    {
      id: '[resizer#M12]',
      given: 'the turn',
      state: { turn: 'taken' },
      then: { row: 'M12', kind: 'mark', claim: fresh, target: gold },
    },
    {
      id: '[resizer#M12, 165]',
      given: 'the turn after a refusal',
      state: { turn: 'taken', claim: inProgress, entry: settled },
      then: { row: 'M12', kind: 'mark', claim: inProgress, target: gold },
    },
    {
      id: '[resizer#M12, 159]',
      given: 'the turn after somebody else changed the status',
      state: { turn: 'taken', claim: recorded('Infeasible', 'silver') },
      then: { row: 'M12', kind: 'mark', claim: recorded('Infeasible', 'silver'), target: gold },
    },
    {
      id: '[resizer#M12, 173]',
      given: 'a claim that changed meanwhile',
      state: { turn: 'taken', marked: 'conflict' },
      then: concludes('M12', requeueAfter(50)),
    },
    {
      id: '[resizer#M12]',
      given: 'a claim that cannot be written',
      state: { turn: 'taken', marked: failed },
      then: concludes('M12', retry(failure)),
    },
  ])('$id given $given, then $then.kind', check);
});

const request = { volume_id: 'volume-1', mutable_parameters: { iops: '1000' } };
const after = (state: Partial<ModifyState>) => ({ ...called, ...state });
const aborted = csiFailure('Aborted');
const saves = (row: string, outcome: 'open' | 'infeasible' | 'final', error: Error): Action => ({
  row,
  kind: 'saveFailure',
  claim: inProgress,
  failure: error,
  outcome,
});

describe('a modification', () => {
  it.each<Row>([
    {
      id: '[resizer#M13]',
      given: 'a recorded attempt',
      state: after({ marked: 'done' }),
      then: { row: 'M13', kind: 'announce', claim: inProgress, target: gold },
    },
    {
      id: '[resizer#M14]',
      given: 'a volume without a handle',
      state: after({ volume: aVolume({ csi: { volumeHandle: '' } }) }),
      then: silently('M14', 'empty volume handle'),
    },
    {
      id: '[resizer#M15]',
      given: 'a secret',
      state: after({ volume: withSecret }),
      then: { row: 'M15', kind: 'readSecret', reference },
    },
    {
      id: '[resizer#M15, 168]',
      given: 'a secret that cannot be read',
      state: after({ volume: withSecret, secrets: failed }),
      then: silently('M15'),
    },
    {
      id: '[resizer#M16]',
      given: 'no secret',
      state: called,
      then: { row: 'M16', kind: 'modify', claim: inProgress, request },
    },
    {
      id: '[resizer#M16]',
      given: 'the secret',
      state: after({ volume: withSecret, secrets: { value: { key: 'x' } } }),
      then: { row: 'M16', kind: 'modify', claim: inProgress, request: { ...request, secrets: { key: 'x' } } },
    },
    { id: '[resizer#M14]', given: 'no call', state: after({ modified: failed }), then: silently('M14') },
    {
      id: '[resizer#M17]',
      given: 'a success',
      state: after({ modified: 'done' }),
      then: { row: 'M17', kind: 'saveVolume', volume, className: 'gold' },
    },
    {
      id: '[resizer#M17, 171]',
      given: 'a PersistentVolume that could not be written',
      state: after({ modified: 'done', volumeSaved: failed }),
      then: silently('M17'),
    },
    ...[{ volumeSaved: 'done' as const }, { volume: aVolume({ spec: { volumeAttributesClassName: 'gold' } }) }].map(
      (state) => ({
        id: '[resizer#M18]',
        given: 'a PersistentVolume that shows the class',
        state: after({ modified: 'done', ...state }),
        then: { row: 'M18', kind: 'saveResult', claim: inProgress, className: 'gold' } as const,
      }),
    ),
    {
      id: '[resizer#M18, 172]',
      given: 'a claim that could not be written',
      state: after({ modified: 'done', volumeSaved: 'done', resultSaved: failed }),
      then: silently('M18'),
    },
    ...['gold', ''].map((wantedClass) => ({
      id: '[resizer#M19]',
      given: `a claim that shows the class and wants "${wantedClass}"`,
      state: after({
        modified: 'done',
        volumeSaved: 'done',
        resultSaved: 'done',
        claim: claimOf({ currentClass: 'gold', wantedClass }),
      }),
      then: concludes('M19', done, success),
    })),
    {
      id: '[resizer#M19, 156]',
      given: 'a claim that shows the class and wants another one by now',
      state: after({
        modified: 'done',
        volumeSaved: 'done',
        resultSaved: 'done',
        claim: claimOf({ currentClass: 'gold', wantedClass: 'silver' }),
      }),
      then: concludes('M19', requeueAfter(0), success),
    },
    ...(['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'] as const).map((code) => ({
      id: '[resizer#M20]',
      given: code,
      state: after({ modified: { failure: csiFailure(code) } }),
      then: saves('M20', 'open', csiFailure(code)),
    })),
    {
      id: '[resizer#M20, 170]',
      given: 'an open outcome, recorded',
      state: after({ modified: { failure: aborted }, failureSaved: 'done' }),
      then: concludes('M20', retry(aborted), warning(`${aborted.message}. Still modifying to VAC gold`)),
    },
    {
      id: '[resizer#M21]',
      given: 'InvalidArgument',
      state: after({ modified: { failure: csiFailure('InvalidArgument') } }),
      then: saves('M21', 'infeasible', csiFailure('InvalidArgument')),
    },
    ...(['NotFound', 'OutOfRange', 'Internal', 'FailedPrecondition', 'Unknown'] as const).map((code) => ({
      id: '[resizer#M22, 169]',
      given: code,
      state: after({ modified: { failure: csiFailure(code) } }),
      then: saves('M22', 'final', csiFailure(code)),
    })),
    {
      id: '[resizer#M22]',
      given: 'a refusal, recorded',
      state: after({ modified: { failure: csiFailure('Internal') }, failureSaved: 'done' }),
      then: concludes('M22', retry(csiFailure('Internal')), warning(csiFailure('Internal').message)),
    },
    {
      id: '[resizer#M22]',
      given: 'a refusal that could not be recorded',
      state: after({ modified: { failure: csiFailure('Internal') }, failureSaved: failed }),
      then: concludes('M22', retry(failure)),
    },
  ])('$id given $given, then $then.kind', check);
});

describe('states that differ from these in one part', () => {
  it.each<Row>([
    {
      id: '[resizer#M4]',
      given: 'a refusal that holds for a last millisecond',
      state: { claim: recorded('Infeasible'), infeasibleForMs: 1 },
      then: concludes('M4', requeueAfter(1)),
    },
    {
      id: '[resizer#M6]',
      given: 'a refusal without a class, and no class that is wanted',
      state: { claim: claimOf({ wantedClass: '', modifyStatus: { status: 'Infeasible' } }), infeasibleForMs: 5 },
      then: concludes('M6', done),
    },
    {
      id: '[resizer#M9]',
      given: 'a class that does not exist, recorded in this run and not shown',
      state: { wantedClass: undefined, noCallSaved: 'done' },
      then: concludes('M9', done, missing),
    },
  ])('$id given $given, then $then.row', check);

  it('given a secret that could not be read, then the failure is the cause of the cause', () => {
    const observed = { claim: inProgress, volume: withSecret, wantedClass: gold, targetClass: gold };
    const action = decide(
      { ...observed, entry: undefined, infeasibleForMs: 0, ...nothingLearned, ...called, secrets: failed },
      { driver: { name: driverName }, settings: { extraModifyMetadata: false } },
    );
    expect(action).toMatchObject({ kind: 'conclude', row: 'M15' });
    expect(action.kind === 'conclude' && action.outcome.kind === 'retry' && action.outcome.cause.cause).toBe(failure);
  });
});
