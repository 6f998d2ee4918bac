// SPDX-License-Identifier: Apache-2.0
/** From objects of the cluster to what is compared. */
import type { KubeObject, PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from '@csi-sidecars/runtime';
import { toCsiVolume, toInlineCsiVolume } from '../in-tree/translate.ts';
import { parseQuantity, toBytes } from '../quantity.ts';
import { snapshotAnnotations } from '../snapshots/names.ts';
import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from '../snapshots/objects.ts';
import type { RecordedAttachment, RecordedSnapshot, RecordedVolume } from './facts.ts';
import type { ClaimName } from './finding.ts';

const provisionedBy = 'pv.kubernetes.io/provisioned-by';
/** Of csi-resizer, on a PersistentVolume while it grows. */
const preResizeCapacity = 'volume.alpha.kubernetes.io/pre-resize-capacity';
/** Of csi-attacher: the copy that is left when the CSINode is gone. */
const nodeIdAnnotation = 'csi.alpha.kubernetes.io/node-id';

export interface VolumeOptions {
  /** Whether the claim grows. */
  readonly isClaimResizing: (claim: ClaimName) => boolean;
  readonly isElsewhere: (volume: PersistentVolume) => boolean;
}

/** Undefined: another driver serves it. A volume of an in-tree plugin counts even if the plugin still serves it: the driver lists it all the same. */
export function recordedVolumeOf(
  volume: PersistentVolume,
  driver: string,
  { isClaimResizing, isElsewhere }: VolumeOptions,
): RecordedVolume | undefined {
  const handle = handleOf(volume, driver);
  if (handle === undefined) return undefined;
  const { metadata, spec, status } = volume;
  const size = parseQuantity(spec?.capacity?.['storage'] ?? '');
  const isReleased = status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete';
  const { namespace, name } = spec?.claimRef ?? {};
  const claim = namespace === undefined || name === undefined ? undefined : { namespace, name };
  return {
    name: metadata?.name ?? '',
    handle,
    // The translation of an in-tree volume that says neither project nor zone.
    isExact: !handle.split('/').includes('UNSPECIFIED'),
    createdMs: timeOf(metadata?.creationTimestamp) ?? 0,
    capacityBytes: size === undefined ? undefined : Number(toBytes(size)),
    isProvisioned: metadata?.annotations?.[provisionedBy] !== undefined,
    isBeingDeleted: metadata?.deletionTimestamp !== undefined || isReleased,
    releasedMs: isReleased ? timeOf(status?.lastPhaseTransitionTime ?? metadata?.deletionTimestamp) : undefined,
    claim,
    isResizing:
      metadata?.annotations?.[preResizeCapacity] !== undefined || (claim !== undefined && isClaimResizing(claim)),
    isElsewhere: isElsewhere(volume),
  };
}

function handleOf(volume: PersistentVolume, driver: string): string | undefined {
  const csi = toCsiVolume(volume);
  return csi.kind === 'ok' && csi.value.csi.driver === driver ? csi.value.csi.volumeHandle : undefined;
}

/** Whether a claim is on the way to another size. */
export function isResizing({ spec, status }: PersistentVolumeClaim): boolean {
  if (Object.keys(status?.allocatedResourceStatuses ?? {}).length > 0) return true;
  const isUnderWay = (status?.conditions ?? []).some(
    ({ type, status: state }) => state === 'True' && (type === 'Resizing' || type === 'FileSystemResizePending'),
  );
  const [wanted, has] = [spec?.resources?.requests?.['storage'], status?.capacity?.['storage']].map((text) =>
    parseQuantity(text ?? ''),
  );
  return isUnderWay || (wanted !== undefined && has !== undefined && wanted.nanos > has.nanos);
}

export interface AttachmentOptions {
  readonly driver: string;
  /** The node id of the driver on a node, from its CSINode. */
  readonly nodeIdOf: (nodeName: string) => string | undefined;
  /** The handle of a PersistentVolume of the driver. */
  readonly handleOf: (volumeName: string) => string | undefined;
}

/** Undefined: another driver's, or its volume is not known. */
export function recordedAttachmentOf(
  { metadata, spec, status }: VolumeAttachment,
  { driver, nodeIdOf, handleOf: handleOfVolume }: AttachmentOptions,
): RecordedAttachment | undefined {
  if (spec.attacher !== driver) return undefined;
  const { persistentVolumeName, inlineVolumeSpec } = spec.source;
  const inline = inlineVolumeSpec === undefined ? undefined : toInlineCsiVolume(inlineVolumeSpec);
  const handle =
    persistentVolumeName === undefined
      ? inline?.kind === 'ok'
        ? inline.value.csi.volumeHandle
        : undefined
      : handleOfVolume(persistentVolumeName);
  if (handle === undefined) return undefined;
  return {
    name: metadata?.name ?? '',
    handle,
    nodeName: spec.nodeName,
    nodeId: nodeIdOf(spec.nodeName) ?? metadata?.annotations?.[nodeIdAnnotation],
    createdMs: timeOf(metadata?.creationTimestamp) ?? 0,
    isAttached: status?.attached === true && metadata?.deletionTimestamp === undefined,
  };
}

/** Undefined: another driver's, or the snapshot has no handle yet. */
export function recordedSnapshotOf(
  { metadata, spec, status }: VolumeSnapshotContent,
  driver: string,
): RecordedSnapshot | undefined {
  const handle = status?.snapshotHandle ?? spec?.source?.snapshotHandle;
  if (spec?.driver !== driver || handle === undefined || handle === '') return undefined;
  return {
    name: metadata?.name ?? '',
    handle,
    createdMs: timeOf(metadata?.creationTimestamp) ?? 0,
    isReady: status?.readyToUse === true,
  };
}

/** The handles of the snapshots in a group. */
export function memberHandlesOf({ spec, status }: VolumeGroupSnapshotContent): readonly string[] {
  return [
    ...(spec?.source?.groupSnapshotHandles?.volumeSnapshotHandles ?? []),
    ...(status?.volumeSnapshotInfoList ?? []).flatMap(({ snapshotHandle }) => snapshotHandle ?? []),
  ];
}

/** A snapshot may exist whose handle its content does not have yet. */
export function isBeingCreated({ metadata }: KubeObject): boolean {
  const { beingCreated, groupBeingCreated } = snapshotAnnotations;
  const annotations = metadata?.annotations ?? {};
  return annotations[beingCreated] !== undefined || annotations[groupBeingCreated] !== undefined;
}

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isFinite(ms) ? ms : undefined;
}
