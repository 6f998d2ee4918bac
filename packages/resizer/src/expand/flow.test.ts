// SPDX-License-Identifier: Apache-2.0
/** One line for each way through the expansion: what a run sees, how its steps are answered, which rows it goes through, how it ends. */
import { done, dropped, type Outcome, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aCondition,
  aDriver,
  aVolume,
  csiFailure,
  driverName,
  sizeOf,
  someSettings,
} from '../../testing/builders.ts';
import type { ResizerDriver } from '../driver.ts';
import { annotations } from '../names.ts';
import type { ResizerSettings } from '../settings.ts';
import { expand, type Observed } from './flow.ts';

const claim = aClaim();
const refused = new Error('refused');
const inUse = { kind: 'final', uid: 'uid-of-data', isInUse: true } as const;
const resizing = aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInProgress', conditions: [aCondition('Resizing')] });
const withSecret = aVolume({ csi: { controllerExpandSecretRef: { name: 'login', namespace: 'team' } } });
const recorded = aVolume({ cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '1Gi' } });
const grownVolume = aVolume({ cap: '2Gi' });
const grown = aClaim({ cap: '2Gi' });
const inTree = aVolume({ spec: { csi: undefined as never, cinder: { volumeID: 'x' } } });
const cinder = aDriver({ name: 'cinder.csi.openstack.org' });
const named = (name: string) => aClaim({ annotations: { [annotations.storageResizer]: name } });
const tooLarge = aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInfeasible' });
const legacy = { recovery: false };

const notExpanded = (cause: string): string => `resize volume "pv1" by resizer "${driverName}" failed: ${cause}`;
const tooSmall = (size: string): string =>
  notExpanded(`the driver answered with a capacity of ${size}, which is less than the requested 2Gi`);
/** As upstream writes it, with two spaces. */
const notPatched = "can't patch status of  PVC team/data with refused";
const answered = (size: string, needsNode = true) => ({ expand: { size: sizeOf(size), needsNode } });
const pendingOnNode = {
  type: 'Normal',
  reason: 'FileSystemResizeRequired',
  message: 'Require file system resize of volume on node',
} as const;
const finished = { type: 'Normal', reason: 'VolumeResizeSuccessful', message: 'Resize volume succeeded' } as const;

/** Everything succeeds, and the node has to expand, unless a row says otherwise. */
const fine: Answers = {
  removeAnnotation: grownVolume,
  warnOfOldServer: undefined,
  lockVolume: true,
  mark: resizing,
  announce: undefined,
  readCallSecret: { key: 'x' },
  skipCall: { size: sizeOf('2Gi'), needsNode: true },
  saveVolume: grownVolume,
  saveResult: grown,
  saveFailure: resizing,
  ...answered('2Gi'),
};

interface Row {
  readonly id: string;
  readonly given: string;
  readonly seen?: Partial<Observed>;
  readonly driver?: ResizerDriver;
  readonly features?: Partial<ResizerSettings['features']>;
  readonly answers?: Answers;
  /** Its steps, and at the end the row that ends it. */
  readonly rows: string;
  /** Default: done; with `fails` a retry. */
  readonly outcome?: Outcome;
  readonly event?: RecordedEvent;
  /** The text of the failure, and of its event. */
  readonly fails?: string;
}

const walk = ({ seen, driver = aDriver(), features = {}, answers }: Omit<Row, 'id' | 'given' | 'rows'> = {}) => {
  const observed = { claim, volume: aVolume(), entry: undefined, infeasibleForMs: 0, isUsed: false, ...seen };
  return walkFlow(expand(observed, { driver, settings: someSettings({ features }) }), { ...fine, ...answers });
};

