// SPDX-License-Identifier: Apache-2.0
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of what is alive. Collects the garbage first. */
export function usedHeap(): number {
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  return getHeapStatistics().used_heap_size;
}
