// SPDX-License-Identifier: Apache-2.0
/** How much of a list or of a text is read, and what is kept of it. */

export interface Pages<T> {
  /** What is kept of an object; undefined: nothing. Default: all of it. */
  readonly keep?: (object: T) => T | undefined;
  /** Names what is kept. Lists that keep the same are read once; a list that keeps a part without a name is read each time. */
  readonly keptAs?: string;
  /** Objects in a page. Default: 500. */
  readonly size?: number;
  /** Default: 10. More of them are not read, and that is recorded as `limit`. */
  readonly most?: number;
  /** Called after each page with the number of objects kept; `true` ends the list. */
  readonly isEnough?: (kept: number) => boolean;
}

export interface TextLines {
  readonly mostBytes: number;
  readonly onLine: (line: string) => 'more' | 'enough';
  /** Whether the lines were what they should be; otherwise the reading has failed. */
  readonly isExpected: () => boolean;
}
