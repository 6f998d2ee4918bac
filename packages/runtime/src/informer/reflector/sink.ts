// SPDX-License-Identifier: Apache-2.0
import type { Change } from '../decode/watch-event.ts';

/** Where a reflector's content goes. What returns a promise wants the reflector to wait for it before it goes on. */
export interface Sink {
  /** Begins a new collection; what was collected before is forgotten. */
  startCollecting(): void;
  collect(change: Change): void;
  /** The collection becomes the content. */
  replace(resourceVersion: string): Promise<void>;
  apply(change: Change): Promise<void> | undefined;
  bookmark(resourceVersion: string): void;
  setConnection(connection: Connection): void;
}

/** `interrupted`: between two watches of the same content. `lost`: the content has to be listed (again). */
export type Connection = 'live' | 'interrupted' | 'lost';
