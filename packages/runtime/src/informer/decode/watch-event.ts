// SPDX-License-Identifier: Apache-2.0
/**
 * A frame of a watch as a value. Decoding never throws: whatever a server or proxy sends is one of the variants, and the
 * caller's own exceptions cannot be mistaken for bad input.
 */
import { type ApiError, type Status, toApiError } from '../../api/errors.ts';
import { parseWatched } from './parse-watched.ts';
import type { KubeObject } from '../../api/objects.ts';
import { DecodeError } from './decode-error.ts';

export type WatchEvent =
  | { readonly kind: 'change'; readonly change: Change }
  | { readonly kind: 'bookmark'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  /** The server ends the watch with a Status. */
  | { readonly kind: 'error'; readonly error: ApiError }
  /** Valid, but not an object of this watch: a Table, another kind, something without metadata. */
  | { readonly kind: 'foreign'; readonly what: string }
  | { readonly kind: 'undecodable'; readonly error: DecodeError };

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ServerObject;
}

/** An object as the server sent it. It has metadata. */
export type ServerObject = KubeObject & Required<Pick<KubeObject, 'metadata'>>;

/** The kind and the apiVersion of the objects of a list or watch, as the server sends them. */
export interface WireKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Marks the bookmark that ends the initial events of a streaming list. */
const initialEventsEndAnnotation = 'k8s.io/initial-events-end';

export function decodeWatchEvent(frame: Uint8Array, expected: WireKind): WatchEvent {
  let event: Frame | null;
  try {
    event = parseWatched(frame) as Frame | null;
  } catch (cause) {
    return undecodable('unable to decode an event from the watch stream', { bytes: frame.length, cause });
  }
  const { type, object } = event ?? {};
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    const foreign = foreignness(object, expected);
    if (foreign !== undefined) return { kind: 'foreign', what: foreign };
    return { kind: 'change', change: { type, object: object as ServerObject } };
  }
  if (type === 'BOOKMARK') {
    const { resourceVersion = '', annotations } = object?.metadata ?? {};
    return {
      kind: 'bookmark',
      resourceVersion,
      initialEventsEnd: annotations?.[initialEventsEndAnnotation] === 'true',
    };
  }
  if (type === 'ERROR') return { kind: 'error', error: toApiError(object ?? {}, 'the server ended the watch') };
  return undecodable('unable to decode an event from the watch stream: unknown type', { bytes: frame.length });
}

/** The reason why this is not an object of the expected kind; undefined if it is one. */
export function foreignness(object: unknown, expected: WireKind): string | undefined {
  if (typeof object !== 'object' || object === null) return 'no object';
  const { apiVersion = '', kind = '', metadata } = object as KubeObject;
  if (kind !== expected.kind || apiVersion !== expected.apiVersion) return `${apiVersion} ${kind}`;
  return typeof metadata === 'object' && metadata !== null ? undefined : `${kind} without metadata`;
}

interface Frame {
  readonly type?: unknown;
  readonly object?: KubeObject & Status;
}

function undecodable(message: string, facts: { readonly bytes: number; readonly cause?: unknown }): WatchEvent {
  return { kind: 'undecodable', error: new DecodeError(message, facts) };
}
