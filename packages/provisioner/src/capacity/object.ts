// SPDX-License-Identifier: Apache-2.0
/** The CSIStorageCapacity object of an item: how it is recognised, built and compared. Pure. */
import {
  controllerOf,
  type CSIStorageCapacity,
  definedOnly,
  type ObjectMeta,
  type OwnerReference,
} from '@csi-sidecars/runtime';
import { formatBytes, parseQuantity, toBytes } from '@csi-sidecars/volume';
import { segmentIdOf } from '../topology/segments.ts';
import { type Term, toTerm } from '../topology/terms.ts';
import { type ItemKey, itemKeyOf, strayKeyOf } from './items.ts';

export const labels = {
  driverName: 'csi.storage.k8s.io/drivername',
  managedBy: 'csi.storage.k8s.io/managed-by',
} as const;

/** The value of the label in a central deployment. That of a node's instance is `managedByOf` its name. */
export const centralManagedBy = 'external-provisioner';

const generateName = 'csisc-';

export interface Reported {
  readonly available: bigint;
  /** Undefined: the driver reports none. */
  readonly maximum: bigint | undefined;
}

/** Which objects are managed by this instance. */
export interface Management {
  readonly driverName: string;
  readonly managedBy: string;
  readonly namespace: string;
  readonly owner: OwnerReference | undefined;
}

export function selectorOf({ driverName, managedBy }: Pick<Management, 'driverName' | 'managedBy'>): string {
  return `${labels.driverName}=${driverName},${labels.managedBy}=${managedBy}`;
}

/** The item to which an object belongs: none that exists if its selector is no segment. */
export function itemOfObject({ metadata, nodeTopology, storageClassName }: CSIStorageCapacity): ItemKey {
  const isSegment = nodeTopology !== undefined && (nodeTopology.matchExpressions ?? []).length === 0;
  if (!isSegment) return strayKeyOf(storageClassName, metadata?.uid ?? '');
  return itemKeyOf(storageClassName, segmentIdOf(toTerm(Object.entries(nodeTopology.matchLabels ?? {}))));
}

export function isBeingDeleted({ metadata }: CSIStorageCapacity): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** Objects that stay come first, then the older ones: the same order in every process. */
export function byAge(left: CSIStorageCapacity, right: CSIStorageCapacity): number {
  const leaving = Number(isBeingDeleted(left)) - Number(isBeingDeleted(right));
  if (leaving !== 0) return leaving;
  const [a, b] = [left.metadata?.creationTimestamp ?? '', right.metadata?.creationTimestamp ?? ''];
  if (a !== b) return a < b ? -1 : 1;
  return (left.metadata?.name ?? '') < (right.metadata?.name ?? '') ? -1 : 1;
}

export interface NewObject {
  readonly className: string;
  readonly segment: Term;
  readonly reported: Reported;
}

export function toObject({ className, segment, reported }: NewObject, management: Management): CSIStorageCapacity {
  const { driverName, managedBy, namespace, owner } = management;
  return {
    metadata: {
      namespace,
      generateName,
      labels: { [labels.driverName]: driverName, [labels.managedBy]: managedBy },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    storageClassName: className,
    nodeTopology: segment.length === 0 ? {} : { matchLabels: Object.fromEntries(segment) },
    ...sizes(reported),
  };
}

/** The object with the reported sizes and its owner; undefined if it has them. */
export function changedObject(
  object: CSIStorageCapacity,
  reported: Reported,
  owner: OwnerReference | undefined,
): CSIStorageCapacity | undefined {
  const hasOwner = owner === undefined || controllerOf(object)?.uid === owner.uid;
  const isSame =
    bytesOf(object.capacity) === reported.available && bytesOf(object.maximumVolumeSize) === reported.maximum;
  if (isSame && hasOwner) return undefined;
  const { capacity: _capacity, maximumVolumeSize: _maximum, ...others } = object;
  const metadata = hasOwner ? (others.metadata ?? {}) : ownedBy(others.metadata, owner);
  return { ...others, ...sizes(reported), metadata };
}

function sizes({ available, maximum }: Reported): Pick<CSIStorageCapacity, 'capacity' | 'maximumVolumeSize'> {
  return definedOnly({
    capacity: formatBytes(available),
    maximumVolumeSize: maximum === undefined ? undefined : formatBytes(maximum),
  });
}

function bytesOf(text: string | undefined): bigint | undefined {
  const quantity = text === undefined ? undefined : parseQuantity(text);
  return quantity && toBytes(quantity);
}

/** The API server refuses a second controller, so that another one is replaced. */
function ownedBy(metadata: ObjectMeta | undefined, owner: OwnerReference | undefined): ObjectMeta {
  if (owner === undefined) return metadata ?? {};
  const kept = (metadata?.ownerReferences ?? []).filter(
    ({ controller, uid }) => controller !== true && uid !== owner.uid,
  );
  return { ...metadata, ownerReferences: [...kept, owner] };
}
