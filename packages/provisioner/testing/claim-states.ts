// SPDX-License-Identifier: Apache-2.0
/** States of the claim loop for the tests of its table: a live claim of which nothing is known, and what to change. */
import type { Volume } from '@csi-sidecars/csi';
import type { StorageClass } from '@csi-sidecars/runtime';
import { aClaim, aClass, aDriver, type ClaimFacts, someSettings } from './builders.ts';
import { annotations } from '../src/names.ts';
import type { CreateOutcome } from '../src/claim/outcome.ts';
import type { Plan, PlanAnswer } from '../src/claim/plan.ts';
import { type Action, type ClaimContext, type ClaimState, nothingLearned } from '../src/claim/state.ts';
import type { Pinned } from '../src/claim/unsettled.ts';

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
};
export const planned: PlanAnswer = { kind: 'planned', plan };
export const withSecret: Plan = { ...plan, secrets: { ...noSecrets, provisioner: secret } };
export const pinned: Pinned = { claim: aClaim(), plan, request: plan.request };
const volume: Volume = {
  volume_id: 'v1',
  capacity_bytes: '100',
  volume_context: {},
  content_source: null,
  accessible_topology: [],
};
export const made: CreateOutcome = { kind: 'made', volume, bytes: 100n };
export const final = { kind: 'final', message: 'no', isSettled: true } as const;
export const tooSmall = { kind: 'tooSmall', message: 'small', volumeId: 'v1' } as const;

export function state(facts: Partial<ClaimState> = {}, claim: ClaimFacts = {}): ClaimState {
  return {
    claim: aClaim(claim),
    presence: claim.deleting === 'yes' ? 'deleting' : 'live',
    isProtected: claim.protection === 'on',
    unsettled: facts.pinned === undefined ? 'no' : 'pinned',
    pinned: undefined,
    storageClass,
    volume: { kind: 'none' },
    volumeName: 'pvc-uid-data',
    infeasibleForMs: 0,
    ...nothingLearned,
    ...facts,
  };
}

/** `finalizer`, or for an end `done Warning: text, failure`. */
export function show(action: Action): string {
  if (action.kind === 'reschedule') return `reschedule, ${action.protection} finalizer`;
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

export const announced = { announced: 'yes' } as const;
export const attempted: Partial<ClaimState> = { announced: 'yes', planned, pinned };
export const foreign: Readonly<Record<string, string>> = { [annotations.storageProvisioner]: 'other' };
export const protection = { protection: 'on' } as const;
export const settling = { protection: 'on', deleting: 'yes' } as const;

export interface Row {
  readonly row: string;
  readonly given: string;
  readonly state: ClaimState;
  readonly next: string;
}
