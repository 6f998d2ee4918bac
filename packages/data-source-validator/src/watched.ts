// SPDX-License-Identifier: Apache-2.0
/**
 * What the controller watches, and how little of it is kept.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | PersistentVolumeClaim | all | identity; of those with a source also group and kind of the source, phase, mark of deletion |
 * | VolumePopulator | all | the kind that it registers |
 *
 * With `claims: 'whole'` the claims are kept whole, which shares the cache of a controller that keeps them so.
 */
import {
  definedOnly,
  identityOf,
  type InformerOptions,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import { kindKey, sourceOf, type VolumePopulator, volumePopulators } from './populator.ts';
import type { DataSourceValidatorSettings } from './settings.ts';

export interface Watched {
  /** Index `source`: the kind that a claim names. */
  readonly claims: InformerOptions<PersistentVolumeClaim>;
  /** Index `registered`: the kind that it registers. */
  readonly populators: InformerOptions<VolumePopulator>;
}

export function watchedBy({ claims }: Pick<DataSourceValidatorSettings, 'claims'>): Watched {
  return { claims: watchedClaims(claims), populators: watchedPopulators };
}

function watchedClaims(kept: DataSourceValidatorSettings['claims']): Watched['claims'] {
  return {
    resource: persistentVolumeClaims,
    indexers: {
      source: (claim) => {
        const source = sourceOf(claim);
        return source === undefined ? [] : [kindKey(source)];
      },
    },
    ...(kept === 'trimmed' ? { transform: { id: 'data sources of claims', apply: trimClaim } } : {}),
  };
}

const watchedPopulators: Watched['populators'] = {
  resource: volumePopulators,
  indexers: { registered: ({ sourceKind }) => (sourceKind === undefined ? [] : [kindKey(sourceKind)]) },
  transform: { id: 'kinds of populators', apply: trimPopulator },
};

function trimClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { metadata, status } = claim;
  const source = sourceOf(claim);
  if (source === undefined) return { metadata: identityOf(metadata) };
  return {
    metadata: { ...identityOf(metadata), ...definedOnly({ deletionTimestamp: metadata?.deletionTimestamp }) },
    // Its name is not needed.
    spec: { dataSourceRef: { apiGroup: source.group, kind: source.kind, name: '' } },
    status: definedOnly({ phase: status?.phase }),
  };
}

/** The schema may have been bypassed, so nothing is assumed of it. */
function trimPopulator({ metadata, sourceKind }: VolumePopulator): VolumePopulator {
  const { group, kind } = (sourceKind ?? {}) as { readonly group?: unknown; readonly kind?: unknown };
  const isWhole = typeof group === 'string' && typeof kind === 'string';
  return { metadata: identityOf(metadata), ...(isWhole ? { sourceKind: { group, kind } } : {}) };
}
