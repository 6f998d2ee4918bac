// SPDX-License-Identifier: Apache-2.0
/** What a claim names as its source: the label `result` of the counter. Comparison is exact; the version, the name and the namespace do not count. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { SourceKind } from './populator.ts';

export type Verdict = 'empty' | 'pvc' | 'snapshot' | 'populator' | 'invalid';

/** The first that fits. Clones and snapshots come before the registry: no populator is needed for them, and none can forbid them. */
export function verdictOf(source: SourceKind | undefined, isRegistered: (source: SourceKind) => boolean): Verdict {
  if (source === undefined) return 'empty';
  const { group, kind } = source;
  if (group === '' && kind === persistentVolumeClaims.kind) return 'pvc';
  if (group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot') return 'snapshot';
  return isRegistered(source) ? 'populator' : 'invalid';
}
