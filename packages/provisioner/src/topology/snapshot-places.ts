// SPDX-License-Identifier: Apache-2.0
/**
 * Where a volume that is made from a snapshot may be (alpha, the gate VolumeSnapshotTopology): the places of the snapshot, within those that the
 * class allows. Pure. The result takes the part of the allowed topologies of the class, so that everything else stays as without a snapshot.
 */
import type { StorageClass } from '@csi-sidecars/runtime';
import {
  intersectPlaces,
  isOutside,
  ok,
  type Place,
  readPlaces,
  refuse,
  type Result,
  toTerms,
} from '@csi-sidecars/volume';
import type { ClusterTopology } from './requirement.ts';
import { registeredKeys } from './node-terms.ts';
import type { AllowedTopologies } from './terms.ts';
import * as messages from '../claim/messages.ts';

export interface SnapshotPlaces {
  /** The name of the snapshot, for messages. */
  readonly name: string;
  readonly places: readonly Place[];
}

export interface AllowedFacts {
  readonly storageClass: Pick<StorageClass, 'metadata' | 'allowedTopologies'>;
  readonly driverName: string;
  readonly cluster: Pick<ClusterTopology, 'csiNodes'>;
}

/** For immediate binding. What no node can have is left out: the driver could only refuse it. */
export function allowedAt(
  { name, places }: SnapshotPlaces,
  { storageClass, driverName, cluster }: AllowedFacts,
): Result<AllowedTopologies> {
  const names = { snapshot: name, className: storageClass.metadata?.name ?? '' };
  const ofClass = readPlaces(storageClass.allowedTopologies);
  if (ofClass.kind === 'error') return refuse(messages.incomparableTopologies(names, ofClass.message));
  const common = ofClass.value === undefined ? ok(places) : intersectPlaces(places, ofClass.value);
  if (common.kind === 'error') return refuse(messages.incomparableTopologies(names, common.message));
  if (common.value.length === 0) return refuse(messages.disjointTopologies(names));
  const keySets = new Set(cluster.csiNodes().map((csiNode) => registeredKeys(csiNode, driverName)));
  const possible = common.value.filter((place) =>
    [...keySets].some((registered) => [...place.keys()].every((key) => registered.includes(key))),
  );
  if (possible.length > 0) return ok(toTerms(possible).map(withExpressions));
  return refuse(messages.unregisteredKeys({ snapshot: name, driverName }, missingKeys(common.value, [...keySets])));
}

function withExpressions({
  matchLabelExpressions = [],
}: ReturnType<typeof toTerms>[number]): AllowedTopologies[number] {
  return { matchLabelExpressions };
}

/** Those that no node has; if each is somewhere, all of them: no node has them together. */
function missingKeys(places: readonly Place[], keySets: readonly (readonly string[])[]): readonly string[] {
  const keys = [...new Set(places.flatMap((place) => [...place.keys()]))].sort();
  const missing = keys.filter((key) => !keySets.some((registered) => registered.includes(key)));
  return missing.length > 0 ? missing : keys;
}

/** For a selected node: why it certainly cannot have the volume; undefined: it may. */
export function whyOutside(
  { name, places }: SnapshotPlaces,
  selectedNode: string,
  { node }: Pick<ClusterTopology, 'node'>,
): string | undefined {
  const labels = node(selectedNode)?.metadata?.labels ?? {};
  return isOutside(places, labels) ? messages.nodeOutside(selectedNode, name) : undefined;
}
