// SPDX-License-Identifier: Apache-2.0
/** The port to the folder that kubelet watches: the operations on its socket files. */
// `node:fs/promises` is not used because it costs a quarter of a MiB.
import * as fs from 'node:fs';
import { promisify } from 'node:util';

export interface SocketFiles {
  /** The type at the path; links are followed. Undefined if nothing exists. */
  readonly look: (path: string) => Promise<Found | undefined>;
  /** The type of the entry itself, without following links. Undefined if nothing exists. */
  readonly lookAtEntry: (path: string) => Promise<Found | undefined>;
  readonly remove: (path: string) => Promise<void>;
  readonly rename: (from: string, to: string) => Promise<void>;
  readonly setMode: (path: string, mode: number) => Promise<void>;
}

export interface Found {
  readonly isSocket: boolean;
  /** The identity of the file: it changes when the file is replaced. */
  readonly identity: string;
}

export function systemSocketFiles(): SocketFiles {
  return {
    look: lookWith(promisify(fs.stat)),
    lookAtEntry: lookWith(promisify(fs.lstat)),
    remove: promisify(fs.unlink),
    rename: promisify(fs.rename),
    setMode: promisify(fs.chmod),
  };
}

type Stat = (path: string, options: { readonly bigint: true }) => Promise<fs.BigIntStats>;

function lookWith(read: Stat): SocketFiles['look'] {
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
