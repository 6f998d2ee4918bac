// SPDX-License-Identifier: Apache-2.0
/** One action of the claim loop done, and what was learned from it. No decisions: those are in `decide`. */
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  type ApiClient,
  type Clock,
  type EventRecorder,
  type Informer,
  type Logger,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toError,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { deprecationWarnings } from '../parameters/class-parameters.ts';
import { saveVolume } from '../saving/perform.ts';
import { readSecret } from '../secret-values.ts';
import { uidOf } from './claim.ts';
import { claimFacts, logStart } from './log-lines.ts';
import * as messages from './messages.ts';
import { cleanUp, createVolume } from './volume-calls.ts';
import type { Answer } from './deletion.ts';
import type { ClaimMemory, Entry } from './memory.ts';
import type { ClaimContext, ClaimState, Step } from './state.ts';
import { addProtection, type ClaimUpdate, removeProtection, removeSelectedNode, updateClaim } from './update-claim.ts';

export interface PerformDeps {
  readonly client: ApiClient;
  readonly channel: CsiChannel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventRecorder;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly context: ClaimContext;
  readonly memory: ClaimMemory;
  /** Hands a PersistentVolume that could not be saved to the save loop. */
  readonly saveLater: (volumeName: string) => void;
}

export async function perform(
  deps: PerformDeps,
  state: ClaimState,
  { action, signal }: { readonly action: Step; readonly signal: AbortSignal },
): Promise<Partial<ClaimState>> {
  const { name: driverName } = deps.context.driver;
  switch (action.kind) {
    case 'announce':
      return announce(deps, state);
    case 'readSecret':
      return { secrets: await readSecret(deps.client, action.reference, signal) };
    case 'readAttributesClass':
      return { attributes: await readAttributesClass(deps.client, action.name, signal) };
    case 'protect': {
      const { write, ...learned } = await update(deps, state, addProtection(driverName));
      if (write === 'refused' && learned.presence === undefined) {
        deps.logger.warn('Cannot put the provisioning finalizer on a claim', claimFacts(state));
      }
      return { protecting: write, ...learned, ...(write === 'done' ? { isProtected: true } : {}) };
    }
    case 'unprotect': {
      const { write, ...learned } = await update(deps, state, removeProtection(driverName));
      const isOff = write === 'done' || learned.presence === 'gone';
      return { unprotecting: write, ...learned, ...(isOff ? unprotected(deps, state) : {}) };
    }
    case 'reschedule': {
      const { write, ...learned } = await update(deps, state, removeSelectedNode(driverName, action.protection));
      const isOff = write === 'done' && action.protection === 'remove';
      return { rescheduling: write, ...learned, ...(isOff ? unprotected(deps, state) : {}) };
    }
    case 'settle':
      return settle(deps, state, action.refusedBy);
    case 'releaseRequest': {
      const { claim, deletion } = state;
      return { memory: remember(deps, { kind: 'open', claim, deletion }) };
    }
    case 'createVolume':
      return createVolume(deps, state, { ...action, signal });
    case 'cleanUp':
      return cleanUp(deps, state, { ...action, signal });
    case 'save':
      return save(deps, state, action.volume);
    case 'giveUp':
      return giveUp(deps, state, action.answer);
  }
}

function announce({ events, logger }: PerformDeps, state: ClaimState): Partial<ClaimState> {
  const { claim, storageClass } = state;
  logStart(logger, state);
  for (const warning of deprecationWarnings(storageClass?.parameters ?? {})) logger.warn(warning);
  events.record(claim, messages.provisioning(claim.metadata?.namespace ?? '', claim.metadata?.name ?? ''));
  return { announced: 'yes' };
}

async function readAttributesClass(
  client: ApiClient,
  name: string,
  signal: AbortSignal,
): Promise<ClaimState['attributes']> {
  try {
    const { driverName, parameters } = await client.get(volumeAttributesClasses, { name }, { signal });
    return { kind: 'found', driverName, parameters: parameters ?? {} };
  } catch (error) {
    return { kind: 'failed', message: toError(error).message };
  }
}

async function update(
  deps: PerformDeps,
  { claim }: ClaimState,
  change: ClaimUpdate,
): Promise<{ readonly write: ClaimState['protecting'] } & Pick<Partial<ClaimState>, 'claim' | 'presence'>> {
  const latest = deps.claims.lister.byIndex('uid', uidOf(claim))[0] ?? claim;
  const updated = await updateClaim(deps, latest, change);
  return { write: updated.write, claim: updated.claim, ...(updated.presence === 'gone' ? { presence: 'gone' } : {}) };
}

function remember({ memory }: PerformDeps, entry: Entry): Entry {
  memory.set(entry);
  return entry;
}

function forget({ memory }: PerformDeps, { claim }: ClaimState): ClaimState['memory'] {
  memory.delete(uidOf(claim));
  return { kind: 'none' };
}

const refusalMs = 5 * 60_000;

/** The finalizer stays to be taken off. Without it only the refusal of a class is left to remember. */
function settle(deps: PerformDeps, state: ClaimState, refusedBy: string | undefined): Partial<ClaimState> {
  const { claim } = state;
  const refusal =
    refusedBy === undefined ? undefined : { untilMs: deps.clock.monotonicMs() + refusalMs, classUid: refusedBy };
  if (!state.isProtected && refusal === undefined) return { memory: forget(deps, state) };
  return { memory: remember(deps, { kind: 'settled', claim, refusal }) };
}

function unprotected(deps: PerformDeps, state: ClaimState): Partial<ClaimState> {
  const { memory } = state;
  const isRefused = memory.kind === 'settled' && memory.refusal !== undefined;
  return { isProtected: false, memory: isRefused ? memory : forget(deps, state) };
}

/** The finalizer goes; memory goes on with the call as long as the driver did not say no. */
async function giveUp(deps: PerformDeps, state: ClaimState, answer: Answer): Promise<Partial<ClaimState>> {
  const { claim, deletion } = state;
  if (deletion !== undefined) deps.memory.answered(claim, deletion, answer);
  const { write, ...learned } = await update(deps, state, removeProtection(deps.context.driver.name));
  if (write !== 'done' && learned.presence !== 'gone') return { givingUp: write, ...learned };
  const memory = answer === 'final' ? forget(deps, state) : state.memory;
  return { givingUp: 'done', isProtected: false, memory, ...learned };
}

async function save(deps: PerformDeps, state: ClaimState, volume: PersistentVolume): Promise<Partial<ClaimState>> {
  const saved = await saveVolume(deps, volume);
  const { memory, deletion } = state;
  if (saved.kind !== 'later' || memory.kind !== 'pinned') return { saved };
  deps.logger.error(saved.cause, 'Failed to save volume', claimFacts(state));
  const { claim, pinned } = memory;
  deps.saveLater(pinned.plan.volumeName);
  return { saved, memory: remember(deps, { kind: 'saving', claim, pinned, volume, deletion }) };
}
