// SPDX-License-Identifier: Apache-2.0
/** The node whose csi-snapshotter can reach volumes. Pure. */
import type { Node, PersistentVolume } from '@csi-sidecars/runtime';
import { selectsNode } from '@csi-sidecars/volume';

type Terms = Parameters<typeof selectsNode>[0];

const termsOf = (volume: PersistentVolume): Terms => volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];

/**
 * The first by name of the nodes that can reach all of the volumes, so that each replica chooses the same. A volume without an affinity can
 * be reached from each node. Empty: no volume has an affinity, or no node reaches them all.
 */
export function managingNode(volumes: readonly PersistentVolume[], nodes: readonly Node[]): string {
  const affinities = volumes.map(termsOf).filter((terms) => terms.length > 0);
  if (affinities.length === 0) return '';
  const matching = nodes.filter(({ metadata }) =>
    affinities.every((terms) => selectsNode(terms, { name: metadata?.name, labels: metadata?.labels })),
  );
  return matching.map(({ metadata }) => metadata?.name ?? '').toSorted()[0] ?? '';
}

/** Some volume can be reached from some nodes only. */
export function hasAffinity(volumes: readonly PersistentVolume[]): boolean {
  return volumes.some((volume) => termsOf(volume).length > 0);
}
