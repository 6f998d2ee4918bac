// SPDX-License-Identifier: Apache-2.0
/**
 * The claim loop's reading of a claim's source. dataSource takes precedence over dataSourceRef, and an empty namespace counts as none.
 * A source in another namespace needs a grant there, whatever its kind. Any kind but a snapshot and a claim is left to a populator.
 */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { Reference } from './grants.ts';
import { snapshotGroup, type SourceRef } from './source.ts';

export type DataSource =
  | { readonly kind: 'none' }
  | { readonly kind: 'populator' }
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'source';
      readonly ref: SourceRef;
      /** Whether a volume without `content_source` in the answer is not taken for a copy of the source. */
      readonly isConfirmed: boolean;
    };

export interface DataSourceContext {
  readonly features: { readonly crossNamespaceVolumeDataSource: boolean };
  readonly isGranted: (reference: Reference) => boolean;
}

export function toDataSource(
  { metadata, spec }: PersistentVolumeClaim,
  { features, isGranted }: DataSourceContext,
): DataSource {
  const { dataSource, dataSourceRef } = spec ?? {};
  const source = dataSource ?? dataSourceRef;
  if (source === undefined) return { kind: 'none' };
  const { kind, name } = source;
  const group = source.apiGroup ?? '';
  const own = metadata?.namespace ?? '';
  const named = dataSource === undefined ? (dataSourceRef?.namespace ?? '') : '';
  const namespace = named === '' ? own : named;
  if (named !== '' && !features.crossNamespaceVolumeDataSource) {
    return refuse('dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled');
  }
  if (namespace !== own && !isGranted({ fromNamespace: own, group, kind, namespace, name })) {
    return refuse(
      `accessing ${namespace}/${name} of ${kind} dataSource from ${own}/${metadata?.name ?? ''} isn't allowed`,
    );
  }
  if (name === '') return refuse(`the PVC source not found for PVC ${metadata?.name ?? ''}`);
  const isConfirmed = dataSource !== undefined || named !== '';
  switch (kind) {
    case 'VolumeSnapshot':
      return group === snapshotGroup
        ? { kind: 'source', ref: { kind: 'snapshot', namespace, name }, isConfirmed }
        : refuse(`the PVC source does not belong to the right APIGroup. Expected ${snapshotGroup}, Got ${group}`);
    case 'PersistentVolumeClaim':
      return { kind: 'source', ref: { kind: 'claim', namespace, name }, isConfirmed };
    default:
      return { kind: 'populator' };
  }
}

function refuse(message: string): DataSource {
  return { kind: 'refused', message };
}
