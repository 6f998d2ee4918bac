// SPDX-License-Identifier: Apache-2.0
/** The effects of the claim loop's actions. All decisions are in `decide`. */
import {
  type ApiClient,
  isNotFound,
  nodes,
  type Performers,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  type Step,
  toError,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { toDriverClass } from '@csi-sidecars/volume';
import { deprecationWarnings } from '../parameters/class-parameters.ts';
import { saveVolume } from '../saving/perform.ts';
import { readSecret } from '../secret-values.ts';
import { isElsewhere, isOurs as isOurVolume } from '../volume/volume.ts';
import { chosenNodeOf, isRecordOf, uidOf } from './claim.ts';
import { lookEveryMs } from './decide-node.ts';
import { type Answer, deletionOf } from './deletion.ts';
import { claimFacts, logCreated, logSource, logStart } from './log-lines.ts';
import type { Entry } from './memory.ts';
import * as messages from './messages.ts';
import { ownRecord, rememberedDeletion, takenBy } from './observe.ts';
import { settlerOf } from './protection.ts';
import type { ClaimDeps, ClaimLoop, ClaimState, OtherNode } from './state.ts';
import { protectSource, readBacking, readSource } from './source-reads.ts';
import {
  addProtection,
  type ClaimUpdate,
  removeOtherProtection,
  removeProtection,
  removeSelectedNode,
  selectNode,
  updateClaim,
} from './update-claim.ts';
import { checkSpace, cleanUp, createVolume } from './volume-calls.ts';

type ClaimStep = Pick<Step<ClaimLoop>, 'client' | 'clock' | 'logger' | 'caches' | 'state'>;

export function performers(deps: ClaimDeps): Performers<ClaimLoop> {
  const { name: driverName } = deps.driver;
  return {
    announce: (step) => announce(deps, step),
    readSource: async ({ client, key, action, signal }) => {
      await deps.holds.take(key, action.ref);
      return { source: await readSource({ client, signal }, action.ref) };
    },
    readBacking: async ({ client, state, action, signal }) => ({
      source: await readBacking({ client, signal }, state.source, action.name),
    }),
    protectSource: async ({ client, logger, state, signal }) => ({
      protectingSource: await protectSource({ client, logger, signal }, state.source),
    }),
    readSecret: async ({ client, action, signal }) => ({ secrets: await readSecret(client, action.reference, signal) }),
    readAttributesClass: async ({ client, action, signal }) => ({
      attributes: await readAttributesClass(client, action.name, signal),
    }),
    protect: async (step) => {
      const { write, ...learned } = await update(step, addProtection(driverName, deps.settings.node?.name));
      if (write === 'refused' && learned.presence === undefined) {
        step.logger.warn('Cannot put the provisioning finalizer on a claim', claimFacts(step.state));
      }
      if (write !== 'done') return { protecting: write, ...learned };
      // Another instance may have put it on before: then it is not ours.
      const isProtected = settlerOf(learned.claim ?? step.state.claim, deps) === 'us';
      return { protecting: write, ...learned, isProtected };
    },
    unprotect: async (step) => {
      const { write, ...learned } = await update(step, removeProtection(driverName));
      const isOff = write === 'done' || learned.presence === 'gone';
      return { unprotecting: write, ...learned, ...(isOff ? unprotected(deps, step.state) : {}) };
    },
    reschedule: async (step) => {
      const { protection } = step.action;
      const { write, ...learned } = await update(step, removeSelectedNode(driverName, protection));
      const isOff = write === 'done' && protection === 'remove';
      return { rescheduling: write, ...learned, ...(isOff ? unprotected(deps, step.state) : {}) };
    },
    settle: (step) => settle(deps, step, step.action.refusedBy),
    releaseRequest: ({ state: { claim, deletion } }) => ({ memory: remember(deps, { kind: 'open', claim, deletion }) }),
    createVolume: (step) => {
      logSource(step.logger, step.state);
      return createVolume(deps, step);
    },
    cleanUp: (step) => cleanUp(deps, step),
    save: (step) => save(deps, step, step.action.volume),
    giveUp: (step) => giveUp(deps, step, step.action.answer),
    giveUpOther: async (step) => {
      const { write, ...learned } = await update(step, removeOtherProtection(driverName));
      return { givingUp: write === 'done' ? 'done' : 'failed', ...learned };
    },
    readNode: async ({ client, key, state, action: { name }, signal }) => {
      const presence = await readNode(client, name, signal);
      const breakMs = longestBreakMs(deps.settings);
      const isDeleted = state.deletion !== undefined;
      return { otherNode: deps.instanceWaits.looked(key, { node: name, presence, isDeleted, breakMs }) };
    },
    readRecord: (step) => readRecord(deps, step, step.action.name),
    readClaim: (step) => readClaim(step, step.action.record),
    startWait: ({ key }) => {
      deps.ownership?.begin(key);
      return { waitMs: deps.ownership?.leftMs(key) };
    },
    checkSpace: async ({ key, logger, action, signal }) => {
      const space = await checkSpace(deps, action, signal);
      if (typeof space === 'object') {
        const reason = space.failure;
        logger.info(3, 'proceeding with becoming owner although the capacity check failed', { claim: key, reason });
      }
      return { space };
    },
    selectNode: async ({ key, client, caches: { claims }, action: { node } }) => {
      const latest = claims.byIndex('uid', key)[0];
      if (latest === undefined) return { selecting: 'gone' };
      const selecting = chosenNodeOf(latest) === '' ? await selectNode({ client, claims }, latest, node) : 'conflict';
      if (selecting === 'done') deps.ownership?.forget(key);
      else deps.ownership?.end(key);
      return { selecting, waitMs: undefined };
    },
  };
}

function announce({ events, driver }: ClaimDeps, { logger, state }: ClaimStep): Partial<ClaimState> {
  const { claim, storageClass } = state;
  logStart(logger, state);
  const translated = storageClass && toDriverClass(storageClass, driver.name);
  const { parameters = {} } = translated?.kind === 'ok' ? translated.value : {};
  for (const warning of deprecationWarnings(parameters)) logger.warn(warning);
  events.record(claim, messages.provisioning(claim.metadata?.namespace ?? '', claim.metadata?.name ?? ''));
  return { announced: 'yes' };
}

async function readNode(client: ApiClient, name: string, signal: AbortSignal): Promise<OtherNode['presence']> {
  try {
    await client.get(nodes, { name }, { signal });
    return 'there';
  } catch (error) {
    return isNotFound(error) ? 'gone' : 'unknown';
  }
}

/** With `always` a claim is looked at rarely once the Node is gone for long, and nothing but an event follows from that. */
function longestBreakMs({ node, provisioningProtection }: ClaimDeps['settings']): number {
  if (node === undefined) return 0;
  return 2 * (provisioningProtection === 'always' ? node.patienceMs : lookEveryMs(node));
}

/** From here on the claim needs no volume of this node: what counts for a deleted claim counts for it. */
async function readRecord(
  { driver, settings }: ClaimDeps,
  { client, clock, key, state, signal }: Pick<Step<ClaimLoop>, 'client' | 'clock' | 'key' | 'state' | 'signal'>,
  name: string,
): Promise<Partial<ClaimState>> {
  try {
    const found = await client.get(persistentVolumes, { name }, { signal });
    if (!isOurVolume(found, driver.name)) return { record: 'read' };
    if (!isRecordOf(found, key)) return { record: 'read', volume: takenBy(found) };
    if (!isElsewhere(found, settings.node)) return { record: 'read', volume: ownRecord(found, state) };
    const deletion = state.deletion ?? deletionOf(clock, state.claim, rememberedDeletion(state.memory));
    return { record: 'read', volume: { kind: 'elsewhere', record: found }, deletion };
  } catch (error) {
    return { record: isNotFound(error) ? 'read' : { failure: toError(error).message } };
  }
}

/** What the cache shows of the claim may be older than its binding. */
async function readClaim(
  { client, caches: { claims }, state, signal }: Pick<Step<ClaimLoop>, 'client' | 'caches' | 'state' | 'signal'>,
  record: PersistentVolume,
): Promise<Partial<ClaimState>> {
  const { namespace, name = '', uid } = state.claim.metadata ?? {};
  const gone = { reread: 'read', presence: 'gone', isProtected: false, volume: { kind: 'own' } } as const;
  try {
    const claim = await client.get(persistentVolumeClaims, { namespace, name }, { signal });
    if (claim.metadata?.uid !== uid) return gone;
    claims.remember(claim);
    const presence = claim.metadata?.deletionTimestamp === undefined ? 'live' : 'deleting';
    return { reread: 'read', claim, presence, volume: ownRecord(record, { claim, presence }) };
  } catch (error) {
    return isNotFound(error) ? gone : { reread: { failure: toError(error) } };
  }
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
  { client, caches: { claims }, state: { claim } }: ClaimStep,
  change: ClaimUpdate,
): Promise<{ readonly write: ClaimState['protecting'] } & Pick<Partial<ClaimState>, 'claim' | 'presence'>> {
  const latest = claims.byIndex('uid', uidOf(claim))[0] ?? claim;
  const updated = await updateClaim({ client, claims }, latest, change);
  return { write: updated.write, claim: updated.claim, ...(updated.presence === 'gone' ? { presence: 'gone' } : {}) };
}

function remember({ memory }: ClaimDeps, entry: Entry): Entry {
  memory.set(entry);
  return entry;
}

function forget({ memory }: ClaimDeps, { claim }: ClaimState): ClaimState['memory'] {
  memory.delete(uidOf(claim));
  return { kind: 'none' };
}

const refusalMs = 5 * 60_000;

/**
 * If the finalizer is there, the entry stays until it is removed. Otherwise only the refusal of a class is remembered, and only of a claim
 * that is in the cache: its end there ends the entry.
 */
function settle(
  deps: ClaimDeps,
  { clock, caches: { claims }, state }: ClaimStep,
  refusedBy: string | undefined,
): Partial<ClaimState> {
  const { claim } = state;
  const isRefused = refusedBy !== undefined && claims.byIndex('uid', uidOf(claim)).length > 0;
  const refusal = isRefused ? { untilMs: clock.monotonicMs() + refusalMs, classUid: refusedBy } : undefined;
  if (!state.isProtected && refusal === undefined) return { memory: forget(deps, state) };
  return { memory: remember(deps, { kind: 'settled', claim, refusal }) };
}

function unprotected(deps: ClaimDeps, state: ClaimState): Partial<ClaimState> {
  const { memory } = state;
  const isRefused = memory.kind === 'settled' && memory.refusal !== undefined;
  return { isProtected: false, memory: isRefused ? memory : forget(deps, state) };
}

/** The finalizer is removed; memory continues with the call unless the driver refused it. */
async function giveUp(deps: ClaimDeps, step: ClaimStep, answer: Answer): Promise<Partial<ClaimState>> {
  const { state } = step;
  const { claim, deletion } = state;
  if (deletion !== undefined) deps.memory.answered(claim, deletion, answer);
  const { write, ...learned } = await update(step, removeProtection(deps.driver.name));
  if (write !== 'done' && learned.presence !== 'gone') return { givingUp: write, ...learned };
  const memory = answer === 'final' ? forget(deps, state) : state.memory;
  deps.memory.givenUp(uidOf(claim));
  return { givingUp: 'done', isProtected: false, memory, ...learned };
}

async function save(
  deps: ClaimDeps,
  step: Step<ClaimLoop, 'save'>,
  volume: PersistentVolume,
): Promise<Partial<ClaimState>> {
  const { client, caches, logger, state } = step;
  const { memory, deletion } = state;
  logCreated(logger, state, volume);
  const saved = await saveVolume({ client, ...caches }, volume);
  if (saved.row === 'S3' && deps.settings.node !== undefined) {
    // A driver on each node may call two volumes of one name alike. That of another node is not the record of this one.
    const found = await readRecord(deps, step, state.volumeName);
    if (found.volume?.kind === 'elsewhere') return found;
  }
  if (saved.kind !== 'later' || memory.kind !== 'pinned') return { saved };
  logger.error(saved.cause, 'Failed to save volume', claimFacts(state));
  const { claim, pinned } = memory;
  const learned = { saved, memory: remember(deps, { kind: 'saving', claim, pinned, volume, deletion }) };
  deps.saves.wake(pinned.plan.volumeName, 'rateLimited');
  return learned;
}
