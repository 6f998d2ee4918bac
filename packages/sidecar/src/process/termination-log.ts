// SPDX-License-Identifier: Apache-2.0
import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';

/** Replaces the content of an existing file; throws if there is none. The kubelet shows the content as the reason of the end. */
export function writeTerminationLog(path: string, text: string): void {
  const file = openSync(path, 'r+');
  try {
    ftruncateSync(file, 0);
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}
