// SPDX-License-Identifier: Apache-2.0
/**
 * What the server knows about a kind beside its place in the API: the strategy that a real API server has for it.
 * The table of built-in kinds is `built-in.ts`; tests and CustomResourceDefinitions add more.
 */
import type { Resource } from '../../src/api/resource.ts';
import type { FieldCause } from './status.ts';
import type { StoredObject } from './store.ts';

export interface ResourceType extends Resource {
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  /**
   * `absent`: status is an ordinary field. `statusOnly`: writes to /status change nothing else.
   * `withMetadata`: they may change labels, annotations and finalizers too, as for PersistentVolume.
   */
  readonly status: 'absent' | 'statusOnly' | 'withMetadata';
  /** A custom resource: no strategic merge patch, always optimistically locked. */
  readonly custom?: boolean;
  /** What is done when a PUT carries no resourceVersion. Default `overwrite`. */
  readonly unlockedUpdate?: 'overwrite' | 'refuse';
  /** Whether a PUT to an absent name creates it. Default no. */
  readonly createOnUpdate?: boolean;
  /** What a completed DELETE answers with. Default `status`. */
  readonly deleteAnswer?: 'object' | 'status';
  /** Whether `metadata.generation` counts changes of the desired state. */
  readonly generation?: boolean;
  /** What a name must be: `path` is anything that fits into a URL. Default `subdomain`. */
  readonly names?: 'subdomain' | 'label' | 'path';
  /** Field selector paths beside metadata.name and metadata.namespace. */
  readonly selectable?: readonly string[];
  /** The status a new object gets, whatever the request says; `undefined` keeps what the request says. */
  readonly initialStatus?: (now: string) => object | undefined;
  /** Whether something other than finalizers and a grace period keeps a deleted object. */
  readonly holds?: (object: StoredObject) => boolean;
  /** Called when an object was created or changed by a request. */
  readonly stored?: (object: StoredObject) => void;
  /** Called when an object is gone. */
  readonly deleted?: (object: StoredObject) => void;
  /** What else changes in an object that is held when its deletion begins. */
  readonly terminating?: (object: StoredObject) => StoredObject;
  /** What the server itself adds to a status that a request changes. */
  readonly nextStatus?: (next: StoredObject, previous: StoredObject, now: string) => StoredObject;
  /** Fills defaults, before validation, on every write. */
  readonly defaults?: (object: StoredObject) => StoredObject;
  readonly validate?: (object: StoredObject) => readonly FieldCause[];
  readonly validateUpdate?: (next: StoredObject, previous: StoredObject) => readonly FieldCause[];
  /** Throws the 400 that decoding into the Go type would give. */
  readonly decode?: (object: object) => void;
}

export function collectionId(resource: Resource): string {
  return `${resource.group}/${resource.plural}`;
}

export function groupVersion(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}
