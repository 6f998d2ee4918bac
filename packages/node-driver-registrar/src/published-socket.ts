// SPDX-License-Identifier: Apache-2.0
/**
 * The registration socket in the folder that kubelet watches.
 *
 * Guarantees: a socket under the name that kubelet dials has the mode 0700 and is already listening, because it is created
 * under a hidden name, which kubelet ignores, and then renamed. If the file is gone, it is created again. Only our own file is removed:
 * the socket of a successor at the same path stays.
 *
 * Not here: files that were at the path before (stale-socket.ts), and the answers on the socket.
 */
import { dirname } from 'node:path';
import type { Clock } from '@csi-sidecars/runtime';
import { messages } from './messages.ts';
import { type SocketFiles, isMissing } from './socket-files.ts';

export interface SocketServer {
  readonly close: () => void;
}

export interface PublishDeps {
  readonly files: SocketFiles;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly listen: (path: string) => Promise<SocketServer>;
}

export interface PublishedSocket {
  /** Creates the file again if it is gone; returns whether it was. */
  readonly restore: () => Promise<'present' | 'restored'>;
  /** Removes the file and ends its server. Rejects if the file cannot be removed. */
  readonly withdraw: () => Promise<void>;
}

/** Maximum length of a unix socket's path in bytes, without its terminating zero. */
const longestPath = 107;
const ownerOnly = 0o700;

interface Published {
  readonly server: SocketServer;
  readonly identity: string | undefined;
}

export async function publishSocket(deps: PublishDeps, path: string): Promise<PublishedSocket> {
  const { files } = deps;
  let current = await publish(deps, path);
  return {
    restore: async () => {
      if ((await files.lookAtEntry(path)) !== undefined) return 'present';
      const next = await publish(deps, path);
      current.server.close();
      current = next;
      return 'restored';
    },
    withdraw: async () => {
      try {
        await removeOwn(files, path, current.identity);
      } finally {
        current.server.close();
      }
    },
  };
}

async function publish({ files, clock, listen }: PublishDeps, path: string): Promise<Published> {
  // The hidden name is shorter, so listening would not detect this.
  if (Buffer.byteLength(path) > longestPath) throw new Error(messages.pathTooLong(path));
  const hidden = `${dirname(path)}/.${Math.trunc(clock.nowMs()).toString(36).slice(-6)}`;
  const server = await listen(hidden);
  try {
    await files.setMode(hidden, ownerOnly);
    const made = await files.lookAtEntry(hidden);
    await files.rename(hidden, path);
    return { server, identity: made?.identity };
  } catch (error) {
    server.close();
    // A listening server may already have removed it; only the failure above is reported.
    await files.remove(hidden).catch(() => undefined);
    throw error;
  }
}

async function removeOwn(files: SocketFiles, path: string, identity: string | undefined): Promise<void> {
  const found = await files.lookAtEntry(path);
  if (found === undefined || found.identity !== identity) return;
  try {
    await files.remove(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
