// SPDX-License-Identifier: Apache-2.0
/** What differs between a snapshot and a claim as a source: the resource and our finalizer. */
import { type ObjectKey, persistentVolumeClaims, type Resource } from '@csi-sidecars/runtime';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { cloningProtection, snapshotSourceProtection } from '../../names.ts';
import type { SourceKey, SourceRef } from '../source.ts';

export type SourceKind = SourceRef['kind'];

export function finalizerOf({ kind }: Pick<SourceRef, 'kind'>): string {
  return kind === 'snapshot' ? snapshotSourceProtection : cloningProtection;
}

export function resourceOf({ kind }: Pick<SourceRef, 'kind'>): Resource {
  return kind === 'snapshot' ? volumeSnapshots : persistentVolumeClaims;
}

/** Undefined if no object can have this key: claims may name anything as their source. */
export function toSourceRef(kind: SourceKind, key: ObjectKey): SourceRef | undefined {
  const [namespace = '', name, ...more] = key.split('/');
  return name === undefined || more.length > 0 ? undefined : { kind, namespace, name };
}

/** Undefined if it is a source of the other kind. */
export function objectKeyOf(key: SourceKey, kind: SourceKind): ObjectKey | undefined {
  const prefix = `${kind}/`;
  return key.startsWith(prefix) ? (key.slice(prefix.length) as ObjectKey) : undefined;
}
