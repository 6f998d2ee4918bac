// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, Lister } from '@csi-sidecars/runtime';

/** A cache of these objects without namespace and without indexes; the list may change while in use. */
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
