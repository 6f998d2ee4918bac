// SPDX-License-Identifier: Apache-2.0
/** The port to the folder that kubelet watches: the few things that are done to socket files there. */
import { chmod, lstat, rename, stat, unlink } from 'node:fs/promises';

export interface SocketFiles {
  /** Links are followed; undefined when nothing is there. */
  readonly look: (path: string) => Promise<Found | undefined>;
  /** Of the entry itself; undefined when nothing is there. */
  readonly lookAtEntry: (path: string) => Promise<Found | undefined>;
  readonly remove: (path: string) => Promise<void>;
  readonly rename: (from: string, to: string) => Promise<void>;
  readonly setMode: (path: string, mode: number) => Promise<void>;
}

export interface Found {
  readonly isSocket: boolean;
  /** The same as long as it is the same file. */
  readonly identity: string;
}

export function systemSocketFiles(): SocketFiles {
  return { look: lookWith(stat), lookAtEntry: lookWith(lstat), remove: unlink, rename, setMode: chmod };
}

function lookWith(read: typeof stat): SocketFiles['look'] {
  return async (path) => {
    try {
      const facts = await read(path, { bigint: true });
      return { isSocket: facts.isSocket(), identity: `${facts.dev}.${facts.ino}.${facts.birthtimeNs}` };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  };
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}
