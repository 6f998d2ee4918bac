// SPDX-License-Identifier: Apache-2.0
/**
 * A source of volumes: our finalizer is taken off it when no claim needs it any more. One flow for VolumeSnapshots, and for claims that are
 * being deleted while clones of them are made. Rows N1 to N13 of the page on sources. Pure; what each step does is in `steps.ts`.
 *
 * A removal is decided on the caches and on memory, then proved by live reads of the source and of the claims, then written for exactly
 * the state that was read, while no claim of this process begins to use the source.
 *
 * Not here: putting the finalizers on (`source-reads.ts`), which claims hold a source (`references.ts`).
 */
import {
  type Conclusion as AnyConclusion,
  done,
  finalizersWithout,
  type Flow,
  isConflict,
  isForbidden,
  type KubeObject,
  orEnd,
  type Outcome,
  perform,
  postpone,
  requeueAfter,
  retry,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import type { SourceRef } from '../source.ts';
import * as messages from './messages.ts';
import type { Need } from './need.ts';
import { finalizerOf } from './source-kinds.ts';
import * as step from './steps.ts';

export interface Conclusion extends AnyConclusion {
  /** Why the finalizer stays although a removal was tried. */
  readonly refused?: Error;
}

export function* letGo(seen: step.Observed): Flow<Conclusion> {
  const { source } = seen;
  if (isInUse(seen)) return needed('N1', source, seen.need);
  if (seen.isForeign) return conclude('N13', done);
  if (seen.cached !== undefined && isSpared(seen.need, seen.cached)) return conclude('N5', done);
  const object = yield* orEnd(perform('N2', step.readSource, source), failed);
  if (object === undefined || finalizersWithout(object, finalizerOf(source)) === undefined) return conclude('N3', done);
  // As upstream: a source claim keeps the finalizer until it is deleted.
  if (source.kind === 'claim' && !isDeleted(object)) return conclude('N4', done);
  if (isSpared(seen.need, object)) return conclude('N5', done);
  const isOurSnapshot = seen.origin === 'ours';
  const contentName = source.kind === 'snapshot' && !isOurSnapshot ? contentNameOf(object) : '';
  if (contentName !== '' && !(yield* orEnd(perform('N6', step.isOfOurDriver, contentName), failed))) {
    return conclude('N6', done);
  }
  // Memory knows every claim that could be using our snapshot, and a claim that is not cached yet protects it before its call.
  if (!isOurSnapshot || seen.instances === 'many') {
    const proof = yield* orEnd(perform('N7', step.needNow, source, seen.origin), failed);
    if (proof.kind === 'always') return needed('N8', source, proof);
    if (isSpared(proof, object)) return conclude('N5', done);
  }
  // A claim may have begun to use the source while something was read.
  const now = (yield* perform('N9', step.look)) ?? seen;
  if (isInUse(now)) return needed('N1', source, now.need);
  if (isSpared(now.need, object)) return conclude('N5', done);
  const release = yield* orEnd(perform('N9', step.release, source, object), (failure) =>
    isConflict(failure) ? overtaken(now, failure) : failed(failure),
  );
  return release === 'held' ? needed('N1', source, now.need) : conclude('N9', done);
}

function isInUse({ references, need }: step.Observed): boolean {
  return references > 0 || need.kind === 'always';
}

function isSpared(need: Need, object: KubeObject): boolean {
  return need.kind === 'unlessDeleted' && !isDeleted(object);
}

/** Kubernetes' own controllers write a source that is being deleted at the same time as we do. */
const repeatsSoon = 3;
const soonMs = 50;

/** Another writer was faster: the decision is made again on what it wrote. */
function overtaken({ conflicts }: step.Observed, failure: Error): Conclusion {
  return conclude('N10', conflicts < repeatsSoon ? requeueAfter(soonMs) : postpone(failure.message));
}

/** A snapshot is looked at again when its last claim lets go. For a claim upstream requeues as well. */
function needed(row: 'N1' | 'N8', source: SourceRef, need: Need): Conclusion {
  const isWoken = row === 'N1' && source.kind === 'snapshot';
  return conclude(row, isWoken ? done : postpone(messages.inUse(source, need)));
}

function failed(failure: Error): Conclusion {
  // Without the permission another attempt fails as well; the next sweep or claim tries it.
  return isForbidden(failure) ? { ...conclude('N11', done), refused: failure } : conclude('N12', retry(failure));
}

function conclude(row: string, outcome: Outcome): Conclusion {
  return { row, kind: 'conclude', outcome };
}

export function isDeleted({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

function contentNameOf(object: KubeObject): string {
  return (object as VolumeSnapshot).status?.boundVolumeSnapshotContentName ?? '';
}
