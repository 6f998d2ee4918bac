// SPDX-License-Identifier: Apache-2.0
/** From the caches and from memory to the state of one claim. Synchronous, no network. */
import {
  type Caches,
  type Clock,
  type Lister,
  type PersistentVolume,
  type StorageClass,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { toTerms } from '@csi-sidecars/volume';
import { classNameOf } from '../metadata.ts';
import { isLosing } from '../volume-store/outcome.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { toDataSource } from '../source/data-source.ts';
import { isGranted } from '../source/grants.ts';
import type { ClusterTopology } from '../topology/requirement.ts';
import { chosenNodeOf, type ClaimUid, isRecordOf, uidOf, volumeNameFor } from './claim.ts';
import { type Deletion, deletionOf } from './deletion.ts';
import type { ClaimMemory, ClaimRecord } from './memory.ts';
import type { Ownership } from '../ownership.ts';
import { isAllowedHere, type PlanFacts, toPlan, toShape } from './plan.ts';
import { settlerOf } from './protection.ts';
import type { Changes, ClaimContext, ClaimLoop, ClaimRun, Known, Observed } from './state.ts';

export interface ObserveDeps {
  readonly context: ClaimContext;
  readonly memory: Pick<ClaimMemory, 'get'>;
  readonly ownership: Pick<Ownership, 'leftMs'>;
  readonly clock: Clock;
}

/** Undefined if neither the cache nor memory has the claim. */
export function observe(
  { context, memory, ownership, clock }: ObserveDeps,
  caches: Caches<ClaimLoop>,
  uid: ClaimUid,
): Observed | undefined {
  const { settings } = context;
  const entry = memory.get(uid);
  const cached = caches.claims.byIndex('uid', uid)[0];
  const claim = cached ?? entry?.claim;
  if (claim === undefined) return undefined;
  const storageClass = caches.classes.get(toObjectKey(undefined, classNameOf(claim)));
  const volumeName = nameOf(uid, settings);
  const dataSource = toDataSource(claim, {
    features: settings.features,
    isGranted: (reference) => isGranted(caches.grants.byIndex('namespace', reference.namespace), reference),
  });
  const presence =
    cached === undefined ? 'gone' : cached.metadata?.deletionTimestamp === undefined ? 'live' : 'deleting';
  const settler = cached === undefined ? 'none' : settlerOf(cached, context);
  const hasFinalizer = settler === 'us';
  const infeasibleForMs = refusedForMs(clock, entry, storageClass);
  const isOver = entry?.kind === 'settled' && !hasFinalizer && infeasibleForMs === 0;
  const cluster = clusterOf(context, caches);
  const planFacts = (withClass: StorageClass): Omit<PlanFacts, 'purpose'> => ({
    ...context,
    claim,
    storageClass: withClass,
    source: dataSource,
    cluster,
  });
  const isSecond = entry?.kind === 'pinned' && entry.pinned.deleting?.row === 'O12';
  return {
    claim,
    presence,
    isProtected: hasFinalizer,
    otherInstance: typeof settler === 'object' ? settler.node : undefined,
    waitMs: ownership.leftMs(uid),
    isAllowedHere: (withClass) => isAllowedHere(planFacts(withClass)),
    memory: entry === undefined || isOver ? { kind: 'none' } : entry,
    deletion: presence === 'live' && !isSecond ? undefined : deletionOf(clock, claim, rememberedDeletion(entry)),
    storageClass,
    volumeName,
    volume: volumeOf(caches.volumes, { claim, presence, volumeName }),
    infeasibleForMs,
    dataSource,
    shape: (withClass) => toShape({ ...context, claim, storageClass: withClass, source: dataSource }),
    plan: planning(planFacts),
  };
}

/** After a call the deletion is older. In node deployment another node may be selected; a deletion meanwhile is seen by the next run. */
export function lookAgain(
  { clock, key, context: { settings }, caches: { claims } }: Pick<ClaimRun, 'clock' | 'key' | 'context' | 'caches'>,
  { claim, deletion }: Pick<Known, 'claim' | 'deletion'>,
): Changes {
  if (deletion !== undefined) return { deletion: deletionOf(clock, claim, deletion) };
  const latest = claims.byIndex('uid', key)[0];
  const isLive = latest !== undefined && latest.metadata?.deletionTimestamp === undefined;
  if (settings.node === undefined || !isLive || chosenNodeOf(latest) === chosenNodeOf(claim)) return {};
  return { claim: latest };
}

/** How long the refusal of the class still holds. A class that was created again has another UID. */
function refusedForMs(clock: Clock, entry: ClaimRecord | undefined, storageClass: StorageClass | undefined): number {
  if (entry?.kind !== 'settled' || entry.refusal === undefined || storageClass === undefined) return 0;
  if (entry.refusal.classUid !== (storageClass.metadata?.uid ?? '')) return 0;
  return Math.max(entry.refusal.untilMs - clock.monotonicMs(), 0);
}

export function rememberedDeletion(entry: Observed['memory'] | undefined): Deletion | undefined {
  return entry === undefined || entry.kind === 'none' || entry.kind === 'settled' ? undefined : entry.deletion;
}

/** Planned once for each purpose, so that everything read in the run belongs to the request that is sent. */
function planning(factsOf: (storageClass: StorageClass) => Omit<PlanFacts, 'purpose'>): Observed['plan'] {
  const plans = new Map<string, ReturnType<typeof toPlan>>();
  return (storageClass, purpose, snapshot) => {
    const key = snapshot === undefined ? purpose : `${purpose} within ${JSON.stringify(toTerms(snapshot.places))}`;
    const known = plans.get(key);
    if (known !== undefined) return known;
    const plan = toPlan({ ...factsOf(storageClass), purpose, snapshot });
    plans.set(key, plan);
    return plan;
  };
}

/** Undefined if topology is not supported. */
function clusterOf(
  { supportsTopology, ownTopology }: ClaimContext,
  { nodes, csiNodes }: Caches<ClaimLoop>,
): ClusterTopology | undefined {
  if (!supportsTopology) return undefined;
  if (ownTopology !== undefined) return ownTopology;
  return {
    csiNode: (name) => csiNodes.get(toObjectKey(undefined, name)),
    csiNodes: () => csiNodes.list(),
    node: (name) => nodes.get(toObjectKey(undefined, name)),
  };
}

function nameOf(uid: ClaimUid, settings: ProvisionerSettings): string {
  const name = volumeNameFor(uid, settings);
  return name.kind === 'ok' ? name.value : '';
}

function volumeOf(
  volumes: Lister<PersistentVolume>,
  { claim, presence, volumeName }: Pick<Observed, 'claim' | 'presence' | 'volumeName'>,
): Observed['volume'] {
  const uid = uidOf(claim);
  const own = volumes.get(toObjectKey(undefined, volumeName));
  // A PersistentVolume that was created before the name flags changed still belongs to this claim.
  const usual = volumes.get(toObjectKey(undefined, `pvc-${uid}`));
  for (const volume of [own, usual]) {
    if (volume !== undefined && isRecordOf(volume, uid)) return ownRecord(volume, { claim, presence });
  }
  return own === undefined ? { kind: 'none' } : takenBy(own);
}

export function ownRecord(
  record: PersistentVolume,
  { claim, presence }: Pick<Observed, 'claim' | 'presence'>,
): Observed['volume'] {
  return presence === 'live' && isLosing(record, claim) ? { kind: 'losing', record } : { kind: 'own' };
}

export function takenBy({ metadata, spec }: PersistentVolume): Extract<Observed['volume'], { kind: 'taken' }> {
  const { namespace = '', name = '' } = spec?.claimRef ?? {};
  return { kind: 'taken', name: metadata?.name ?? '', owner: `${namespace}/${name}` };
}
