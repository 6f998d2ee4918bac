// SPDX-License-Identifier: Apache-2.0
import { volumePopulators } from '@csi-sidecars/data-source-validator';
import { events, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { kindOfSource } from '../../sources.ts';
import type { World } from '../../world.ts';
import { isDeleting } from './lookups.ts';

/** A claim that waits for a source of a kind that is not registered has the Warning, and no claim has it whose source was never unknown. */
export function unsettledWarnings({ sim: { server }, story, record }: World): readonly string[] {
  if (story.shape.validator === undefined) return [];
  const { objects } = server;
  const registered = new Set(objects.list(volumePopulators).map(({ sourceKind }) => sourceKind?.kind));
  const warnings = objects.list(events).filter(({ reason }) => reason === 'UnrecognizedDataSourceKind');
  return objects.list(persistentVolumeClaims).flatMap((claim) => {
    const { metadata, spec, status } = claim;
    const own = warnings.filter(({ involvedObject }) => involvedObject.uid === metadata?.uid);
    const { kind, apiGroup } = spec?.dataSourceRef ?? {};
    const source = kind === undefined ? undefined : kindOfSource(kind);
    const isFine = source === undefined || source.registered === 'always' || source.registered === 'built-in';
    if (isFine) return own.length === 0 ? [] : [`claim ${metadata?.name} has a warning about ${kind}`];
    const isWaiting = status?.phase === 'Pending' && !isDeleting(claim) && !record.silenced.has(metadata?.uid ?? '');
    if (isWaiting && !registered.has(kind) && own.length === 0) return [`claim ${metadata?.name} has no warning`];
    const shown = [kind, apiGroup].filter(Boolean).join('.');
    const isOdd = own.some(({ metadata: of, type, source: from, message }) => {
      const named = of?.annotations?.['volume-data-source-validator/source-kind'];
      const isWhole = message === 'The datasource for this PVC does not match any registered VolumePopulator';
      return type !== 'Warning' || from?.component !== 'volume-data-source-validator' || !isWhole || named !== shown;
    });
    return isOdd ? [`claim ${metadata?.name} has another warning than the page promises`] : [];
  });
}