const check = async ({ rows, outcome = done, event, fails, ...given }: Row): Promise<void> => {
  const { steps, conclusion } = await walk(given);
  expect([...steps.map((step) => step.split(' ')[0]), conclusion.row].join(' ')).toBe(rows);
  const warning = fails === undefined ? [] : [{ type: 'Warning', reason: 'VolumeResizeFailed', message: fails }];
  expect([conclusion.outcome, conclusion.events]).toEqual([
    fails === undefined ? outcome : retry(new Error(fails)),
    event === undefined ? warning : [event],
  ]);
};
const title = '$id given $given, then it goes through $rows';
/** Up to the call, and after it. */
const [before, after] = ['S5 E10 E12 E15', 'E21 E23 E23'];
const all = { rows: `${before} ${after}`, event: pendingOnNode };

describe('whose volume it is, and whether it grows', () => {
  it.each<Row>([
    { id: '[resizer#E1]', given: 'no claim', seen: { claim: undefined }, rows: 'E1' },
    { id: '[resizer#E2]', given: 'no PersistentVolume', seen: { volume: undefined }, rows: 'E2' },
    ...[
      {
        id: '[resizer#E3, 11]',
        given: 'a CSI volume of another driver',
        seen: { volume: aVolume({ csi: { driver: 'other' } }) },
      },
      {
        id: '[resizer#E3, 12]',
        given: 'an in-tree volume and a driver that replaced no plugin',
        seen: { volume: inTree, claim: named(driverName) },
      },
      {
        id: '[resizer#E3, 123]',
        given: 'an in-tree volume and an annotation that names its plugin',
        driver: cinder,
        seen: { volume: inTree, claim: named('kubernetes.io/cinder') },
      },
      {
        id: '[resizer#E3, 129]',
        given: 'a CSI volume of another driver and an annotation that names ours',
        driver: cinder,
        seen: { claim: named('cinder.csi.openstack.org') },
      },
      {
        id: '[resizer#E3, 7]',
        given: 'a PersistentVolume without a claim reference',
        seen: { volume: aVolume({ spec: { claimRef: undefined as never } }) },
      },
      {
        id: '[resizer#E3, 8]',
        given: 'a PersistentVolume of a claim with another UID',
        seen: { volume: aVolume({ claim: aClaim({ uid: 'other' }) }) },
      },
      {
        id: '[resizer#E3, 9]',
        given: 'a PersistentVolume of a claim in another namespace',
        seen: { volume: aVolume({ claim: aClaim({ namespace: 'other' }) }) },
      },
      {
        id: '[resizer#E3, 110]',
        given: 'a recorded size on the PersistentVolume of another claim',
        seen: { claim: grown, volume: { ...recorded, spec: { ...recorded.spec, claimRef: { uid: 'other' } } } },
      },
    ].map((row) => ({ ...row, rows: 'E3' })),
    { id: '[resizer#E4]', given: 'a node that has finished', seen: { claim: grown, volume: recorded }, rows: 'E4 E5' },
    {
      id: '[resizer#E4, 109]',
      given: 'a capacity above that of the PersistentVolume',
      seen: { claim: aClaim({ cap: '3Gi' }), volume: recorded },
      rows: 'E4 E5',
    },
    {
      id: '[resizer#E4]',
      given: 'an annotation that could not be removed',
      seen: { claim: grown, volume: recorded },
      answers: { removeAnnotation: refused },
      rows: 'E4 E4',
      outcome: retry(refused),
    },
    {
      id: '[resizer#E5, 108]',
      given: 'a node that has finished, without the gate',
      seen: { claim: grown, volume: recorded },
      features: { annotateFsResize: false },
      rows: 'E5',
    },
    ...[
      { id: '[resizer#E5, 2]', given: 'what was requested', is: grown },
      { id: '[resizer#E5, 3]', given: 'more than was requested', is: aClaim({ cap: '3Gi' }) },
      { id: '[resizer#E5, 17]', given: '2G requested and 2Gi there', is: aClaim({ spec: '2G', cap: '2Gi' }) },
      { id: '[resizer#E5, 6]', given: 'a claim that is Pending', is: aClaim({ phase: 'Pending' }) },
      { id: '[resizer#E5, 6]', given: 'a claim that is Lost', is: aClaim({ phase: 'Lost' }) },
    ].map(({ is, ...row }) => ({ ...row, seen: { claim: is }, rows: 'E5' })),
    {
      id: '[resizer#S2]',
      given: 'a node that works on a smaller size',
      seen: { claim: aClaim({ spec: '4Gi', alloc: '2Gi', rstatus: 'NodeResizePending' }), volume: grownVolume },
      rows: 'S2',
    },
  ])(title, check);
});

