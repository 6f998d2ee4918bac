// SPDX-License-Identifier: Apache-2.0
/** The nodes to which a driver has volumes published, and the VolumeAttachments: O13 to O15 of docs/behaviour/audit.md. Pure. */
import type { DriverList, Earlier, ListedVolume, RecordedAttachment, Rules } from './facts.ts';
import { type Finding, keyOf, seen } from './finding.ts';

export interface AttachmentsState {
  readonly list: DriverList<Pick<ListedVolume, 'publishedNodeIds'>>;
  /** Whether the cluster has this volume: volumes of others are attached to nodes of others. */
  readonly isRecorded: (handle: string) => boolean;
  readonly attachments: readonly RecordedAttachment[];
  /** Ids of the nodes on which the driver is registered. */
  readonly nodeIds: ReadonlySet<string>;
  /** Attachments that existed within the grace and are gone, as `pairOf` names them. */
  readonly recentlyAttached: ReadonlySet<string>;
  readonly rules: Pick<Rules, 'graceMs'>;
  readonly earlier: Earlier;
}

export function pairOf(handle: string, nodeId: string): string {
  return `${handle}\n${nodeId}`;
}

export function compareAttachments(state: AttachmentsState): readonly Finding[] {
  const { list, attachments, isRecorded } = state;
  const pairs = new Set(
    attachments.flatMap(({ handle, nodeId }) => (nodeId === undefined ? [] : pairOf(handle, nodeId))),
  );
  const findings: Finding[] = [];
  for (const [handle, { publishedNodeIds = [] }] of list.entries) {
    if (list.contradicted.has(handle) || !isRecorded(handle)) continue;
    for (const nodeId of publishedNodeIds) {
      const found = publishedOf(state, { pairs, handle, nodeId });
      if (found !== undefined) findings.push(found);
    }
  }
  for (const attachment of attachments) {
    const found = attachedOf(state, attachment);
    if (found !== undefined) findings.push(found);
  }
  return findings;
}

interface Published {
  /** Those of the VolumeAttachments. */
  readonly pairs: ReadonlySet<string>;
  readonly handle: string;
  readonly nodeId: string;
}

/** The driver has the volume published to the node. */
function publishedOf(
  { list, nodeIds, recentlyAttached, earlier }: AttachmentsState,
  { pairs, handle, nodeId }: Published,
): Finding | undefined {
  const about = { handle, node: nodeId, sinceMs: list.startedMs };
  if (!nodeIds.has(nodeId)) {
    const key = keyOf('attachedToGoneNode', handle, nodeId);
    const sentence = `the driver has it attached to ${nodeId}, which no CSINode names`;
    return { ...about, row: 'O15', ...seen('attachedToGoneNode', earlier.has(key)), key, sentence };
  }
  if (pairs.has(pairOf(handle, nodeId))) return undefined;
  const sentence = `the driver has it attached to ${nodeId}, and no VolumeAttachment says so`;
  if (recentlyAttached.has(pairOf(handle, nodeId))) {
    return { ...about, row: 'O13', class: 'young', level: 'mayBeWork', confirmed: false, sentence };
  }
  const key = keyOf('attachedUnrecorded', handle, nodeId);
  return { ...about, row: 'O13', ...seen('attachedUnrecorded', earlier.has(key)), key, sentence };
}

/** A volume that is not listed at all is a finding of its own. */
function attachedOf(
  { list, rules, earlier }: AttachmentsState,
  { name, handle, nodeName, nodeId, isAttached, createdMs }: RecordedAttachment,
): Finding | undefined {
  const published = list.entries.get(handle)?.publishedNodeIds;
  if (!isAttached || nodeId === undefined || published === undefined || list.contradicted.has(handle)) return undefined;
  if (published.includes(nodeId)) return undefined;
  const object = { kind: 'VolumeAttachment', name } as const;
  const about = { handle, node: nodeName, object, sinceMs: createdMs };
  const sentence = `a VolumeAttachment says that it is attached to ${nodeName}, and the driver does not; csi-attacher attaches it again`;
  if (createdMs > list.startedMs - rules.graceMs) {
    return { ...about, row: 'O14', class: 'young', level: 'mayBeWork', confirmed: false, sentence };
  }
  const key = keyOf('attachedMissing', handle, nodeId);
  return { ...about, row: 'O14', ...seen('attachedMissing', earlier.has(key)), key, sentence };
}
