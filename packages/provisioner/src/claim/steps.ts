// SPDX-License-Identifier: Apache-2.0
/** What each step of the claim loop does. No decisions: those are in the flows. The calls to the driver are in `volume-calls.ts`. */
import {
  type ApiClient,
  isNotFound,
  nodes,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { toDriverClass } from '@csi-sidecars/volume';
import { deprecationWarnings } from '../parameters/class-parameters.ts';
import type { SaveOutcome } from '../volume-store/outcome.ts';
import { saveVolume } from '../volume-store/save-volume.ts';
import { readSecret as readValues, type SecretValues } from '../parameters/secrets.ts';
import { isElsewhere, isOurs as isOurVolume } from '../volume/volume.ts';
import { chosenNodeOf, isRecordOf, uidOf } from './claim.ts';
import { type Answer, deletionOf } from './deletion.ts';
import { lookEveryMs, type OtherNode } from './instance-waits.ts';
import { pinnedOf } from './known.ts';
import { claimFacts, logCreated, logStart } from './log-lines.ts';
import type { ClaimRecord } from './memory.ts';
import { ownRecord, rememberedDeletion, takenBy } from './observe.ts';
import { settlerOf } from './protection.ts';
import type { Changes, ClaimDeps, ClaimRun, Known, Observed } from './state.ts';
import {
  addProtection,
  type ClaimUpdate,
  removeOtherProtection,
  removeProtection,
  removeSelectedNode,
  selectNode as sendNode,
  updateClaim,
  type Write,
} from './update-claim.ts';
import * as messages from './messages.ts';

export { lookAgain } from './observe.ts';
export { protectSource, readBacking, readSource } from '../source/source-reads.ts';
export { checkSpace, cleanUp, createVolume, type Call } from './volume-calls.ts';

export function announce(
  { logger, context: { events, driver } }: Pick<ClaimRun, 'logger' | 'context'>,
  s: Pick<Known, 'claim' | 'storageClass' | 'volumeName'>,
): void {
  const { claim, storageClass } = s;
  logStart(logger, s);
  const translated = storageClass && toDriverClass(storageClass, driver.name);
  const { parameters = {} } = translated?.kind === 'ok' ? translated.value : {};
  for (const warning of deprecationWarnings(parameters)) logger.warn(warning);
  events.record(claim, messages.provisioning(claim.metadata?.namespace ?? '', claim.metadata?.name ?? ''));
}

export function readSecret(
  { client, signal }: Pick<ClaimRun, 'client' | 'signal'>,
  reference: Parameters<typeof readValues>[1],
): Promise<SecretValues> {
  return readValues(client, reference, signal);
}

export function readAttributesClass(
  { client, signal }: Pick<ClaimRun, 'client' | 'signal'>,
  name: string,
): Promise<{ readonly driverName: string; readonly parameters?: Readonly<Record<string, string>> }> {
  return client.get(volumeAttributesClasses, { name }, { signal });
}

interface Updated extends Changes {
  readonly write: Write;
  readonly claim: Known['claim'];
}

async function update(run: ClaimRun, s: Known, change: ClaimUpdate): Promise<Updated> {
  const { claims } = run.caches;
  const latest = claims.byIndex('uid', uidOf(s.claim))[0] ?? s.claim;
  const { write, claim, presence } = await updateClaim({ ...run, claims }, latest, change);
  return { write, claim, ...(presence === 'gone' ? { presence } : {}) };
}

/** Adds the provisioning finalizer. */
export async function protect(run: ClaimRun, s: Known): Promise<Changes> {
  const { driver, settings } = run.context;
  const { write: protecting, ...changes } = await update(run, s, addProtection(driver.name, settings.node?.name));
  if (protecting === 'refused' && changes.presence === undefined) {
    run.logger.warn('Cannot put the provisioning finalizer on a claim', claimFacts(s));
  }
  if (protecting !== 'done') return { ...changes, protecting };
  // Another instance may have put it on before: then it is not ours.
  const isProtected = settlerOf(changes.claim, run.context) === 'us';
  return { ...changes, protecting, isProtected };
}

/** Removes the provisioning finalizer, and what memory has of the claim. */
export async function unprotect(run: ClaimRun, s: Known): Promise<Changes> {
  const { write, ...changes } = await update(run, s, removeProtection(run.context.driver.name));
  return write === 'done' || changes.presence === 'gone' ? { ...changes, ...unprotected(run, s) } : changes;
}

/** Removes the selected node: the scheduler chooses another one. */
export async function reschedule(run: ClaimRun, s: Known, protection: 'keep' | 'remove'): Promise<Updated> {
  const updated = await update(run, s, removeSelectedNode(run.context.driver.name, protection));
  return updated.write === 'done' && protection === 'remove' ? { ...updated, ...unprotected(run, s) } : updated;
}

/** Memory: how long another node is not asked for yet, in milliseconds. */
export function rescheduleWait({ key, context: { reschedules } }: Pick<ClaimRun, 'key' | 'context'>): number {
  return reschedules.leftMs(key) ?? 0;
}

export function beginRescheduleWait({ key, context: { reschedules } }: Pick<ClaimRun, 'key' | 'context'>): void {
  reschedules.begin(key);
}

/** The finalizer is removed; memory continues with the call unless the driver refused it. */
export async function giveUp(run: ClaimRun, s: Known, answer: Answer): Promise<Changes> {
  const { memory, driver } = run.context;
  const { claim, deletion } = s;
  if (deletion !== undefined) memory.answered(claim, deletion, answer);
  const { write, ...changes } = await update(run, s, removeProtection(driver.name));
  if (write !== 'done' && changes.presence !== 'gone') return changes;
  const entry = answer === 'final' ? forget(run.context, s) : s.memory;
  memory.givenUp(uidOf(claim));
  return { ...changes, isProtected: false, memory: entry };
}

export function giveUpOther(run: ClaimRun, s: Known): Promise<Updated> {
  return update(run, s, removeOtherProtection(run.context.driver.name));
}

function remember({ memory }: ClaimDeps, entry: ClaimRecord): ClaimRecord {
  memory.set(entry);
  return entry;
}

function forget({ memory }: ClaimDeps, { claim }: Known): Observed['memory'] {
  memory.delete(uidOf(claim));
  return { kind: 'none' };
}

function unprotected({ context }: ClaimRun, s: Known): Changes {
  const isRefused = s.memory.kind === 'settled' && s.memory.refusal !== undefined;
  return { isProtected: false, memory: isRefused ? s.memory : forget(context, s) };
}

const refusalMs = 5 * 60_000;

/**
 * Memory: nothing is outstanding. If the finalizer is there, the entry stays until it is removed. Otherwise only the refusal of a class is
 * remembered, and only of a claim that is in the cache: its end there ends the entry. `refusedBy`: UID of the class that the driver refused.
 */
export function settle(
  { clock, context, caches: { claims } }: Pick<ClaimRun, 'clock' | 'context' | 'caches'>,
  s: Known,
  refusedBy: string | undefined,
): Observed['memory'] {
  const { claim, isProtected } = s;
  const isRefused = refusedBy !== undefined && claims.byIndex('uid', uidOf(claim)).length > 0;
  const refusal = isRefused ? { untilMs: clock.monotonicMs() + refusalMs, classUid: refusedBy } : undefined;
  if (!isProtected && refusal === undefined) return forget(context, s);
  return remember(context, { kind: 'settled', claim, refusal });
}

/** Memory: a volume may exist, and the next request is planned from the caches. */
export function releaseRequest({ context }: Pick<ClaimRun, 'context'>, { claim, deletion }: Known): Observed['memory'] {
  return remember(context, { kind: 'open', claim, deletion });
}

/**
 * The PersistentVolume of the claim, made by any instance: those of other nodes are not cached. If it is one of another node, the claim needs no
 * volume of this one: what counts for a deleted claim counts for it.
 */
export async function readRecord({ client, clock, key, context, signal }: ClaimRun, s: Known): Promise<Changes> {
  const { driver, settings } = context;
  try {
    const record = await client.get(persistentVolumes, { name: s.volumeName }, { signal });
    if (!isOurVolume(record, driver.name)) return {};
    if (!isRecordOf(record, key)) return { volume: takenBy(record) };
    if (!isElsewhere(record, settings.node)) return { volume: ownRecord(record, s) };
    const deletion = s.deletion ?? deletionOf(clock, s.claim, rememberedDeletion(s.memory));
    return { volume: { kind: 'elsewhere', record }, deletion };
  } catch (error) {
    if (isNotFound(error)) return {};
    throw error;
  }
}

/** What the cache shows of the claim may be older than its binding. */
export async function readClaim(
  { client, caches: { claims }, signal }: Pick<ClaimRun, 'client' | 'caches' | 'signal'>,
  s: Pick<Known, 'claim'>,
  record: PersistentVolume,
): Promise<Changes> {
  const { namespace, name = '', uid } = s.claim.metadata ?? {};
  const gone = { presence: 'gone', isProtected: false, volume: { kind: 'own' } } as const;
  try {
    const claim = await client.get(persistentVolumeClaims, { namespace, name }, { signal });
    if (claim.metadata?.uid !== uid) return gone;
    claims.remember(claim);
    const presence = claim.metadata?.deletionTimestamp === undefined ? 'live' : 'deleting';
    return { claim, presence, volume: ownRecord(record, { claim, presence }) };
  } catch (error) {
    if (isNotFound(error)) return gone;
    throw error;
  }
}

type Saved = Changes & { readonly saved: SaveOutcome };

export async function save(run: ClaimRun, s: Known, volume: PersistentVolume): Promise<Saved> {
  const { client, caches, context, logger } = run;
  logCreated(logger, s, volume);
  const saved = await saveVolume({ client, ...caches }, volume);
  if (saved.row === 'S3' && context.settings.node !== undefined) {
    // A driver on each node may call two volumes of one name alike. That of another node is not the record of this one.
    const found = await readRecord(run, s).catch((): Changes => ({}));
    if (found.volume?.kind === 'elsewhere') return { saved, ...found };
  }
  if (saved.kind !== 'later') return { saved };
  logger.error(saved.cause, 'Failed to save volume', claimFacts(s));
  const { claim, pinned } = pinnedOf(s);
  const memory = remember(context, { kind: 'saving', claim, pinned, volume, deletion: s.deletion });
  context.saves.wake(pinned.plan.volumeName, 'rateLimited');
  return { saved, memory };
}

interface Look {
  readonly name: string;
  readonly isDeleted: boolean;
}

/** The Node of another instance. */
export async function readNode(
  { client, key, context, signal }: ClaimRun,
  { name, isDeleted }: Look,
): Promise<OtherNode> {
  const presence = await presenceOf(client, name, signal);
  return context.instanceWaits.looked(key, {
    node: name,
    presence,
    isDeleted,
    breakMs: longestBreakMs(context.settings),
  });
}

async function presenceOf(client: ApiClient, name: string, signal: AbortSignal): Promise<OtherNode['presence']> {
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

/** Memory only: the wait before this instance takes the claim. Returns how long it lasts. */
export function startWait({ key, context: { ownership } }: Pick<ClaimRun, 'key' | 'context'>): number {
  return ownership.begin(key);
}

/** Takes the claim for this node, unless it is gone or has a node. */
export async function selectNode(
  { key, client, caches: { claims }, context: { ownership } }: ClaimRun,
  node: string,
): Promise<'done' | 'conflict'> {
  const latest = claims.byIndex('uid', key)[0];
  if (latest === undefined) return 'done';
  let selected: 'done' | 'conflict' | 'gone' = 'conflict';
  try {
    if (chosenNodeOf(latest) === '') selected = await sendNode({ client, claims }, latest, node);
  } finally {
    if (selected === 'done') ownership.forget(key);
    else ownership.end(key);
  }
  return selected === 'gone' ? 'done' : selected;
}