describe('an attempt up to the call', () => {
  it.each<Row>([
    {
      id: '[resizer#E6, 73]',
      given: 'an infeasible size that is held back for a last millisecond',
      seen: { claim: tooLarge, infeasibleForMs: 1 },
      rows: 'E6',
      outcome: requeueAfter(1),
    },
    {
      id: '[resizer#S4, 86]',
      given: 'an infeasible size that the claim does not show',
      seen: { claim: resizing, infeasibleForMs: 5_000 },
      ...all,
      rows: `S4 E10 E12 E15 ${after}`,
    },
    {
      id: '[resizer#S5, 72]',
      given: 'another size than the infeasible one',
      seen: { claim: aClaim({ alloc: '3Gi', rstatus: 'ControllerResizeInfeasible' }), infeasibleForMs: 5_000 },
      ...all,
    },
    {
      id: '[resizer#L2]',
      given: 'an infeasible size, without recovery',
      seen: { claim: tooLarge, infeasibleForMs: 5_000 },
      features: legacy,
      ...all,
      rows: `L2 E10 E12 E15 ${after}`,
    },
    {
      id: '[resizer#S10]',
      given: 'a claim without a resize status and a PersistentVolume that is large enough',
      seen: { volume: grownVolume },
      ...all,
      rows: 'S10 S10 E10 E12 E15 E21 E23 E23',
    },
    {
      id: '[resizer#E7]',
      given: 'a modification under way',
      answers: { lockVolume: false },
      rows: 'S5 E7',
      outcome: dropped,
    },
    {
      id: '[resizer#E8, 82]',
      given: 'a claim that changed meanwhile',
      answers: { mark: 'conflict' },
      rows: 'S5 E10 E8',
      outcome: requeueAfter(50),
    },
    {
      id: '[resizer#E9]',
      given: 'a claim that cannot be written',
      answers: { mark: refused },
      rows: 'S5 E10 E9',
      outcome: retry(new Error(`marking pvc "team/data" as resizing failed: ${notPatched}`)),
    },
    {
      id: '[resizer#E11, 90]',
      given: 'a volume in use',
      seen: { entry: inUse, isUsed: true },
      rows: 'S5 E10 E11',
      fails: `Unable to expand team/data because CSI driver ${driverName} only supports offline expansion and volume is currently in-use`,
    },
    ...[
      { given: 'a pod, and no such answer', seen: { isUsed: true } },
      { given: 'such an answer, and no pod', seen: { entry: inUse } },
      { given: 'another refusal, and a pod', seen: { entry: { ...inUse, isInUse: false }, isUsed: true } },
    ].map((row) => ({ id: '[resizer#E12, 91, 92]', ...row, ...all })),
    {
      id: '[resizer#E13]',
      given: 'a driver that expands on nodes only',
      driver: aDriver({ expansion: 'trivial' }),
      ...all,
      rows: `S5 E10 E12 E13 ${after}`,
    },
    {
      id: '[resizer#E14]',
      given: 'a secret',
      seen: { volume: withSecret },
      ...all,
      rows: `S5 E10 E12 E14 E15 ${after}`,
    },
    {
      id: '[resizer#E14]',
      given: 'a secret that cannot be read',
      seen: { volume: withSecret },
      answers: { readCallSecret: refused },
      rows: 'S5 E10 E12 E14 E14',
      fails: notExpanded('refused'),
    },
    {
      id: '[resizer#E14, 121]',
      given: 'a volume without a handle',
      seen: { volume: aVolume({ csi: { volumeHandle: '' } }) },
      rows: 'S5 E10 E12 E14',
      fails: notExpanded('empty volume handle'),
    },
  ])(title, check);

  it.each([
    { id: '[resizer#E10]', given: 'a first attempt', is: claim, size: '2Gi', as: 'new' },
    { id: '[resizer#E10, 55]', given: 'another attempt', is: resizing, size: '2Gi', as: 'same' },
    {
      id: '[resizer#E10]',
      given: 'another attempt that the claim does not show',
      is: tooLarge,
      size: '2Gi',
      as: 'same',
    },
    {
      id: '[resizer#S7]',
      given: 'a size that the node refused and the user has lowered',
      is: aClaim({ alloc: '3Gi', rstatus: 'NodeResizeInfeasible' }),
      volume: aVolume({ cap: '3Gi' }),
      size: '3Gi',
      as: 'same',
    },
    { id: '[resizer#E10]', given: 'no recovery', is: resizing, features: legacy, size: '2Gi', as: 'legacy' },
  ])(
    '$id given $given, then the claim is marked for $size: $as',
    async ({ is, size, as, features, volume = aVolume() }) => {
      const { said } = await walk({ seen: { claim: is, volume }, ...(features && { features }) });
      expect(said('mark')).toEqual([[is, { target: sizeOf(size), status: as }]]);
    },
  );

  it('[resizer#E15] given a secret, then the request carries it, and the size of the mark whatever the claim wants by now', async () => {
    const request = {
      volume_id: 'volume-1',
      capacity_range: { required_bytes: '2147483648' },
      volume_capability: { mount: { fs_type: '', mount_flags: [] }, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
    };
    const larger = aClaim({ spec: '3Gi', alloc: '2Gi', rstatus: 'ControllerResizeInProgress' });
    const [plain, secret] = [await walk({ answers: { mark: larger } }), await walk({ seen: { volume: withSecret } })];
    expect([plain.said('expand'), secret.said('expand')]).toStrictEqual([
      [[larger, { request, migrated: false }]],
      [[resizing, { request: { ...request, secrets: { key: 'x' } }, migrated: false }]],
    ]);
  });

  it.each([
    { given: 'a size that could not be recorded', answers: { mark: refused } },
    { given: 'a secret that could not be read', seen: { volume: withSecret }, answers: { readCallSecret: refused } },
  ])('given $given, then the failure is the cause of the cause', async (given) => {
    expect((await walk(given)).conclusion.outcome).toMatchObject({ kind: 'retry', cause: { cause: refused } });
  });
});

const codes = {
  E16: { Canceled: '', DeadlineExceeded: ', 77', Unavailable: '', ResourceExhausted: ', 79', Aborted: ', 78' },
  E17: { InvalidArgument: ', 69, 70', NotFound: '', OutOfRange: '' },
  E18: {
    Unknown: ', 80',
    AlreadyExists: '',
    PermissionDenied: '',
    FailedPrecondition: '',
    Unimplemented: ', 81',
    Internal: ', 75',
    DataLoss: '',
    Unauthenticated: '',
    'Code(99)': '',
  },
} as const;
type FailureCode = Parameters<typeof csiFailure>[0];
const internal = csiFailure('Internal');
const invalid = csiFailure('InvalidArgument');
const shows = (text: string, rstatus: string) => {
  const message = `failed to expand pvc with ${text}`;
  return { mark: aClaim({ alloc: '2Gi', rstatus, conditions: [aCondition('ControllerResizeError', { message })] }) };
};

describe('a call that failed', () => {
  it.each<Row>([
    ...Object.entries(codes).flatMap(([row, ofRow]) =>
      Object.entries(ofRow).map(([code, cases]) => ({
        id: `[resizer#${row}${cases}]`,
        given: code,
        answers: { expand: csiFailure(code as FailureCode) },
        rows: row === 'E16' ? `${before} E16` : `${before} ${row} ${row}`,
        fails: notExpanded(`rpc error: code = ${code} desc = no`),
      })),
    ),
    {
      id: '[resizer#E16]',
      given: 'no call',
      answers: { expand: refused },
      rows: `${before} E16`,
      fails: notExpanded('refused'),
    },
    ...[
      {
        given: 'an infeasible size that the claim shows already',
        expand: invalid,
        claim: shows(invalid.message, 'ControllerResizeInfeasible'),
        rows: 'E17',
      },
      {
        given: 'an infeasible size of which the claim shows only the message',
        expand: invalid,
        claim: shows(invalid.message, 'ControllerResizeInProgress'),
        rows: 'E17 E17',
      },
      {
        given: 'a refusal that the claim shows already',
        expand: internal,
        claim: shows(internal.message, 'ControllerResizeInfeasible'),
        rows: 'E18',
      },
      { given: 'a refusal with another message', expand: internal, claim: shows('another', ''), rows: 'E18 E18' },
      {
        given: 'the message of the failure in a condition of another type',
        expand: internal,
        claim: {
          mark: aClaim({
            conditions: [aCondition('Resizing', { message: `failed to expand pvc with ${internal.message}` })],
          }),
        },
        rows: 'E18 E18',
      },
    ].map((row) => ({
      id: '[resizer#E17, E18]',
      given: row.given,
      answers: { ...row.claim, expand: row.expand },
      rows: `${before} ${row.rows}`,
      fails: notExpanded(row.expand.message),
    })),
    {
      id: '[resizer#E18]',
      given: 'a refusal that could not be recorded',
      answers: { expand: internal, saveFailure: refused },
      rows: `${before} E18 E18`,
      fails: `resizing failed in controller with ${internal.message} but failed to update PVC team/data with: mark PVC "team/data" as controller expansion failed, errored with: ${notPatched}`,
    },
    ...[internal, invalid, csiFailure('Aborted')].map((error) => ({
      id: '[resizer#L3, 131, 135]',
      given: `no recovery, and ${error.code}`,
      features: legacy,
      answers: { expand: error },
      rows: 'L2 E10 E12 E15 L3',
      fails: notExpanded(error.message),
    })),
  ])(title, check);

  it('given a size that is infeasible, or a refusal of another kind, then it is recorded as such', async () => {
    const walks = [await walk({ answers: { expand: invalid } }), await walk({ answers: { expand: internal } })];
    expect(walks.flatMap(({ said }) => said('saveFailure'))).toEqual([
      [resizing, { failure: invalid, isInfeasible: true }],
      [resizing, { failure: internal, isInfeasible: false }],
    ]);
  });
});

const olderRecord = aVolume({ cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '512Mi' } });

