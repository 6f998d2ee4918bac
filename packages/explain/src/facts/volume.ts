// SPDX-License-Identifier: Apache-2.0
/** The driver and the handle of a volume, and the names of its attachments. */
import { createHash } from 'node:crypto';
import {
  csiDrivers,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { toCsiVolume } from '@csi-sidecars/volume';
import { type Reader, type Reading, valueOf } from '../cluster/reader.ts';
import { annotationOf, migratedTo } from './objects.ts';

export interface VolumeFacts {
  readonly driver: string;
  readonly handle: string;
  /** The volume of an in-tree plugin that the driver has replaced. */
  readonly isMigrated: boolean;
}

/** Undefined: no CSI driver serves it. */
export function volumeFactsOf(volume: PersistentVolume): VolumeFacts | undefined {
  const csi = toCsiVolume(volume);
  if (csi.kind === 'error') return undefined;
  // A plugin that was not migrated is translated all the same: the annotation says that it was.
  if (csi.value.migrated && annotationOf(volume, migratedTo) === undefined) return undefined;
  const { driver, volumeHandle } = csi.value.csi;
  return { driver, handle: volumeHandle, isMigrated: csi.value.migrated };
}

/** As kube-controller-manager names it. */
export function attachmentNameOf({ driver, handle }: VolumeFacts, node: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;
}

export async function attachmentOn(
  reader: Reader,
  volume: VolumeFacts,
  node: string,
): Promise<Reading<VolumeAttachment>> {
  return await reader.get(
    volumeAttachments,
    { name: attachmentNameOf(volume, node) },
    `whether the volume is attached to ${node}`,
  );
}

/** Pages with `--deep`, and without it. */
const mostPages = { deep: 100, usual: 20 } as const;

/** Attachments of a volume. The whole collection is read for it, in pages of which no more than these are kept. */
export async function attachmentsOf(
  reader: Reader,
  volumeName: string,
  isDeep: boolean,
): Promise<Reading<readonly VolumeAttachment[]>> {
  const keep = (attachment: VolumeAttachment): VolumeAttachment | undefined =>
    attachment.spec.source.persistentVolumeName === volumeName ? attachment : undefined;
  return await reader.list(
    volumeAttachments,
    { most: isDeep ? mostPages.deep : mostPages.usual, keep, keptAs: volumeName, isEnough: (kept) => kept > 0 },
    `to which nodes ${volumeName} is attached`,
  );
}

/** A driver without CSIDriver is attached. */
export async function isAttachRequired(reader: Reader, driver: string): Promise<boolean | undefined> {
  const read = await reader.get(csiDrivers, { name: driver }, 'whether the driver attaches volumes');
  if (read.kind === 'unknown') return undefined;
  return valueOf(read)?.spec.attachRequired ?? true;
}

/** At most one node can have it. */
export function isForOneNode({ spec }: PersistentVolumeClaim | PersistentVolume): boolean {
  const modes: readonly string[] = spec?.accessModes ?? [];
  return !modes.includes('ReadWriteMany') && !modes.includes('ReadOnlyMany');
}
