// SPDX-License-Identifier: Apache-2.0
/**
 * The object that a claim takes its data from: a VolumeSnapshot or another claim. This room is about such objects: which one a claim names,
 * whether it may be used, how it is read and protected, and in `protection/` when it loses our finalizer. Not here: the call that copies it (`claim/`).
 */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';

export interface SourceRef {
  readonly kind: 'snapshot' | 'claim';
  readonly namespace: string;
  readonly name: string;
}

declare const key: unique symbol;
/** `snapshot/team/daily`. Minted by `sourceKey` only. */
export type SourceKey = string & { readonly [key]: true };

export function sourceKey({ kind, namespace, name }: SourceRef): SourceKey {
  return `${kind}/${namespace}/${name}` as SourceKey;
}

/** The group of VolumeSnapshot. */
export const snapshotGroup: string = volumeSnapshots.group;

/**
 * The source that a claim names, whichever driver provisions it. More generous than the claim loop, because a source is kept for it: a
 * missing group counts as the snapshot's, and a reference into another namespace counts with the gate off as well.
 */
export function referencedBy({ metadata, spec }: PersistentVolumeClaim): SourceRef | undefined {
  const claimNamespace = metadata?.namespace ?? '';
  const { dataSource, dataSourceRef } = spec ?? {};
  const named = dataSource && toSource(dataSource, claimNamespace);
  if (named !== undefined) return named;
  return dataSourceRef && toSource(dataSourceRef, dataSourceRef.namespace || claimNamespace);
}

interface Reference {
  readonly kind: string;
  readonly name: string;
  readonly apiGroup?: string;
}

function toSource({ kind, name, apiGroup }: Reference, namespace: string): SourceRef | undefined {
  switch (kind) {
    case 'VolumeSnapshot':
      // The API server writes a missing group as null.
      return (apiGroup ?? snapshotGroup) === snapshotGroup ? { kind: 'snapshot', namespace, name } : undefined;
    case 'PersistentVolumeClaim':
      return { kind: 'claim', namespace, name };
    default:
      return undefined;
  }
}
