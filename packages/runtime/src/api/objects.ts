// SPDX-License-Identifier: Apache-2.0
/**
 * Kubernetes objects as they are on the wire: client-node's generated types (type-only) with timestamps as strings and
 * everything deeply readonly, because cached objects are shared. Never change one: build a patch, or a new object.
 */
import type {
  CoreV1Event,
  V1CSIDriver,
  V1CSINode,
  V1CSIStorageCapacity,
  V1Lease,
  V1Namespace,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1Secret,
  V1StorageClass,
  V1VolumeAttachment,
  V1VolumeAttributesClass,
} from '@kubernetes/client-node';

/** A field's name on the wire. client-node has other names for words of its language, and for names with hyphens. */
export type WireName<Name> = Name extends `_${infer Word}`
  ? Word
  : Name extends `x_${infer First}_${infer Rest}`
    ? WireName<`x_${First}-${Rest}`>
    : Name extends `x_${infer Rest}`
      ? `x-${Rest}`
      : Name;

/** Dates become strings, fields have the names of the wire, everything becomes readonly. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer U)[]
    ? readonly Wire<U>[]
    : T extends object
      ? { readonly [K in keyof T as WireName<K>]: Wire<T[K]> }
      : T;

export type ObjectMeta = Wire<V1ObjectMeta>;

/** Any object the API server stores. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

export type PersistentVolume = Wire<V1PersistentVolume>;
export type PersistentVolumeClaim = Wire<V1PersistentVolumeClaim>;
export type StorageClass = Wire<V1StorageClass>;
export type VolumeAttributesClass = Wire<V1VolumeAttributesClass>;
export type VolumeAttachment = Wire<V1VolumeAttachment>;
export type CSINode = Wire<V1CSINode>;
export type CSIDriver = Wire<V1CSIDriver>;
export type CSIStorageCapacity = Wire<V1CSIStorageCapacity>;
export type Node = Wire<V1Node>;
export type Pod = Wire<V1Pod>;
export type Namespace = Wire<V1Namespace>;
export type Secret = Wire<V1Secret>;
export type Lease = Wire<V1Lease>;
export type Event = Wire<CoreV1Event>;
