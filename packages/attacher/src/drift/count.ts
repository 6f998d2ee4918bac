// SPDX-License-Identifier: Apache-2.0
/**
 * Counts where the driver and the VolumeAttachments differ, for metrics: O13 to O15 of docs/behaviour/audit.md. The list is the one that the
 * comparison has read; two counts with the same difference confirm it, and they are a grace apart.
 */
import type { AuditMetrics } from '@csi-sidecars/csi';
import type { CSINode, Lister, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import {
  auditGraceMs,
  compareAttachments,
  driverOn,
  type Earlier,
  keysOf,
  type RecordedAttachment,
  toCsiVolume,
} from '@csi-sidecars/volume';
import { attachmentKey, isAttached } from '../attachment.ts';
import { namesOf, type Published } from './listed.ts';

export interface CountFacts {
  readonly driverName: string;
  readonly attachments: Lister<VolumeAttachment>;
  readonly volumes: Lister<PersistentVolume>;
  readonly csiNodes: Lister<CSINode>;
  readonly published: Published;
  readonly nowMs: number;
}

export type Count = (facts: CountFacts) => void;

/** Most calls do nothing: they come sooner than a grace after the count before. */
export function createCount(metrics: Pick<AuditMetrics, 'found'>): Count {
  let earlier: Earlier = new Set();
  let countedMs = -Infinity;
  return (facts) => {
    const { driverName, attachments, volumes, csiNodes, published, nowMs } = facts;
    if (nowMs - countedMs < auditGraceMs) return;
    countedMs = nowMs;
    const recorded = attachments.list().flatMap((attachment) => recordedOf(facts, attachment));
    const handles = new Set(recorded.map(({ handle }) => handle));
    for (const volume of volumes.list()) {
      const csi = toCsiVolume(volume);
      if (csi.kind === 'ok' && csi.value.csi.driver === driverName) handles.add(csi.value.csi.volumeHandle);
    }
    const findings = compareAttachments({
      list: {
        startedMs: nowMs,
        isComplete: true,
        entries: new Map([...published].map(([handle, nodeIds]) => [handle, { publishedNodeIds: [...nodeIds] }])),
        contradicted: new Set(),
      },
      isRecorded: (handle) => handles.has(handle),
      attachments: recorded,
      nodeIds: new Set(csiNodes.list().flatMap((node) => driverOn(node, driverName)?.nodeID ?? [])),
      recentlyAttached: new Set(),
      rules: { graceMs: auditGraceMs },
      earlier,
    });
    earlier = keysOf(findings);
    metrics.found(findings);
  };
}

/** Under the names by which the driver lists it. */
function recordedOf(facts: CountFacts, attachment: VolumeAttachment): readonly RecordedAttachment[] {
  if (attachment.spec.attacher !== facts.driverName) return [];
  const names = namesOf(facts, attachment);
  if (names.kind === 'error') return [];
  const { metadata, spec } = attachment;
  return [
    {
      name: attachmentKey(attachment),
      handle: names.value.volumeHandle,
      nodeName: spec.nodeName,
      nodeId: names.value.nodeId,
      createdMs: Date.parse(metadata?.creationTimestamp ?? ''),
      isAttached: isAttached(attachment) && metadata?.deletionTimestamp === undefined,
    },
  ];
}
