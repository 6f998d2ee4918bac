// SPDX-License-Identifier: Apache-2.0
/** VolumePopulator: the registration of a kind of objects from which volumes can be filled. */
import type { KubeObject, PersistentVolumeClaim, Resource } from '@csi-sidecars/runtime';

export interface VolumePopulator extends KubeObject {
  /** Undefined: the object breaks its schema, and registers nothing. */
  readonly sourceKind?: SourceKind;
}

/** Both may be empty. */
export interface SourceKind {
  readonly group: string;
  readonly kind: string;
}

export const volumePopulators: Resource<VolumePopulator> = {
  group: 'populator.storage.k8s.io',
  version: 'v1beta1',
  plural: 'volumepopulators',
  kind: 'VolumePopulator',
  namespaced: false,
};

/** The kind from which a claim is to be filled; undefined: it is to be empty. The core group may be absent or empty. */
export function sourceOf({ spec }: PersistentVolumeClaim): SourceKind | undefined {
  const { dataSourceRef } = spec ?? {};
  return dataSourceRef === undefined || dataSourceRef === null
    ? undefined
    : { group: dataSourceRef.apiGroup ?? '', kind: dataSourceRef.kind };
}

/** A value of the indexes `source` and `registered`. Equal for equal kinds only, whatever their names contain. */
export function kindKey({ group, kind }: SourceKind): string {
  return JSON.stringify([group, kind]);
}

const longestShown = 256;

/** `Kind.group`. The API server limits neither, so it is cut. */
export function shownKind({ group, kind }: SourceKind): string {
  return (group === '' ? kind : `${kind}.${group}`).slice(0, longestShown);
}
