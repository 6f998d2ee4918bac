// SPDX-License-Identifier: Apache-2.0
/** Whether a claim can be restored from a snapshot: rows R1 to R12 of the page on sources. Pure. */
import type { PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  ok,
  readPlaces,
  snapshotAnnotations,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { snapshotSourceProtection } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import { bytesOf, type Read, refused, type SourceAnswer } from './source-answer.ts';

export interface SnapshotFacts {
  /** The claim to restore. */
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly driverName: string;
  readonly name: string;
  readonly snapshot: Read<VolumeSnapshot>;
  readonly content: Read<VolumeSnapshotContent> | 'unread';
  readonly preventsModeConversion: boolean;
  /** Alpha: whether the node affinity of the content is looked at. */
  readonly readsPlaces: boolean;
}

export function decideSnapshot(facts: SnapshotFacts): SourceAnswer {
  const { name, snapshot, content } = facts;
  if (snapshot.kind === 'failed')
    return refused('R1', `error getting snapshot ${name} from api server: ${snapshot.message}`);
  const { metadata, status } = snapshot.object;
  const isProtected = metadata?.finalizers?.includes(snapshotSourceProtection) === true;
  if (metadata?.deletionTimestamp !== undefined && !isProtected)
    return refused('R2', `snapshot ${name} is being deleted`);
  const contentName = status?.boundVolumeSnapshotContentName;
  if (contentName === undefined || contentName === '') return refused('R3', `snapshot ${name} not bound`);
  if (content === 'unread') return { row: 'R4', kind: 'readBacking', name: contentName };
  if (content.kind === 'failed') {
    return refused('R4', `error getting snapshotcontent ${contentName} for snapshot ${name}: ${content.message}`);
  }
  const found = mismatch(facts, snapshot.object, content.object);
  if (found !== undefined) return found;
  const places = facts.readsPlaces ? readPlaces(content.object.spec?.nodeAffinity) : ok(undefined);
  if (places.kind === 'error') {
    return refused(
      'R12',
      `nodeAffinity of snapshotcontent ${contentName} for snapshot ${name} cannot be used: ${places.message}`,
    );
  }
  return {
    row: 'R11',
    kind: 'usable',
    content: { snapshot: { snapshot_id: content.object.status?.snapshotHandle ?? '' } },
    isProtected,
    ...(places.value === undefined ? {} : { places: places.value }),
  };
}

/** R5 to R10 */
function mismatch(
  facts: SnapshotFacts,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): SourceAnswer | undefined {
  const { name, storageClass, driverName } = facts;
  const its = `snapshotcontent ${snapshot.status?.boundVolumeSnapshotContentName ?? ''} for snapshot ${name}`;
  if (!isBoundTo(content.spec?.volumeSnapshotRef, snapshot)) {
    return refused('R5', `${its} is bound to a different snapshot`);
  }
  // A class of the in-tree plugin names the plugin.
  if (content.spec?.driver !== driverName) {
    const className = storageClass.metadata?.name ?? '';
    return refused('R6', `${its} is not handled by CSI driver of StorageClass ${className}`);
  }
  if (snapshot.status?.readyToUse !== true) return refused('R7', `snapshot ${name} is not Ready`);
  // An empty handle would ask the driver for a volume without a source.
  if ((content.status?.snapshotHandle ?? '') === '') return refused('R8', `snapshot handle ${name} is not available`);
  return tooSmall(facts, snapshot) ?? modeChange(facts, content);
}

function tooSmall({ claim, name }: SnapshotFacts, { status }: VolumeSnapshot): SourceAnswer | undefined {
  if (status?.restoreSize === undefined) return undefined;
  const request = claim.spec?.resources?.requests?.['storage'];
  if (request === undefined) {
    return refused('R9', `error getting capacity for PVC ${claim.metadata?.name ?? ''} when creating snapshot ${name}`);
  }
  const size = bytesOf(status.restoreSize);
  if (size === undefined)
    return refused('R9', `restore size ${JSON.stringify(status.restoreSize)} of snapshot ${name} is not a quantity`);
  const requested = bytesOf(request) ?? 0n;
  return requested < size
    ? refused('R9', `requested volume size ${requested} is less than the size ${size} for the source snapshot ${name}`)
    : undefined;
}

const { allowModeChange } = snapshotAnnotations;
/** As Go's strconv.ParseBool. */
const booleans: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false])),
};

function modeChange(
  { claim, preventsModeConversion }: SnapshotFacts,
  content: VolumeSnapshotContent,
): SourceAnswer | undefined {
  const { sourceVolumeMode } = content.spec ?? {};
  const volumeMode = claim.spec?.volumeMode;
  if (!preventsModeConversion || sourceVolumeMode === undefined || volumeMode === undefined) return undefined;
  if (sourceVolumeMode === volumeMode) return undefined;
  const { namespace = '', name = '' } = claim.metadata ?? {};
  const refuse = (why: string): SourceAnswer =>
    refused(
      'R10',
      `requested volume ${namespace}/${name} modifies the mode of the source volume but does not have permission to do so. ${why}`,
    );
  const contentName = content.metadata?.name ?? '';
  const text = annotationsOf(content)[allowModeChange];
  if (text === undefined)
    return refuse(`${allowModeChange} annotation is not present on snapshotcontent ${contentName}`);
  if (!Object.hasOwn(booleans, text)) {
    const error = `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`;
    return refuse(`failed to convert ${allowModeChange} annotation value to boolean with error: ${error}`);
  }
  if (booleans[text] === true) return undefined;
  return refuse(`${allowModeChange} is set to false on snapshotcontent ${contentName}`);
}
