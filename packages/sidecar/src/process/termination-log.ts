// SPDX-License-Identifier: Apache-2.0
import { truncateSync, writeFileSync } from 'node:fs';
import type { ProcessHost } from './host.ts';

/** Replaces the content of an existing file; throws if there is none. The kubelet shows the content as the reason of the end. */
export function writeTerminationLog(path: string, text: string): void {
  // Writing alone would create the file.
  truncateSync(path);
  writeFileSync(path, text);
}

/** The last line of the log, for the status of the pod. Outside of a container there is no such file. */
export function leaveMessage(host: Pick<ProcessHost, 'writeTerminationLog'>, text: string): void {
  try {
    host.writeTerminationLog(text);
  } catch {
    // The log has it.
  }
}

export const lastWords = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message}: ${cause.message}` : message;
