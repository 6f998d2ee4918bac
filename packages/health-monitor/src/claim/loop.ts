// SPDX-License-Identifier: Apache-2.0
/** The claim loop: shows in a claim what the driver reports of its volume. The key is the name of the PersistentVolume. */
import {
  type Cache,
  type Caches,
  defineLoop,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  type PersistentVolumeClaim,
  toObjectKey,
  type WakeSource,
} from '@csi-sidecars/runtime';
import type { HealthMemory } from '../memory.ts';
import { queueNames } from '../names.ts';
import { changeOf } from '../report/change.ts';
import { hasHealth, healthOf } from '../report/health-status.ts';
import type { HealthMonitorSettings } from '../settings.ts';
import { type ClaimRef, claimKeyOf, claimRefOf, isMonitored, type Watched, type WatchedKinds } from '../watched.ts';
import { type HealthConclusion, type Observed, showHealth } from './flow.ts';
import type { ClaimContext } from './steps.ts';

interface ClaimLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: WatchedKinds;
  readonly observed: Observed;
  readonly conclusion: HealthConclusion;
  readonly context: ClaimContext;
}

export function claimLoop(
  context: ClaimContext & { readonly settings: HealthMonitorSettings; readonly source: WakeSource<ObjectKey> },
  watched: Watched,
): Loop {
  const { memory, settings, source } = context;
  return defineLoop<ClaimLoop>({
    name: queueNames.claims,
    settings,
    watches: { ...watched },
    primary: {
      watch: 'volumes',
      keyOf,
      forget: (key, volume) => {
        const claim = claimRefOf(volume);
        if (claim === undefined) memory.forget(key);
        else memory.end(key, claim);
      },
    },
    handlers: {
      volumes: ({ current, previous }) => {
        if (current === undefined) return previous && keyOf(previous);
        return memory.of(keyOf(current)) !== undefined && !isMonitored(current) ? keyOf(current) : undefined;
      },
      claims: ({ current, previous }) => {
        const name = current === undefined ? previous?.spec?.volumeName : undefined;
        const key = name === undefined ? undefined : toObjectKey(undefined, name);
        return key !== undefined && memory.of(key) !== undefined ? key : undefined;
      },
    },
    sources: [source],
    observe: (caches, key) => observe(memory, caches, key),
    context,
    flow: showHealth,
    onConclude: ({ key, observed, conclusion }) => {
      if (observed.kind !== 'claimMissing' && observed.kind !== 'mismatch') memory.noteFound(key);
      if (conclusion.memory === 'forget') memory.forget(key);
      if (conclusion.memory === 'settle' && observed.kind === 'reported') memory.settled(key, observed.known);
    },
    lanes: {
      preferred: 'severe',
      other: 'degraded',
      classify: (_caches, key) => ({ lane: isSevere(memory, key) ? 'severe' : 'degraded', group: '' }),
    },
  });
}

/** A volume that cannot be used is shown before one that is slow, however many of those wait. */
function isSevere(memory: HealthMemory, key: ObjectKey): boolean {
  return memory.of(key)?.conditions.some(({ status }) => status !== 'Degraded') === true;
}

function observe(memory: HealthMemory, { volumes, claims }: Caches<ClaimLoop>, key: ObjectKey): Observed {
  const volume = volumes.get(key);
  if (volume === undefined) {
    const ended = memory.endedClaim(key);
    return ended === undefined ? { kind: 'unreported' } : { kind: 'ended', claim: claimOfEnded(claims, key, ended) };
  }
  const known = memory.of(key);
  if (known === undefined) return { kind: 'unreported' };
  const ref = claimRefOf(volume);
  if (ref === undefined || !isMonitored(volume)) return { kind: 'unmonitored' };
  const claim = claims.get(claimKeyOf(ref)) ?? memory.readClaim(key);
  if (claim === undefined) return { kind: 'claimMissing', ref };
  const reason = mismatchOf(claim, { ref, key });
  if (reason !== undefined) return { kind: 'mismatch', reason };
  const change = changeOf(healthOf(claim), known.conditions);
  return { kind: 'reported', claim, known, change, hold: change && memory.holdOf(key, change) };
}

/** Undefined if there is nothing to remove from it. */
function claimOfEnded(
  claims: Pick<Cache<PersistentVolumeClaim>, 'get'>,
  key: ObjectKey,
  ref: ClaimRef,
): PersistentVolumeClaim | undefined {
  const claim = claims.get(claimKeyOf(ref));
  if (claim === undefined || mismatchOf(claim, { ref, key }) !== undefined) return undefined;
  return hasHealth(claim) ? claim : undefined;
}

/** Why the claim of that name is not the one that the volume is bound to. */
export function mismatchOf(
  { metadata, spec }: PersistentVolumeClaim,
  { ref, key }: { readonly ref: ClaimRef; readonly key: ObjectKey },
): string | undefined {
  if (metadata?.uid !== ref.uid) return 'the claim of that name is another one than the volume is bound to';
  if (spec?.volumeName !== key) return 'the claim names another volume';
  return undefined;
}
