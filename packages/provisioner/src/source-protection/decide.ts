// SPDX-License-Identifier: Apache-2.0
/** The table of both source loops. Pure; first match wins. */
import {
  done,
  finalizersWithout,
  isConflict,
  isForbidden,
  type KubeObject,
  postpone,
  requeueAfter,
  retry,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import * as messages from './messages.ts';
import type { Need } from './need.ts';
import { finalizerOf } from './source-kinds.ts';
import type { Action, Conclusion, Failed, Row, SourceState } from './state.ts';

export function decide(s: SourceState): Action {
  if (s.release !== 'untried') return afterRelease(s, s.release);
  if (s.holders > 0 || s.need.kind === 'always') return needed('N1', s, s.need);
  const { live, source } = s;
  if (live === 'unread') {
    if (s.owner === 'other') return finish('N13');
    const isSpared = s.need.kind === 'unlessDeleted' && s.cached !== undefined && !isDeleted(s.cached);
    return isSpared ? finish('N5') : { row: 'N2', kind: 'readSource' };
  }
  if (live === 'gone') return finish('N3');
  if ('failure' in live) return failed(live);
  if (finalizersWithout(live.object, finalizerOf(source)) === undefined) return finish('N3');
  // As upstream: a source claim keeps the finalizer until it is deleted.
  if (source.kind === 'claim' && !isDeleted(live.object)) return finish('N4');
  if (s.need.kind === 'unlessDeleted' && !isDeleted(live.object)) return finish('N5');
  return towardsRelease(s, live.object);
}

function towardsRelease(s: SourceState, object: KubeObject): Action {
  const isSnapshot = s.source.kind === 'snapshot';
  const isOurSnapshot = isSnapshot && s.origin === 'ours';
  // Memory knows every claim that could be using it, and a claim that is not cached yet protects it before its call.
  if (isOurSnapshot && s.instances === 'one') return { row: 'N9', kind: 'release', object };
  const contentName = isSnapshot && !isOurSnapshot ? contentNameOf(object) : '';
  if (contentName !== '') {
    if (s.owner === 'unread') return { row: 'N6', kind: 'readOwner', contentName };
    if (s.owner === 'other') return finish('N6');
    if (typeof s.owner === 'object') return failed(s.owner);
  }
  const { proof } = s;
  if (proof === 'unread') return { row: 'N7', kind: 'listClaims' };
  if ('failure' in proof) return failed(proof);
  if (proof.kind === 'always') return needed('N8', s, proof);
  if (proof.kind === 'unlessDeleted' && !isDeleted(object)) return finish('N5');
  return { row: 'N9', kind: 'release', object };
}

/** Kubernetes' own controllers write a source that is being deleted at the same time as we do. */
const repeatsSoon = 3;
const soonMs = 50;

function afterRelease(s: SourceState, release: Exclude<SourceState['release'], 'untried'>): Conclusion {
  if (release === 'done') return finish('N9');
  if (release === 'held') return needed('N1', s, s.need);
  const { failure } = release;
  // Another writer was faster: the decision is made again on what it wrote.
  if (isConflict(failure)) {
    const outcome = s.conflicts < repeatsSoon ? requeueAfter(soonMs) : postpone(failure.message);
    return { row: 'N10', kind: 'conclude', outcome };
  }
  return failed(release);
}

/** A snapshot is looked at again when its last claim lets go. For a claim upstream requeues as well. */
function needed(row: 'N1' | 'N8', { source }: SourceState, need: Need): Conclusion {
  const isWoken = row === 'N1' && source.kind === 'snapshot';
  return { row, kind: 'conclude', outcome: isWoken ? done : postpone(messages.inUse(source, need)) };
}

function failed({ failure }: Failed): Conclusion {
  // Without the permission another attempt fails as well; the next sweep or claim tries it.
  if (isForbidden(failure)) return { row: 'N11', kind: 'conclude', outcome: done, refused: failure };
  return { row: 'N12', kind: 'conclude', outcome: retry(failure) };
}

function finish(row: Row): Conclusion {
  return { row, kind: 'conclude', outcome: done };
}

function isDeleted({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

function contentNameOf(object: KubeObject): string {
  return (object as VolumeSnapshot).status?.boundVolumeSnapshotContentName ?? '';
}
