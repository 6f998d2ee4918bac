// SPDX-License-Identifier: Apache-2.0
import type { Change } from '../decode/watch-event.ts';

/** The receiver of a reflector's content. The reflector waits for every promise that a method returns. */
export interface Sink {
  /** Begins a new collection and drops an unfinished one. */
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