describe('a call that succeeded', () => {
  it.each<Row>([
    ...['0', '1Gi', '512Mi'].map((size) => ({
      id: '[resizer#E19, 66]',
      given: `an answer of ${size}`,
      answers: answered(size),
      rows: `${before} E19`,
      fails: tooSmall(size),
    })),
    {
      id: '[resizer#E20]',
      given: 'a PersistentVolume that could not be written',
      answers: { saveVolume: refused },
      rows: `${before} E21 E20`,
      fails:
        'error updating pv "pv1" by resizer: updating capacity of PV "pv1" to 2Gi failed: update capacity of PV pv1 failed: refused',
    },
    {
      id: '[resizer#E22]',
      given: 'a claim that could not be marked as waiting for its node',
      answers: { saveResult: refused },
      rows: `${before} E21 E23 E22`,
      fails: `mark PVC "team/data" as node expansion required failed: ${notPatched}`,
    },
    {
      id: '[resizer#E22]',
      given: 'a claim that could not be marked as finished',
      answers: { ...answered('2Gi', false), saveResult: refused },
      rows: `${before} E21 E24 E22`,
      fails: `mark PVC "team/data" as resize finished failed: ${notPatched}`,
    },
    {
      id: '[resizer#E26]',
      given: 'an attempt that another program ended before its result was written',
      answers: { saveResult: 'overtaken' },
      rows: `${before} E21 E23 E26`,
      outcome: requeueAfter(50),
    },
    {
      id: '[resizer#E23, 107]',
      given: 'a PersistentVolume that shows the size and records an older one',
      seen: { claim: resizing, volume: olderRecord },
      rows: 'S8 E10 E12 E15 E23 E23',
      event: pendingOnNode,
    },
    {
      id: '[resizer#E24, 68]',
      given: 'a PersistentVolume that shows the size in another text',
      seen: { claim: resizing, volume: aVolume({ cap: '2048Mi' }) },
      answers: answered('2Gi', false),
      rows: 'S8 E10 E12 E15 E24 E24',
      event: finished,
    },
    ...[
      { given: 'a claim that has its size now', saveResult: grown, outcome: done },
      {
        given: 'a claim that requests more by now',
        saveResult: aClaim({ cap: '2Gi', spec: '3Gi' }),
        outcome: requeueAfter(0),
      },
    ].map(({ given, saveResult, outcome }) => ({
      id: '[resizer#E24, 48]',
      given,
      answers: { ...answered('2Gi', false), saveResult },
      rows: `${before} E21 E24 E24`,
      outcome,
      event: finished,
    })),
    {
      id: '[resizer#E25, 65]',
      given: 'growth that is less than was requested',
      answers: answered('1536Mi', false),
      rows: `${before} E21 E24 E25`,
      fails: tooSmall('1536Mi'),
    },
  ])(title, check);

  it.each([
    { id: '[resizer#E21, 104]', given: 'a node that expands', size: '2Gi', records: '1Gi' },
    { id: '[resizer#E21, 106]', given: 'no node', answers: answered('2Gi', false), size: '2Gi', records: undefined },
    {
      id: '[resizer#E21, 108]',
      given: 'a node that expands, without the gate',
      features: { annotateFsResize: false },
      size: '2Gi',
      records: undefined,
    },
    {
      id: '[resizer#E21, 65]',
      given: 'too little',
      answers: answered('1536Mi', false),
      size: '1536Mi',
      records: undefined,
    },
    {
      id: '[resizer#E21, 27]',
      given: 'less than the PersistentVolume, where only the node expands',
      driver: aDriver({ expansion: 'trivial' }),
      seen: { claim: resizing, volume: aVolume({ cap: '4Gi' }) },
      size: '2Gi',
      records: '1Gi',
    },
    {
      id: '[resizer#E21]',
      given: 'a PersistentVolume that has the size, and a node that expands',
      seen: { claim: resizing, volume: grownVolume },
      size: '2Gi',
      records: '1Gi',
    },
    {
      id: '[resizer#E21]',
      given: 'a claim that shows no size yet',
      answers: { mark: aClaim({ cap: '', alloc: '2Gi' }) },
      size: '2Gi',
      records: undefined,
    },
  ])(
    '$id given $given, then the PersistentVolume gets $size and records $records',
    async ({ size, records, ...given }) => {
      const { said } = await walk(given);
      expect(said('saveVolume').map(([, ...rest]) => rest)).toEqual([[{ size: sizeOf(size), before: records }]]);
    },
  );

  it.each([
    { features: {}, path: 'recovery' },
    { features: legacy, path: 'legacy' },
  ])('[resizer#E24] given $features, then the result is written on the path $path', async ({ features, path }) => {
    const { said } = await walk({ features });
    expect(said('saveResult')).toEqual([[resizing, { size: sizeOf('2Gi'), needsNode: true, path }]]);
  });
});
