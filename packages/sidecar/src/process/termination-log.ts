// SPDX-License-Identifier: Apache-2.0
import { truncateSync, writeFileSync } from 'node:fs';

/** Replaces the content of an existing file; throws if there is none. The kubelet shows the content as the reason of the end. */
export function writeTerminationLog(path: string, text: string): void {
  // Writing alone would create the file.
  truncateSync(path);
  writeFileSync(path, text);
}
