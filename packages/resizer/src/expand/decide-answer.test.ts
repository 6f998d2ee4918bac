// SPDX-License-Identifier: Apache-2.0
/** One line for each row of the expansion table after the call. */
import { done, type Outcome, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
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
import { decide } from './decide.ts';
import { decideAnswer } from './decide-answer.ts';
import { type Action, type ExpandState, nothingLearned } from './state.ts';

const claim = aClaim({ alloc: '2Gi', rstatus: 'ControllerResizeInProgress', conditions: [aCondition('Resizing')] });
const volume = aVolume();
const grown = aVolume({ cap: '2Gi' });
const failure = new Error('refused');
const failed = { failure };

const concludes = (row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Action => ({
  row,
  kind: 'conclude',
  outcome,
  events,
});
const fails = (row: string, message: string): Action =>
  concludes(row, retry(new Error(message)), { type: 'Warning', reason: 'VolumeResizeFailed', message });
const notExpanded = (cause: string): string => `resize volume "pv1" by resizer "${driverName}" failed: ${cause}`;
const answer = (size: string, needsNode = true) => ({ expanded: { value: { size: sizeOf(size), needsNode } } });
const tooSmall = (size: string): string =>
  notExpanded(`the driver answered with a capacity of ${size}, which is less than the requested 2Gi`);
const needsNode = {
  type: 'Normal',
  reason: 'FileSystemResizeRequired',
  message: 'Require file system resize of volume on node',
} as const;
const finished = { type: 'Normal', reason: 'VolumeResizeSuccessful', message: 'Resize volume succeeded' } as const;

/** As upstream writes it, with two spaces. */
const notPatched = "can't patch status of  PVC team/data with refused";

interface Row {
  readonly id: string;
  readonly given: string;
  readonly state: Partial<ExpandState>;
  readonly driver?: ResizerDriver;
  readonly features?: Partial<ResizerSettings['features']>;
  readonly then: Action;
}

const check = ({ state, driver = aDriver(), features = {}, then }: Row): void => {
  const context = { driver, settings: someSettings({ features }) };
  const observed = { claim, volume, entry: undefined, infeasibleForMs: 0, isUsed: false };
  const attempt: Partial<ExpandState> = { turn: 'taken', target: sizeOf('2Gi'), marked: 'done', isAnnounced: true };
  expect(decide({ ...observed, ...nothingLearned, ...attempt, ...state }, context)).toEqual(then);
};

const codes = {
  open: ['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'],
  infeasible: ['InvalidArgument', 'NotFound', 'OutOfRange'],
  final: [
    'Unknown',
    'AlreadyExists',
    'PermissionDenied',
    'FailedPrecondition',
    'Unimplemented',
    'Internal',
    'DataLoss',
    'Unauthenticated',
    'Code(99)',
  ],
} as const;
const saves = (row: string, isInfeasible: boolean, error: Error): Action => ({
  row,
  kind: 'saveFailure',
  claim,
  failure: error,
  isInfeasible,
});
const shows = (text: string, rstatus: string) =>
  aClaim({
    alloc: '2Gi',
    rstatus,
    conditions: [aCondition('ControllerResizeError', { message: `failed to expand pvc with ${text}` })],
  });
const internal = csiFailure('Internal');
const invalid = csiFailure('InvalidArgument');

/** The numbered cases that are about a single code. */
const casesOfCodes: Readonly<Record<string, number>> = {
  DeadlineExceeded: 77,
  Aborted: 78,
  ResourceExhausted: 79,
  Internal: 75,
  Unknown: 80,
  Unimplemented: 81,
};
const caseOf = (row: string, code: string): string =>
  casesOfCodes[code] === undefined ? `[resizer#${row}]` : `[resizer#${row}, ${casesOfCodes[code]}]`;

describe('a call that failed', () => {
  it.each<Row>([
    ...codes.open.map((code) => ({
      id: caseOf('E16', code),
      given: code,
      state: { expanded: { failure: csiFailure(code) } },
      then: fails('E16', notExpanded(`rpc error: code = ${code} desc = no`)),
    })),
    { id: '[resizer#E16]', given: 'no call', state: { expanded: failed }, then: fails('E16', notExpanded('refused')) },
    ...codes.infeasible.map((code) => ({
      id: '[resizer#E17, 69, 70]',
      given: code,
      state: { expanded: { failure: csiFailure(code) } },
      then: saves('E17', true, csiFailure(code)),
    })),
    ...codes.final.map((code) => ({
      id: caseOf('E18', code),
      given: code,
      state: { expanded: { failure: csiFailure(code) } },
      then: saves('E18', false, csiFailure(code)),
    })),
    {
      id: '[resizer#E17]',
      given: 'an infeasible size, recorded',
      state: { expanded: { failure: invalid }, failureSaved: 'done' },
      then: fails('E17', notExpanded(invalid.message)),
    },
    {
      id: '[resizer#E17]',
      given: 'an infeasible size that the claim shows already',
      state: { expanded: { failure: invalid }, claim: shows(invalid.message, 'ControllerResizeInfeasible') },
      then: fails('E17', notExpanded(invalid.message)),
    },
    {
      id: '[resizer#E17]',
      given: 'an infeasible size of which the claim shows only the message',
      state: { expanded: { failure: invalid }, claim: shows(invalid.message, 'ControllerResizeInProgress') },
      then: { ...saves('E17', true, invalid), claim: shows(invalid.message, 'ControllerResizeInProgress') } as Action,
    },
    {
      id: '[resizer#E18]',
      given: 'a refusal that the claim shows already',
      state: { expanded: { failure: internal }, claim: shows(internal.message, 'ControllerResizeInfeasible') },
      then: fails('E18', notExpanded(internal.message)),
    },
    {
      id: '[resizer#E18]',
      given: 'a refusal with another message than the claim shows',
      state: { expanded: { failure: internal }, claim: shows('another', '') },
      then: { ...saves('E18', false, internal), claim: shows('another', '') } as Action,
    },
    {
      id: '[resizer#E18]',
      given: 'a refusal that could not be recorded',
      state: { expanded: { failure: internal }, failureSaved: failed },
      then: fails(
        'E18',
        `resizing failed in controller with ${internal.message} but failed to update PVC team/data with: mark PVC "team/data" as controller expansion failed, errored with: ${notPatched}`,
      ),
    },
    ...[internal, invalid, csiFailure('Aborted')].map((error) => ({
      id: '[resizer#L3, 131, 135]',
      given: `no recovery, and ${error.code}`,
      state: { expanded: { failure: error } },
      features: { recovery: false },
      then: fails('L3', notExpanded(error.message)),
    })),
  ])('$id given $given, then $then.kind', check);
});

const saved: Partial<ExpandState> = { volume: grown, volumeSaved: 'done' };
const savesVolume = (size: string, before?: string): Action => ({
  row: 'E21',
  kind: 'saveVolume',
  volume,
  size: sizeOf(size),
  ...(before === undefined ? {} : { before }),
});
const savesResult = (row: string, size: string, more = {}): Action => ({
  row,
  kind: 'saveResult',
  claim,
  result: { needsNode: row === 'E23', size: sizeOf(size), path: 'recovery', ...more },
});
const noRecord = aVolume({ cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '512Mi' } });

describe('a call that succeeded', () => {
  it.each<Row>([
    ...['0', '1Gi', '512Mi'].map((size) => ({
      id: '[resizer#E19, 66]',
      given: `an answer of ${size}`,
      state: answer(size),
      then: fails('E19', tooSmall(size)),
    })),
    {
      id: '[resizer#E20]',
      given: 'a PersistentVolume that could not be written',
      state: { ...answer('2Gi'), volumeSaved: failed },
      then: fails(
        'E20',
        'error updating pv "pv1" by resizer: updating capacity of PV "pv1" to 2Gi failed: update capacity of PV pv1 failed: refused',
      ),
    },
    { id: '[resizer#E21, 104]', given: 'a node that expands', state: answer('2Gi'), then: savesVolume('2Gi', '1Gi') },
    { id: '[resizer#E21, 106]', given: 'no node', state: answer('2Gi', false), then: savesVolume('2Gi') },
    {
      id: '[resizer#E21, 108]',
      given: 'a node that expands, without the gate',
      state: answer('2Gi'),
      features: { annotateFsResize: false },
      then: savesVolume('2Gi'),
    },
    { id: '[resizer#E21, 65]', given: 'too little', state: answer('1536Mi', false), then: savesVolume('1536Mi') },
    {
      id: '[resizer#E21, 27]',
      given: 'less than the PersistentVolume, where only the node expands',
      driver: aDriver({ expansion: 'trivial' }),
      state: { ...answer('2Gi'), volume: aVolume({ cap: '4Gi' }) },
      then: { ...savesVolume('2Gi', '1Gi'), volume: aVolume({ cap: '4Gi' }) } as Action,
    },
    {
      id: '[resizer#E22]',
      given: 'a claim that could not be marked as waiting for its node',
      state: { ...answer('2Gi'), ...saved, volume: noRecord, resultSaved: failed },
      then: fails('E22', `mark PVC "team/data" as node expansion required failed: ${notPatched}`),
    },
    {
      id: '[resizer#E22]',
      given: 'a claim that could not be marked as finished',
      state: { ...answer('2Gi', false), ...saved, resultSaved: failed },
      then: fails('E22', `mark PVC "team/data" as resize finished failed: ${notPatched}`),
    },
    {
      id: '[resizer#E26]',
      given: 'an attempt that somebody else ended before its result was written',
      state: { ...answer('2Gi'), ...saved, volume: noRecord, resultSaved: 'overtaken' },
      then: concludes('E26', requeueAfter(50)),
    },
    {
      id: '[resizer#E23, 107]',
      given: 'a PersistentVolume that shows the size and records an older one',
      state: { ...answer('2Gi'), volume: noRecord },
      then: savesResult('E23', '2Gi'),
    },
    {
      id: '[resizer#E23]',
      given: 'a claim that waits for its node now',
      state: { ...answer('2Gi'), ...saved, resultSaved: 'done' },
      then: concludes('E23', done, needsNode),
    },
    {
      id: '[resizer#E24, 68]',
      given: 'a PersistentVolume that shows the size in another text',
      state: { ...answer('2Gi', false), volume: aVolume({ cap: '2048Mi' }) },
      then: savesResult('E24', '2Gi'),
    },
    {
      id: '[resizer#E24]',
      given: 'no recovery',
      state: { ...answer('2Gi', false), ...saved },
      features: { recovery: false },
      then: savesResult('E24', '2Gi', { path: 'legacy' }),
    },
    {
      id: '[resizer#E24]',
      given: 'a claim that has its size now',
      state: { ...answer('2Gi', false), ...saved, resultSaved: 'done', claim: aClaim({ cap: '2Gi' }) },
      then: concludes('E24', done, finished),
    },
    {
      id: '[resizer#E24, 48]',
      given: 'a claim that requests more by now',
      state: { ...answer('2Gi', false), ...saved, resultSaved: 'done', claim: aClaim({ cap: '2Gi', spec: '3Gi' }) },
      then: concludes('E24', requeueAfter(0), finished),
    },
    {
      id: '[resizer#E25, 65]',
      given: 'growth that is less than was requested, recorded',
      state: { ...answer('1536Mi', false), ...saved, resultSaved: 'done' },
      then: fails('E25', tooSmall('1536Mi')),
    },
  ])('$id given $given, then $then.kind', check);
});

it('given the message of the failure in a condition of another type, when the call fails again, then the failure is written', () => {
  const message = `failed to expand pvc with ${internal.message}`;
  const other = aClaim({ alloc: '2Gi', conditions: [aCondition('Resizing', { message })] });
  check({
    id: '',
    given: '',
    state: { expanded: { failure: internal }, claim: other },
    then: { row: 'E18', kind: 'saveFailure', claim: other, failure: internal, isInfeasible: false },
  });
});

it('given a PersistentVolume that has the size already, when the node has to expand, then the size from before is recorded', () => {
  check({
    id: '',
    given: '',
    state: { ...answer('2Gi'), volume: grown },
    then: { row: 'E21', kind: 'saveVolume', volume: grown, size: sizeOf('2Gi'), before: '1Gi' },
  });
});

it('given no answer, when it is to be decided on, then that is a defect', () => {
  const state = {
    ...nothingLearned,
    claim,
    volume,
    entry: undefined,
    infeasibleForMs: 0,

    isUsed: false,
  };
  const context = { driver: aDriver(), settings: someSettings({ features: {} }) };
  expect(() => decideAnswer(state, { claim, volume }, context)).toThrow('no answer to decide on');
});
