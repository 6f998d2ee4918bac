// SPDX-License-Identifier: Apache-2.0
/** The caches of a loop as they are filled from these objects, with the indexes and the trimming of `watched.ts`. */
import { type InformerOptions, type KubeObject, toObjectKey } from '@csi-sidecars/runtime';
import type { SnapshotControllerSettings } from '../src/settings.ts';
import { type Watched, watchedBy } from '../src/watched.ts';

type Options = InformerOptions<KubeObject>;

function cacheOf(options: Options | undefined, objects: readonly KubeObject[]): object {
  const { resource, transform, indexers = {} } = options ?? {};
  const kept = objects
    .filter(({ kind }) => kind === resource?.kind)
    .map((object) => transform?.apply(object) ?? object);
  return {
    get: (key: string) => kept.find(({ metadata }) => toObjectKey(metadata?.namespace, metadata?.name ?? '') === key),
    list: () => kept,
    byIndex: (index: string, value: string) =>
      kept.filter((object) => indexers[index]?.(object).includes(value) ?? false),
  };
}

/** Cache by the name that `Watched` gives it. */
export function cachesOf(
  settings: SnapshotControllerSettings,
  objects: readonly KubeObject[],
): Readonly<Record<keyof Watched, object>> {
  const watched = Object.entries(watchedBy(settings)) as [keyof Watched, Options | undefined][];
  return Object.fromEntries(watched.map(([name, options]) => [name, cacheOf(options, objects)])) as Record<
    keyof Watched,
    object
  >;
}
