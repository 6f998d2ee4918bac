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
import { saveVolume } from '../saving/save.ts';
import { readSecret } from '../secret-values.ts';
import type { ClusterTopology } from '../topology/requirement.ts';
import { uidOf } from './claim.ts';
import * as messages from './messages.ts';
import { cleanUp, createVolume } from './volume-calls.ts';
import { toPlan } from './plan.ts';
import type { Action, ClaimContext, ClaimState, Conclusion } from './state.ts';
import type { UnsettledClaims } from './unsettled.ts';
import { addProtection, type ClaimUpdate, removeProtection, removeSelectedNode, updateClaim } from './update-claim.ts';

export interface PerformDeps {
  readonly client: ApiClient;
  readonly channel: CsiChannel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventRecorder;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  /** Undefined: topology is not supported. */
  readonly cluster: ClusterTopology | undefined;
  readonly context: ClaimContext;
  readonly unsettled: UnsettledClaims;
  /** Hands a PersistentVolume that could not be saved to the save loop. */
  readonly saveLater: (volumeName: string) => void;
}

export type Step = Exclude<Action, Conclusion>;

export async function perform(
  deps: PerformDeps,
  state: ClaimState,
  { action, signal }: { readonly action: Step; readonly signal: AbortSignal },
): Promise<Partial<ClaimState>> {
  const { name: driverName } = deps.context.driver;
  switch (action.kind) {
    case 'announce':
      return announce(deps, state);
    case 'plan':
      return { planned: plan(deps, state, action.purpose) };
    case 'readSecret':
      return { secrets: await readSecret(deps.client, action.reference, signal) };
    case 'readAttributesClass':
      return { attributes: await readAttributesClass(deps.client, action.name, signal) };
    case 'protect': {
      const { write, ...learned } = await update(deps, state, addProtection(driverName));
      if (write === 'refused' && learned.presence === undefined) {
        deps.logger.warn('Cannot protect a claim whose volume may exist; provisioning goes on', facts(state));
      }
      return { protecting: write, ...learned, ...(write === 'done' ? { isProtected: true } : {}) };
    }
    case 'unprotect': {
      const { write, ...learned } = await update(deps, state, removeProtection(driverName));
      return {
        unprotecting: write,
        ...learned,
        ...unprotected(deps, state, write === 'done' || learned.presence === 'gone'),
      };
    }
    case 'reschedule': {
      const { write, ...learned } = await update(deps, state, removeSelectedNode(driverName, action.protection));
      const isOff = write === 'done' && action.protection === 'remove';
      return { rescheduling: write, ...learned, ...(isOff ? unprotected(deps, state, true) : {}) };
    }
    case 'settle':
      return settle(deps, state);
    case 'createVolume':
      return createVolume(deps, state, { ...action, signal });
    case 'cleanUp':
      return cleanUp(deps, state, { ...action, signal });
    case 'save':
      return save(deps, state, action.volume);
  }
}

function announce({ events, logger }: PerformDeps, { claim, storageClass }: ClaimState): Partial<ClaimState> {
  for (const warning of deprecationWarnings(storageClass?.parameters ?? {})) logger.warn(warning);
  events.record(claim, messages.provisioning(claim.metadata?.namespace ?? '', claim.metadata?.name ?? ''));
  return { announced: 'yes' };
}

function plan(
  { context, cluster }: PerformDeps,
  { claim, storageClass }: ClaimState,
  purpose: 'provision' | 'settle',
): ClaimState['planned'] {
  if (storageClass === undefined) throw new Error('a claim without a class was to be planned');
  const { driver, settings } = context;
  return toPlan({ claim, storageClass, driver, settings, cluster, purpose });
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

function unprotected({ unsettled }: PerformDeps, { claim }: ClaimState, isOff: boolean): Partial<ClaimState> {
  if (!isOff) return {};
  unsettled.delete(uidOf(claim));
  return { isProtected: false, unsettled: 'no' };
}

/** The finalizer stays to be taken off; without it nothing is left to remember. */
function settle({ unsettled }: PerformDeps, { claim, isProtected }: ClaimState): Partial<ClaimState> {
  if (!isProtected) {
    unsettled.delete(uidOf(claim));
    return { unsettled: 'no' };
  }
  unsettled.set({ kind: 'settled', claim });
  return { unsettled: 'settled' };
}

async function save(deps: PerformDeps, state: ClaimState, volume: PersistentVolume): Promise<Partial<ClaimState>> {
  const saved = await saveVolume(deps, volume);
  if (saved.kind !== 'later' || state.pinned === undefined) return { saved };
  deps.logger.error(saved.cause, 'Failed to save a PersistentVolume, will retry', facts(state));
  // What is pinned may be the whole entry of an earlier run: its own kind must not win.
  deps.unsettled.set({ ...state.pinned, kind: 'saving', volume });
  deps.saveLater(state.pinned.plan.volumeName);
  return { saved, unsettled: 'saving' };
}

function facts({ claim, volumeName }: ClaimState): Readonly<Record<string, string>> {
  return { PVC: `${claim.metadata?.namespace ?? ''}/${claim.metadata?.name ?? ''}`, PV: volumeName };
}
