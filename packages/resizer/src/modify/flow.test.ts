// SPDX-License-Identifier: Apache-2.0
/** One line for each way through the modification: what a run sees, how its steps are answered, which rows it goes through, how it ends. */
import { done, dropped, type Outcome, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aCondition,
  aDriver,
  aVolume,
  type ClaimOptions,
  csiFailure,
  driverName,
} from '../../testing/builders.ts';
import { modify, type Observed } from './flow.ts';

const gold = aClass('gold');
const silver = aClass('silver');
const foreign = aClass('gold', { driverName: 'other' });
const refused = new Error('refused');
const withSecret = aVolume({ csi: { controllerExpandSecretRef: { name: 'login', namespace: 'team' } } });
const settled = { kind: 'final', uid: 'uid-of-data', isInUse: false } as const;

const claimOf = (options: ClaimOptions = {}) => aClaim({ spec: '1Gi', wantedClass: 'gold', ...options });
const recorded = (status: string, target = 'gold', options: ClaimOptions = {}) =>
  claimOf({ modifyStatus: { status, targetVolumeAttributesClassName: target }, ...options });
const inProgress = recorded('InProgress');
const stored = claimOf({ currentClass: 'gold' });

const warning = (message: string) => ({ type: 'Warning', reason: 'VolumeModifyFailed', message }) as const;
const missing = warning('VAC "gold" does not exist.');
const foreignText = `VAC "gold" belongs to driver other, the volume to driver ${driverName}.`;
const foreignShown = {
  conditions: [
    aCondition('Foreign'),
    aCondition('ModifyVolumeError', { reason: 'InvalidArgument', message: foreignText }),
  ],
};
const succeeded = {
  type: 'Normal',
  reason: 'VolumeModifySuccessful',
  message: 'external resizer modified volume data with vac gold successfully',
} as const;
const cancelled = { type: 'Normal', reason: 'VolumeModifyCanceled', message: 'Cancelled modify.' } as const;
const silently = (cause = 'refused') => retry(new Error(`cannot get error status from modify volume err: ${cause}`));

/** Everything succeeds, unless a row says otherwise. */
const fine: Answers = {
  lockVolume: true,
  savePending: inProgress,
  saveForeign: inProgress,
  cancel: claimOf({ wantedClass: '' }),
  mark: inProgress,
  announce: undefined,
  readCallSecret: { key: 'x' },
  modify: {},
  saveVolume: aVolume(),
  saveResult: stored,
  saveFailure: inProgress,
};

interface Row {
  readonly id: string;
  readonly given: string;
  readonly seen?: Partial<Observed>;
  readonly answers?: Answers;
  /** Its steps, and at the end the row that ends it. */
  readonly rows: string;
  /** Default: done. */
  readonly outcome?: Outcome;
  readonly event?: RecordedEvent;
}

const observed = {
  claim: claimOf(),
  volume: aVolume(),
  wantedClass: gold,
  targetClass: gold,
  entry: undefined,
  infeasibleForMs: 0,
};
const context = { driver: aDriver(), settings: { extraModifyMetadata: false } };
const walk = (seen: Partial<Observed> = {}, answers: Answers = {}) =>
  walkFlow(modify({ ...observed, ...seen }, context), { ...fine, ...answers });

const check = async ({ seen, answers, rows, outcome = done, event }: Row): Promise<void> => {
  const { steps, conclusion } = await walk(seen, answers);
  expect([...steps.map((step) => step.split(' ')[0]), conclusion.row].join(' ')).toBe(rows);
  expect([conclusion.outcome, conclusion.events]).toEqual([outcome, event === undefined ? [] : [event]]);
};

const all = 'M11 M12 M13 M16 M17 M18 M19';

