// SPDX-License-Identifier: Apache-2.0
/**
 * The typed API client that controllers use. Contract only; see `create-client.ts` for the implementation.
 *
 * Guarantees: every request carries the user agent and credentials, has a deadline (unary), passes the rate limiter
 * (watches: only when retried), and is retried inside the client as docs/behaviour/runtime.md says under "Rate limit and retry".
 * There is no second layer of retries. Objects come back with `apiVersion` and `kind` stamped.
 * Errors: `ApiError` when the server answered, `TransportError` when it did not (the outcome of a write is then unknown
 * unless `failure` is `unprocessed`, `credentials`, `refused`, `lookup` or `tls`).
 * Integers beyond 2^53-1 arrive as bigint, whatever the type says, and may be written as such.
 */
import type { KubeObject } from './objects.ts';
import type { CallParent } from '../tracing/tracer.ts';
import type { Resource } from './resource.ts';
import type { TransportResponse } from './transport.ts';

export interface ApiClient {
  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options?: CallOptions): Promise<T>;
  /** One page; the whole collection when `limit` is absent. Informers use the streaming list instead. */
  list<T extends KubeObject>(resource: Resource<T>, query?: ListQuery, options?: ListOptions<T>): Promise<ListPage<T>>;
  /** The object names its own namespace; `metadata.generateName` is honoured. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  /** PUT. The object must carry `metadata.resourceVersion` for optimistic locking. */
  update<T extends KubeObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(target: PatchTarget<T>, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Resolves with the object while finalizers hold it, with undefined once it is gone. */
  delete<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options?: DeleteOptions): Promise<T | undefined>;
  /** Any other path of the server (discovery, /readyz, /version), decoded as JSON. */
  raw(path: string, options?: CallOptions): Promise<unknown>;
  /**
   * A list or watch as bytes, for informers: retried and throttled as its purpose demands, no deadline of its own for a watch.
   * An answer other than 2xx, or of another media type than asked for, throws ApiError. A compressed body arrives decompressed,
   * flush by flush; the caller must consume or end it.
   */
  stream(request: StreamRequest, signal: AbortSignal): Promise<TransportResponse>;
}

export interface StreamRequest {
  readonly purpose: 'list' | 'watch';
  /** Path and query. */
  readonly path: string;
  /** Default `application/json`. */
  readonly accept?: string;
}

export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface PatchTarget<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly ref: ObjectRef;
}

export type Patch =
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'strategic'; readonly body: unknown }
  | { readonly type: 'apply'; readonly body: unknown; readonly fieldManager: string; readonly force?: boolean };

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Deadline of the whole call without throttling time. Default 70 s (list 120 s). */
  readonly timeoutMs?: number;
  /** Asked right before each attempt. Once it is false nothing is sent, and the call rejects with a TransportError `aborted`. */
  readonly maySend?: (() => boolean) | undefined;
  /** The run that writes: the write becomes a span below it. Default: none. Reads are no spans. */
  readonly span?: CallParent | undefined;
  /** `low` (events) uses the part of the rate limit that other requests leave, and at least every tenth token. */
  readonly priority?: Priority;
}

export type Priority = 'normal' | 'low';

export interface ListOptions<T extends KubeObject> extends CallOptions {
  /**
   * Called once for each object, when it arrives, and returns what the page keeps of it; undefined: nothing. So a page needs memory only for
   * what is kept. A list that breaks off after the first object rejects with an ApiError, and is not read again. Default: the page keeps all objects.
   */
  readonly keep?: ((object: T) => T | undefined) | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: 'status';
  readonly dryRun?: 'All';
  /** `Ignore`: the server drops fields that it does not know without a warning, which the client would log. Default: with one. */
  readonly fieldValidation?: 'Ignore';
}

export interface DeleteOptions extends CallOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListQuery extends Selection {
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}
