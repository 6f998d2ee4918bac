// SPDX-License-Identifier: Apache-2.0
/** What the claim loop observes, by default a live claim without an entry in memory, and walks of its flow with scripted answers. */
import type { Volume } from '@csi-sidecars/csi';
import type { StorageClass } from '@csi-sidecars/runtime';
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import { ok, type Result } from '@csi-sidecars/volume';
import { aClaim, aClass, aDriver, type ClaimFacts, someSettings } from './builders.ts';
import { annotations } from '../src/names.ts';
import { toDataSource } from '../src/source/data-source.ts';
import type { CreateOutcome } from '../src/claim/outcome.ts';
import type { Plan, PlanAnswer, Shape } from '../src/claim/plan.ts';
import { provision } from '../src/claim/flow.ts';
import type { Changes, ClaimContext, Concluded, Known, Observed } from '../src/claim/state.ts';
import type { Deletion } from '../src/claim/deletion.ts';
import type { ClaimRecord, PinnedRequest } from '../src/claim/memory.ts';

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
export const pinned: PinnedRequest = { plan, request: plan.request, isConfirmed: false };
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
export interface StateFacts extends Partial<Known> {
  /** Default: the entry of `pinned`, else nothing. */
  readonly remembers?: ClaimRecord['kind'] | 'none';
  readonly pinned?: PinnedRequest;
  readonly planned?: PlanAnswer;
  readonly answers?: Deletion['answers'];
  /** How long ago the claim was deleted. */
  readonly deletedForMs?: number;
}

export function state(facts: StateFacts = {}, claim: ClaimFacts = {}): Known {
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
    ...others,
  };
}

function memoryOf(kind: ClaimRecord['kind'] | 'none', sent: PinnedRequest): Observed['memory'] {
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

export const foreign: Readonly<Record<string, string>> = { [annotations.storageProvisioner]: 'other' };
export const protection = { protection: 'on' } as const;
export const settling = { protection: 'on', deleting: 'yes' } as const;
export const always: ClaimContext = {
  ...context,
  settings: { ...context.settings, provisioningProtection: 'always' },
};

/** `done`, or `retry, Warning: text, failure`. */
function showEnd({ outcome, events, driverEvents, counts, answer, givenUp }: Concluded): string {
  return [
    outcome.kind === 'requeueAfter' ? `requeueAfter ${outcome.afterMs}` : outcome.kind,
    ...[...events, ...driverEvents].map(({ type, message }) => `${type}: ${message}`),
    ...(counts === 'no' ? [] : [counts]),
    ...(answer === undefined ? [] : [`${answer} answer`]),
    ...(outcome.kind === 'retry' && outcome.withinMs !== undefined ? [`again in ${outcome.withinMs}`] : []),
    ...(givenUp === undefined ? [] : ['given up']),
  ].join(', ');
}

/** What a step was asked to do, as far as a reader wants to know. */
const details: Readonly<Record<string, (...args: never) => string>> = {
  reschedule: (_known: Known, kept: string) => `${kept} finalizer`,
  giveUp: (_known: Known, answer: string) => answer,
  settle: (_known: Known, refusedBy: string | undefined) => (refusedBy === undefined ? '' : `refused by ${refusedBy}`),
  createVolume: (_known: Known, { isFirst }: { readonly isFirst: boolean }) => (isFirst ? 'first' : ''),
  readNode: ({ name }: { readonly name: string }) => name,
  selectNode: (node: string) => node,
};

/** What the steps return if a test says nothing else: writes succeed, and nothing has changed meanwhile. */
const usual: Answers = {
  announce: undefined,
  lookAgain: {},
  protect: { protecting: 'done', isProtected: true },
  unprotect: { isProtected: false, memory: { kind: 'none' } },
  reschedule: { write: 'done' },
  giveUp: (s: Known): Changes => ({ isProtected: false, memory: s.memory }),
  giveUpOther: { write: 'done' },
  settle: ({ claim, isProtected }: Known) =>
    isProtected ? { kind: 'settled', claim, refusal: undefined } : { kind: 'none' },
  releaseRequest: ({ claim, deletion }: Known) => ({ kind: 'open', claim, deletion }),
  protectSource: undefined,
  readRecord: {},
};

/** The answer of the step `createVolume`. */
export function answers(created: CreateOutcome): (s: Known, call: { readonly pinned: PinnedRequest }) => Changes {
  return ({ claim, deletion }, call) => ({ created, memory: { kind: 'pinned', claim, deletion, pinned: call.pinned } });
}

export interface WalkOfClaim {
  readonly facts?: StateFacts;
  readonly claim?: ClaimFacts;
  readonly says?: Answers | undefined;
  readonly of?: ClaimContext;
}

export interface WalkedClaim {
  /** `C13 announce, C22 lookAgain, C22 createVolume first, C23 retry, Warning: text, failure`. */
  readonly text: string;
  readonly end: Concluded;
  readonly said: (name: string) => readonly (readonly unknown[])[];
}

export async function walkClaim({ facts, claim, says = {}, of = context }: WalkOfClaim): Promise<WalkedClaim> {
  const { steps, conclusion, said } = await walkFlow(provision(state(facts, claim), of), { ...usual, ...says });
  const seen = new Map<string, number>();
  const walked = steps.map((step) => {
    const [, name = ''] = step.split(' ');
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    const detail = details[name]?.(...((said(name)[times] ?? []) as never)) ?? '';
    return detail === '' ? step : `${step} ${detail}`;
  });
  return { text: [...walked, `${conclusion.row} ${showEnd(conclusion)}`].join(', '), end: conclusion, said };
}