describe('which class', () => {
  it.each<Row>([
    { id: '[resizer#M1]', given: 'no claim', seen: { claim: undefined }, rows: 'M1' },
    { id: '[resizer#M2]', given: 'no PersistentVolume', seen: { volume: undefined }, rows: 'M2' },
    { id: '[resizer#M2]', given: 'a PersistentVolume without a specification', seen: { volume: {} }, rows: 'M2' },
    {
      id: '[resizer#M2, 150]',
      given: 'a volume of another driver',
      seen: { volume: aVolume({ csi: { driver: 'other' } }) },
      rows: 'M2',
    },
    {
      id: '[resizer#M2, 150, 160]',
      given: 'an in-tree volume',
      seen: { volume: aVolume({ spec: { csi: undefined as never, cinder: { volumeID: 'x' } } }) },
      rows: 'M2',
    },
    {
      id: '[resizer#M3, 151]',
      given: 'a claim that is not Bound',
      seen: { claim: claimOf({ phase: 'Pending' }) },
      rows: 'M3',
    },
    {
      id: '[resizer#M3]',
      given: 'a PersistentVolume of another claim',
      seen: { volume: aVolume({ claim: aClaim({ uid: 'other' }) }) },
      rows: 'M3',
    },
    {
      id: '[resizer#M4]',
      given: 'an infeasible class that is held back for a last millisecond',
      seen: { claim: recorded('Infeasible'), infeasibleForMs: 1 },
      rows: 'M4',
      outcome: requeueAfter(1),
    },
    {
      id: '[resizer#M11]',
      given: 'an infeasible class that the claim does not show',
      seen: {
        claim: inProgress,
        entry: { kind: 'infeasible', uid: 'uid-of-data', sinceMs: 0 },
        infeasibleForMs: 7_000,
      },
      rows: all,
      event: succeeded,
    },
    {
      id: '[resizer#M11, 178]',
      given: 'another class than the one that is held back',
      seen: { claim: recorded('Infeasible', 'silver'), infeasibleForMs: 7_000 },
      rows: all,
      event: succeeded,
    },
    { id: '[resizer#M5, 143]', given: 'the current class', seen: { claim: stored }, rows: 'M5' },
    {
      id: '[resizer#M5, 143]',
      given: 'no class at all',
      seen: { claim: aClaim(), wantedClass: undefined },
      rows: 'M5',
    },
    {
      id: '[resizer#M5]',
      given: 'the current class of another driver',
      seen: { claim: stored, wantedClass: foreign },
      rows: 'M5',
    },
    {
      id: '[resizer#M11, 155]',
      given: 'the current class after an infeasible one',
      seen: { claim: recorded('Infeasible', 'silver', { currentClass: 'gold' }) },
      rows: all,
      event: succeeded,
    },
    {
      id: '[resizer#M6, 148]',
      given: 'no wanted class, and no condition',
      seen: { claim: recorded('Infeasible', 'gold', { wantedClass: '' }) },
      rows: 'M6',
    },
    {
      id: '[resizer#M6]',
      given: 'a refusal without a class, and no class that is wanted',
      seen: { claim: claimOf({ wantedClass: '', modifyStatus: { status: 'Infeasible' } }), infeasibleForMs: 5 },
      rows: 'M6',
    },
    ...[
      { given: 'a cancel', answers: {}, event: cancelled },
      { given: 'a cancel that is refused', answers: { cancel: refused }, outcome: retry(refused) },
      {
        given: 'a cancel that another modification came before',
        answers: { cancel: recorded('InProgress', 'silver', { wantedClass: '' }) },
        outcome: requeueAfter(50),
      },
      {
        given: 'a cancel, and a class that is wanted by now',
        answers: { cancel: claimOf() },
        outcome: requeueAfter(50),
      },
    ].map((row) => ({
      id: '[resizer#M6, 153, 215]',
      seen: { claim: recorded('Infeasible', 'gold', { wantedClass: '', conditions: [aCondition('ModifyingVolume')] }) },
      rows: 'M6 M6',
      ...row,
    })),
    {
      id: '[resizer#M7, 176]',
      given: 'an open modification whose class is gone',
      seen: { claim: inProgress, targetClass: undefined },
      rows: 'M7',
      outcome: retry(new Error(missing.message)),
      event: missing,
    },
    {
      id: '[resizer#M7]',
      given: 'an open modification whose class is not recorded',
      seen: { claim: claimOf({ modifyStatus: { status: 'InProgress' } }), targetClass: undefined },
      rows: 'M7',
      outcome: retry(new Error('VAC "" does not exist.')),
      event: warning('VAC "" does not exist.'),
    },
    {
      id: '[resizer#M8]',
      given: 'an open modification whose class names another driver',
      seen: { claim: inProgress, targetClass: foreign, wantedClass: foreign },
      rows: 'M8 M16 M17 M18 M19',
      event: succeeded,
    },
    {
      id: '[resizer#M8, 149]',
      given: 'a modification in progress that was refused, and no wanted class',
      seen: { claim: recorded('InProgress', 'gold', { wantedClass: '' }), entry: settled },
      rows: 'M8 M16 M17 M18 M19',
      event: succeeded,
    },
    ...[{ claim: inProgress }, {}].map((seen) => ({
      id: '[resizer#M11]',
      given: 'an expansion under way',
      seen,
      answers: { lockVolume: false },
      rows: 'claim' in seen ? 'M8 M11' : 'M11 M11',
      outcome: dropped,
    })),
    ...[
      { id: '[resizer#M12, 165]', given: 'a refusal', seen: { claim: inProgress, entry: settled } },
      { id: '[resizer#M12, 159]', given: 'a foreign status', seen: { claim: recorded('Infeasible', 'silver') } },
    ].map((row) => ({ ...row, rows: all, event: succeeded })),
    {
      id: '[resizer#M12, 173]',
      given: 'a claim that changed meanwhile',
      answers: { mark: 'conflict' },
      rows: 'M11 M12 M12',
      outcome: requeueAfter(50),
    },
    {
      id: '[resizer#M12]',
      given: 'a claim that cannot be written',
      answers: { mark: refused },
      rows: 'M11 M12 M12',
      outcome: retry(refused),
    },
  ])('$id given $given, then it goes through $rows', check);

  it('[resizer#M8, 152] given an open modification and another wanted class, then the recorded one is asked for', async () => {
    const { said } = await walk({ claim: recorded('InProgress', 'silver'), targetClass: silver });
    expect(said('saveResult')).toEqual([[expect.anything(), 'silver']]);
  });
});

