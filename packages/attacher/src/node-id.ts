// SPDX-License-Identifier: Apache-2.0
/**
 * What a node is to the driver. The CSINode knows, as long as the driver runs there; what the VolumeAttachment remembers of its
 * attachment will do where something has to be taken off a node that is gone. The Node object is never asked.
 */
import { type CSINode, type Lister, toObjectKey, type VolumeAttachment } from '@csi-sidecars/runtime';
import { driverOn, ok, refuse, type Result } from '@csi-sidecars/volume';
import { annotations } from './names.ts';

export interface NodeIdDeps {
  readonly csiNodes: Lister<CSINode>;
  readonly driverName: string;
}

/** To attach: nothing may be published to a node where the driver does not run. */
export function registeredNodeId({ csiNodes, driverName }: NodeIdDeps, { spec }: VolumeAttachment): Result<string> {
  const csiNode = csiNodes.get(toObjectKey(undefined, spec.nodeName));
  if (csiNode === undefined) return refuse(`csinode.storage.k8s.io "${spec.nodeName}" not found`);
  const driver = driverOn(csiNode, driverName);
  return driver === undefined
    ? refuse(`CSINode ${spec.nodeName} does not contain driver ${driverName}`)
    : ok(driver.nodeID);
}

/** To detach, and to compare. */
export function knownNodeId(deps: NodeIdDeps, attachment: VolumeAttachment): Result<string> {
  const registered = registeredNodeId(deps, attachment);
  const remembered = attachment.metadata?.annotations?.[annotations.nodeId];
  return registered.kind === 'error' && remembered !== undefined ? ok(remembered) : registered;
}
