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
import { classNameOf, createdMs, deletedMs, nameOf, provisionerOf, timeOf } from '../../facts/objects.ts';
import { volumeFactsOf } from '../../facts/volume.ts';
import { reducedSource, rightOf, type Source } from './source.ts';
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

/** Those that are to go, and one of each driver. */
export const volumeSource: Source<readonly VolumeFacts[]> = {
  rights: [rightOf('list', persistentVolumes)],
  read: async (gathering) => {
    const seen = new Set<string>();
    const source = reducedSource(persistentVolumes, (volume: PersistentVolume) => {
      const facts = volumeFacts(volume);
      if (facts.isOpen) return facts;
      if (facts.driver === undefined || seen.has(facts.driver)) return undefined;
      seen.add(facts.driver);
      return facts;
    });
    return await source.read(gathering);
  },
};

function volumeFacts(volume: PersistentVolume): VolumeFacts {
  const kept = keptOf(volume);
  const { phase = '', lastPhaseTransitionTime } = volume.status ?? {};
  const isLeft = phase === 'Released' || phase === 'Failed';
  return {
    ...kept,
    driver: volumeFactsOf(volume)?.driver,
    phase,
    phaseSinceMs: timeOf(lastPhaseTransitionTime),
    isDeletedWithClaim: volume.spec?.persistentVolumeReclaimPolicy === 'Delete',
    isOpen: kept.deletedMs !== undefined || isLeft,
  };
}

/** Those that are being deleted, wait for a volume, or have a finalizer of csi-provisioner. */
export const claimSource: Source<readonly ClaimFacts[]> = reducedSource(
  persistentVolumeClaims,
  (claim: PersistentVolumeClaim) => {
    const kept = keptOf(claim);
    const { phase = '' } = claim.status ?? {};
    const isPlain = kept.finalizers.every((name) => name === 'kubernetes.io/pvc-protection');
    if (kept.deletedMs === undefined && phase !== 'Pending' && isPlain) return undefined;
    return { ...kept, phase, className: classNameOf(claim), provisioner: provisionerOf(claim) };
  },
);

export const attachmentSource: Source<readonly AttachmentFacts[]> = reducedSource(
  volumeAttachments,
  (attachment: VolumeAttachment) => ({
    ...keptOf(attachment),
    driver: attachment.spec.attacher,
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