describe('a class that no driver is asked for', () => {
  const forms = [
    { row: 'M9', seen: { wantedClass: undefined }, save: 'savePending', event: missing },
    { row: 'M10', seen: { wantedClass: foreign }, save: 'saveForeign', event: warning(foreignText) },
  ];

  it.each<Row>([
    ...forms.flatMap(({ row, seen, save, event }) => [
      { id: `[resizer#${row}, 146, 162]`, given: save, seen, rows: `${row} ${row}`, event },
      {
        id: `[resizer#${row}]`,
        given: `${save}, and a claim that changed meanwhile`,
        seen,
        answers: { [save]: 'conflict' },
        rows: `${row} ${row}`,
        outcome: requeueAfter(50),
      },
      {
        id: `[resizer#${row}]`,
        given: `${save}, and a claim that cannot be written`,
        seen,
        answers: { [save]: refused },
        rows: `${row} ${row}`,
        outcome: retry(refused),
        event,
      },
    ]),
    {
      id: '[resizer#M9]',
      given: 'one that does not exist, recorded earlier',
      seen: { claim: recorded('Pending'), wantedClass: undefined },
      rows: 'M9',
      event: missing,
    },
    {
      id: '[resizer#M10]',
      given: 'one of another driver that the claim shows as infeasible',
      seen: { claim: recorded('Infeasible', 'gold', foreignShown), wantedClass: foreign },
      rows: 'M10',
      event: warning(foreignText),
    },
    ...[
      recorded('InProgress', 'silver'),
      recorded('Infeasible', 'gold', { conditions: [aCondition('ModifyVolumeError', { message: 'no' })] }),
      recorded('Infeasible', 'gold', { conditions: [aCondition('Foreign', { message: foreignText })] }),
      recorded('Pending', 'gold', foreignShown),
      recorded('InProgress', 'gold', foreignShown),
      recorded('Infeasible', 'silver', foreignShown),
    ].map((claim) => ({
      id: '[resizer#M10]',
      given: 'one of another driver that the claim shows in another way',
      seen: { claim, targetClass: silver, wantedClass: foreign, entry: settled },
      rows: 'M10 M10',
      event: warning(foreignText),
    })),
  ])('$id given $given, then it goes through $rows', check);
});

