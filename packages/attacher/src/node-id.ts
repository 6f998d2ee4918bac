// SPDX-License-Identifier: Apache-2.0
/**
 * The node id under which the driver knows a node. The CSINode has it as long as the driver is registered there. The VolumeAttachment
 * keeps a copy, so that a volume can be detached from a node that is gone. The Node object is never read.
 */
import { type CSINode, type Lister, toObjectKey, type VolumeAttachment } from '@csi-sidecars/runtime';
import { driverOn, ok, refuse, type Result } from '@csi-sidecars/volume';
import { annotations } from './names.ts';

export interface NodeIdDeps {
  readonly csiNodes: Lister<CSINode>;
  readonly driverName: string;
}

/** The node id for an attach: nothing may be published to a node where the driver is not registered. */
export function registeredNodeId({ csiNodes, driverName }: NodeIdDeps, { spec }: VolumeAttachment): Result<string> {
  const csiNode = csiNodes.get(toObjectKey(undefined, spec.nodeName));
  if (csiNode === undefined) return refuse(`csinode.storage.k8s.io "${spec.nodeName}" not found`);
  const driver = driverOn(csiNode, driverName);
  return driver === undefined
    ? refuse(`CSINode ${spec.nodeName} does not contain driver ${driverName}`)
    : ok(driver.nodeID);
}

/** The node id for a detach, and for the comparison with the driver. */
export function knownNodeId(deps: NodeIdDeps, attachment: VolumeAttachment): Result<string> {
  const registered = registeredNodeId(deps, attachment);
  const annotated = attachment.metadata?.annotations?.[annotations.nodeId];
  return registered.kind === 'error' && annotated !== undefined ? ok(annotated) : registered;
}
