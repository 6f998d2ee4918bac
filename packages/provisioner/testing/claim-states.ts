// SPDX-License-Identifier: Apache-2.0
/** States of the claim loop for the tests of its table: by default a live claim without an entry in memory; options change it. */
import type { Volume } from '@csi-sidecars/csi';
import type { StorageClass } from '@csi-sidecars/runtime';
import { ok, type Result } from '@csi-sidecars/volume';
import { aClaim, aClass, aDriver, type ClaimFacts, someSettings } from './builders.ts';
import { annotations } from '../src/names.ts';
import { toDataSource } from '../src/source/data-source.ts';
import type { CreateOutcome } from '../src/claim/outcome.ts';
import type { Plan, PlanAnswer, Shape } from '../src/claim/plan.ts';
import {
  type Action,
  type ClaimContext,
  type ClaimState,
  nothingLearned,
  type Row as ActionRow,
} from '../src/claim/state.ts';
import type { Deletion } from '../src/claim/deletion.ts';
import type { Entry, Pinned } from '../src/claim/memory.ts';

export const context: ClaimContext = { driver: aDriver(), settings: someSettings(), supportsTopology: true };
const storageClass: StorageClass = aClass();
export const late: StorageClass = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
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
export const plan: Plan = {
  volumeName: 'pvc-uid-data',
  request: { name: 'pvc-uid-data' },
  requiredBytes: 100n,
  selectedNode: '',
  fsType: '',
  attributesClass: '',
  secrets: noSecrets,
  storageClass,
  isMigrated: false,
};
export const planned: PlanAnswer = { kind: 'planned', plan };
export const withSecret: Plan = { ...plan, secrets: { ...noSecrets, provisioner: secret } };
export const pinned: Pinned = { plan, request: plan.request, isConfirmed: false };
const volume: Volume = {
  volume_id: 'v1',
  capacity_bytes: '100',
  volume_context: {},
  content_source: null,
  accessible_topology: [],
};
export const made: Extract<CreateOutcome, { kind: 'made' }> = { row: 'O9', kind: 'made', volume, bytes: 100n };
export const final = { row: 'O5', kind: 'final', message: 'no', isSettled: true } as const;
export const unsettledFinal = { row: 'O4', kind: 'final', message: 'exists', isSettled: false } as const;
export const infeasible = { row: 'O3', kind: 'infeasible', message: 'no' } as const;
export const full = { row: 'O2', kind: 'reschedule', message: 'full' } as const;
export const ambiguous = { row: 'O1', kind: 'ambiguous', message: 'late', isAnswer: true } as const;
export const unreached = { row: 'O1', kind: 'ambiguous', message: 'no connection', isAnswer: false } as const;
export const malformed = { row: 'O6', kind: 'malformed', message: 'odd' } as const;
export const unusable = { row: 'O8', kind: 'unusable', message: 'small', volumeId: 'v1', attributes: {} } as const;

const shape: Result<Shape> = ok({
  driverClass: storageClass,
  volumeName: 'pvc-uid-data',
  requiredBytes: 100n,
  capabilities: [],
  fsType: '',
  attributesClass: '',
});

/** A state, with short names for memory and plan. */
export interface StateFacts extends Partial<ClaimState> {
  /** Default: the entry of `pinned`, else nothing. */
  readonly remembers?: Entry['kind'] | 'none';
  readonly pinned?: Pinned;
  readonly planned?: PlanAnswer;
  readonly answers?: Deletion['answers'];
  /** How long ago the claim was deleted. */
  readonly deletedForMs?: number;
}

export function state(facts: StateFacts = {}, claim: ClaimFacts = {}): ClaimState {
  const { remembers, pinned: sent, planned: answer = planned, answers = [], deletedForMs = 0, ...others } = facts;
  const presence = facts.presence ?? (claim.deleting === 'yes' ? 'deleting' : 'live');
  const deletion =
    presence === 'live' ? undefined : { seenMs: 0, answers, forMs: deletedForMs, seenForMs: deletedForMs };
  return {
    claim: aClaim(claim),
    presence,
    isProtected: claim.protection === 'on' && presence !== 'gone',
    otherInstance: undefined,
    waitMs: undefined,
    isAllowedHere: () => true,
    memory: memoryOf(remembers ?? (sent === undefined ? 'none' : 'pinned'), sent ?? pinned),
    deletion,
    storageClass,
    volume: { kind: 'none' },
    volumeName: 'pvc-uid-data',
    infeasibleForMs: 0,
    dataSource: toDataSource(aClaim(claim), { features: context.settings.features, isGranted: () => false }),
    shape: () => shape,
    plan: () => answer,
    ...nothingLearned,
    ...others,
  };
}

function memoryOf(kind: Entry['kind'] | 'none', sent: Pinned): ClaimState['memory'] {
  const outstanding = { claim: aClaim(), deletion: undefined };
  switch (kind) {
    case 'none':
      return { kind };
    case 'settled':
      return { kind, claim: aClaim(), refusal: undefined };
    case 'open':
      return { kind, ...outstanding };
    case 'pinned':
      return { kind, pinned: sent, ...outstanding };
    case 'saving':
      return { kind, pinned: sent, volume: {}, ...outstanding };
  }
}

/** `protect`, or for a conclusion `done, Warning: text, failure`. */
export function show(action: Action): string {
  if (action.kind === 'reschedule') return `reschedule, ${action.protection} finalizer`;
  if (action.kind === 'giveUp') return `giveUp, ${action.answer}`;
  if (action.kind === 'settle')
    return action.refusedBy === undefined ? 'settle' : `settle, refused by ${action.refusedBy}`;
  if (action.kind === 'readNode' || action.kind === 'readRecord') return `${action.kind} ${action.name}`;
  if (action.kind === 'selectNode') return `selectNode ${action.node}`;
  if (action.kind === 'createVolume') return action.isFirst ? 'createVolume, first' : 'createVolume';
  if (action.kind !== 'conclude') return action.kind;
  const { outcome, events, driverEvents, counts, answer, givenUp } = action;
  return [
    outcome.kind === 'requeueAfter' ? `requeueAfter ${outcome.afterMs}` : outcome.kind,
    ...[...events, ...driverEvents].map(({ type, message }) => `${type}: ${message}`),
    ...(counts === 'no' ? [] : [counts]),
    ...(answer === undefined ? [] : [`${answer} answer`]),
    ...(outcome.kind === 'retry' && outcome.withinMs !== undefined ? [`again in ${outcome.withinMs}`] : []),
    ...(givenUp === undefined ? [] : ['given up']),
  ].join(', ');
}

export const announced = { announced: 'yes' } as const;
export const attempted: StateFacts = { announced: 'yes', pinned };
export const foreign: Readonly<Record<string, string>> = { [annotations.storageProvisioner]: 'other' };
export const protection = { protection: 'on' } as const;
export const settling = { protection: 'on', deleting: 'yes' } as const;

export interface Row {
  readonly row: ActionRow;
  readonly given: string;
  readonly state: ClaimState;
  readonly next: string;
}
