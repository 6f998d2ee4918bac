// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '../api/objects.ts';

/**
 * Records events on API objects. Never blocks, never throws, never fails a reconcile: a full queue drops with a log
 * line, rejections by the server are logged. The regarding object needs `apiVersion`, `kind` and `metadata`.
 */
export interface EventRecorder {
  record(regarding: KubeObject, event: RecordedEvent): void;
  /**
   * For the end of the process: tries everything that is queued once more and at once, and waits for that, at most
   * `timeoutMs` (default 2 s). What is not written then is dropped.
   */
  flush(timeoutMs?: number): Promise<void>;
}

/** For a caller that repeats an event until it is written. */
export interface AwaitableRecorder extends EventRecorder {
  /**
   * Records an event, and resolves with what became of it. Never rejects. It is tried once: the caller decides whether and when to repeat it.
   * Events of one object are written in order, so it waits for those of the same object that were recorded before.
   */
  deliver(regarding: KubeObject, event: RecordedEvent): Promise<Delivery>;
}

/**
 * `filtered`: not written, because the object has too many events, or because the recorder writes outcomes only. `refused`: by the server,
 * or before it was sent, and it will be again.
 * `dropped`: there was no room or no answer, or a server with a trouble of its own (5xx, 408, 429), so another attempt may succeed.
 */
export type Delivery = 'written' | 'filtered' | 'refused' | 'dropped';

/** Which events a recorder writes. `outcome`: all but those that only say that something begins. */
export type WrittenEvents = 'all' | 'outcome';

export interface RecordedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** It says only that something begins. Recorders of outcomes do not write it. Default: it is written. */
  readonly isStart?: true;
  /** The part of the object that the event is about. */
  readonly fieldPath?: string;
  /**
   * The name of the Event object. Default: one that no other event has. Processes that record the same event with the same name write one
   * object.
   */
  readonly name?: string;
  /** Of the Event object when it is made. What only repeats it changes none. */
  readonly annotations?: Readonly<Record<string, string>>;
}
