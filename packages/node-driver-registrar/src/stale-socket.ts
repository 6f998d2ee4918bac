// SPDX-License-Identifier: Apache-2.0
/**
 * What to do with an existing file at the socket's path before listening. First match wins:
 *
 * | Found | Linux and other unix | Windows |
 * |---|---|---|
 * | nothing | nothing | nothing |
 * | a socket, or a symbolic link to one | remove the entry | remove |
 * | anything else | refuse; it is not ours | remove: on Windows a socket looks like a file |
 */
import { messages } from './messages.ts';
import type { Found, SocketFiles } from './socket-files.ts';

export type Platform = 'unix' | 'windows';
export type StaleAction = 'none' | 'remove' | 'refuse';

export function staleAction(found: Pick<Found, 'isSocket'> | undefined, platform: Platform): StaleAction {
  if (found === undefined) return 'none';
  return found.isSocket || platform === 'windows' ? 'remove' : 'refuse';
}

/** Rejects with upstream's text if the file must stay or cannot be removed. */
export async function clearStaleSocket(files: SocketFiles, path: string, platform: Platform): Promise<void> {
  const found = await lookAtSocket(files, path, platform);
  switch (staleAction(found, platform)) {
    case 'none':
      return;
    case 'refuse':
      throw new Error(messages.notASocket(path));
    case 'remove':
      try {
        await files.remove(path);
      } catch (cause) {
        throw new Error(messages.staleNotRemoved(path, textOf(cause)), { cause });
      }
  }
}

/** The type of the file at the path; Windows cannot follow links to sockets. */
export async function lookAtSocket(files: SocketFiles, path: string, platform: Platform): Promise<Found | undefined> {
  try {
    return await (platform === 'windows' ? files.lookAtEntry(path) : files.look(path));
  } catch (cause) {
    throw new Error(messages.statFailed(path, textOf(cause)), { cause });
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
