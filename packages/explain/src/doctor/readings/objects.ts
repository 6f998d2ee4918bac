// SPDX-License-Identifier: Apache-2.0
/**
 * What is kept of large collections: objects that somebody still has to do something about, and of attachments what checks of nodes count.
 * Pages are dropped once they are reduced.
 */
import {
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { annotationOf, classNameOf, createdMs, deletedMs, nameOf, provisionerOf, timeOf } from '../../facts/objects.ts';
import { healthIn } from '../../facts/health.ts';
import { volumeFactsOf } from '../../facts/volume.ts';
import { isRead, reducedSource, rightOf, type Source, value } from './source.ts';
import type { Kept, VolumeFacts, ClaimFacts, AttachmentFacts, ContentFacts, SnapshotFacts } from './facts.ts';

function keptOf(object: KubeObject): Kept {
  const { metadata } = object;
  return {
    namespace: metadata?.namespace,
    name: nameOf(object),
    createdMs: createdMs(object),
    deletedMs: deletedMs(object),
    finalizers: metadata?.finalizers ?? [],
  };
}

/** Those that are to go, and of each driver the newest, before others one that csi-provisioner has made. */
export const volumeSource: Source<readonly VolumeFacts[]> = {
  rights: [rightOf('list', persistentVolumes)],
  read: async (gathering) => {
    const newest = new Map<string, VolumeFacts>();
    const source = reducedSource(persistentVolumes, (volume: PersistentVolume) => {
      const facts = volumeFacts(volume);
      const { driver } = facts;
      if (driver !== undefined && isNewer(facts, newest.get(driver))) newest.set(driver, facts);
      return facts.isOpen ? facts : undefined;
    });
    const read = await source.read(gathering);
    return isRead(read) ? value([...new Set([...read.value, ...newest.values()])], read.cut) : read;
  },
};

function isNewer(one: VolumeFacts, other: VolumeFacts | undefined): boolean {
  if (other === undefined) return true;
  if (one.isProvisioned !== other.isProvisioned) return one.isProvisioned;
  return (one.createdMs ?? 0) > (other.createdMs ?? 0);
}

function volumeFacts(volume: PersistentVolume): VolumeFacts {
  const kept = keptOf(volume);
  const { phase = '', lastPhaseTransitionTime } = volume.status ?? {};
  const isLeft = phase === 'Released' || phase === 'Failed';
  return {
    ...kept,
    driver: volumeFactsOf(volume)?.driver,
    phase,
    phaseSinceMs: timeOf(lastPhaseTransitionTime),
    isProvisioned: annotationOf(volume, 'pv.kubernetes.io/provisioned-by') !== undefined,
    hasAffinity: (volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).length > 0,
    isDeletedWithClaim: volume.spec?.persistentVolumeReclaimPolicy === 'Delete',
    isOpen: kept.deletedMs !== undefined || isLeft,
  };
}

/** Those that are being deleted, wait for a volume, show that it is unhealthy, or have a finalizer of csi-provisioner. */
export const claimSource: Source<readonly ClaimFacts[]> = reducedSource(
  persistentVolumeClaims,
  (claim: PersistentVolumeClaim) => {
    const kept = keptOf(claim);
    const { phase = '' } = claim.status ?? {};
    const isPlain = kept.finalizers.every((name) => name === 'kubernetes.io/pvc-protection');
    const health = healthIn(claim).map(({ status }) => status);
    if (kept.deletedMs === undefined && phase !== 'Pending' && isPlain && health.length === 0) return undefined;
    return { ...kept, phase, className: classNameOf(claim), provisioner: provisionerOf(claim), health };
  },
);

export const attachmentSource: Source<readonly AttachmentFacts[]> = reducedSource(
  volumeAttachments,
  (attachment: VolumeAttachment) => ({
    ...keptOf(attachment),
    driver: attachment.spec.attacher,
    volume: attachment.spec.source.persistentVolumeName,
    node: attachment.spec.nodeName,
    isAttached: attachment.status?.attached === true,
    hasStatus:
      attachment.status?.attached === true ||
      attachment.status?.attachError !== undefined ||
      attachment.status?.detachError !== undefined,
  }),
);

/** Those that are being deleted or have failed. */
export const contentSource: Source<readonly ContentFacts[]> = reducedSource(
  volumeSnapshotContents,
  (content: VolumeSnapshotContent) => {
    const kept = keptOf(content);
    const { error } = content.status ?? {};
    if (kept.deletedMs === undefined && error === undefined) return undefined;
    return { ...kept, driver: content.spec?.driver, failedMs: timeOf(error?.time), failure: error?.message };
  },
);

/** Those that are being deleted, and those of which snapshot-controller has said nothing. */
export const snapshotSource: Source<readonly SnapshotFacts[]> = reducedSource(
  volumeSnapshots,
  (snapshot: VolumeSnapshot) => {
    const kept = keptOf(snapshot);
    const hasStatus = snapshot.status !== undefined;
    return kept.deletedMs === undefined && hasStatus ? undefined : { ...kept, hasStatus };
  },
);
