// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, Lister } from '@csi-sidecars/runtime';

/** A lister of these cluster-scoped objects, without indexes. Tests may change the list while it is in use. */
export function listerOf<T extends KubeObject>(objects: readonly T[]): Lister<T> {
  return {
    get: (key) => objects.find(({ metadata }) => metadata?.name === key),
    list: () => [...objects],
    byIndex: (index) => {
      throw new Error(`Index with name ${index} does not exist`);
    },
    get size() {
      return objects.length;
    },
    resourceVersion: '1',
  };
}