describe('a call', () => {
  const fails = (code: Parameters<typeof csiFailure>[0]) => ({ modify: csiFailure(code) });
  const { message: abortedText } = csiFailure('Aborted');

  it.each<Row>([
    {
      id: '[resizer#M14]',
      given: 'a volume without a handle',
      seen: { volume: aVolume({ csi: { volumeHandle: '' } }) },
      rows: 'M11 M12 M13 M14',
      outcome: silently('empty volume handle'),
    },
    {
      id: '[resizer#M15]',
      given: 'a secret',
      seen: { volume: withSecret },
      rows: 'M11 M12 M13 M15 M16 M17 M18 M19',
      event: succeeded,
    },
    {
      id: '[resizer#M15, 168]',
      given: 'a secret that cannot be read',
      seen: { volume: withSecret },
      answers: { readCallSecret: refused },
      rows: 'M11 M12 M13 M15 M15',
      outcome: silently(),
    },
    {
      id: '[resizer#M14]',
      given: 'no call',
      answers: { modify: refused },
      rows: 'M11 M12 M13 M16 M14',
      outcome: silently(),
    },
    {
      id: '[resizer#M17, 171]',
      given: 'a PersistentVolume that could not be written',
      answers: { saveVolume: refused },
      rows: 'M11 M12 M13 M16 M17 M17',
      outcome: silently(),
    },
    {
      id: '[resizer#M18]',
      given: 'a PersistentVolume that shows the class',
      seen: { volume: aVolume({ spec: { volumeAttributesClassName: 'gold' } }) },
      rows: 'M11 M12 M13 M16 M18 M19',
      event: succeeded,
    },
    {
      id: '[resizer#M18, 172]',
      given: 'a result that could not be written',
      answers: { saveResult: refused },
      rows: 'M11 M12 M13 M16 M17 M18 M18',
      outcome: silently(),
    },
    ...[
      { wantedClass: 'gold', outcome: done },
      { wantedClass: '', outcome: done },
      { wantedClass: 'silver', outcome: requeueAfter(0) },
    ].map(({ wantedClass, outcome }) => ({
      id: '[resizer#M19, 156]',
      given: `a claim that wants "${wantedClass}" by now`,
      answers: { saveResult: claimOf({ currentClass: 'gold', wantedClass }) },
      rows: all,
      outcome,
      event: succeeded,
    })),
    ...(['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'] as const).map((code) => ({
      id: '[resizer#M20, 170]',
      given: code,
      answers: fails(code),
      rows: 'M11 M12 M13 M16 M20 M20',
      outcome: retry(csiFailure(code)),
      event: warning(`${csiFailure(code).message}. Still modifying to VAC gold`),
    })),
    {
      id: '[resizer#M21]',
      given: 'InvalidArgument',
      answers: fails('InvalidArgument'),
      rows: 'M11 M12 M13 M16 M21 M21',
      outcome: retry(csiFailure('InvalidArgument')),
      event: warning(csiFailure('InvalidArgument').message),
    },
    ...(['NotFound', 'OutOfRange', 'Internal', 'FailedPrecondition', 'Unknown'] as const).map((code) => ({
      id: '[resizer#M22, 169]',
      given: code,
      answers: fails(code),
      rows: 'M11 M12 M13 M16 M22 M22',
      outcome: retry(csiFailure(code)),
      event: warning(csiFailure(code).message),
    })),
    {
      id: '[resizer#M22]',
      given: 'a failure that could not be recorded',
      answers: { ...fails('Internal'), saveFailure: refused },
      rows: 'M11 M12 M13 M16 M22 M22',
      outcome: retry(refused),
    },
  ])('$id given $given, then it goes through $rows', check);

  it('[resizer#M16] given a secret, then the request carries it, with the parameters of the class', async () => {
    const request = { volume_id: 'volume-1', mutable_parameters: { iops: '1000' } };
    const [plain, secret] = [await walk(), await walk({ volume: withSecret })];
    expect([plain.said('modify'), secret.said('modify')]).toStrictEqual([
      [[inProgress, request]],
      [[inProgress, { ...request, secrets: { key: 'x' } }]],
    ]);
  });

  it('given a secret that could not be read, then the failure is the cause of the cause', async () => {
    const { conclusion } = await walk({ volume: withSecret }, { readCallSecret: refused });
    expect(conclusion.outcome).toMatchObject({ kind: 'retry', cause: { cause: refused } });
  });

  it('given an open failure, then it is recorded as open', async () => {
    const outcomes = await Promise.all(
      (['Aborted', 'InvalidArgument', 'Internal'] as const).map(async (code) =>
        (await walk({}, fails(code)))
          .said('saveFailure')
          .map(([, facts]) => (facts as { readonly outcome: string }).outcome),
      ),
    );
    expect([outcomes, abortedText]).toEqual([[['open'], ['infeasible'], ['final']], csiFailure('Aborted').message]);
  });
});
