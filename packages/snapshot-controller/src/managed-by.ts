// SPDX-License-Identifier: Apache-2.0
/** The node whose csi-snapshotter can reach a volume. Pure. */
import type { Node, PersistentVolume } from '@csi-sidecars/runtime';
import { selectsNode } from '@csi-sidecars/volume';

/** The first of the matching nodes by name, so that each replica chooses the same. Empty: no affinity, or no node matches. */
export function managingNode(volume: PersistentVolume | undefined, nodes: readonly Node[]): string {
  const terms = volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const matching = nodes.filter(({ metadata }) =>
    selectsNode(terms, { name: metadata?.name, labels: metadata?.labels }),
  );
  return matching.map(({ metadata }) => metadata?.name ?? '').toSorted()[0] ?? '';
}
