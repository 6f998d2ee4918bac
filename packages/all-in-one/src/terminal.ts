// SPDX-License-Identifier: Apache-2.0
/** The terminal of this process, on which a person confirms a removal. */
import { createInterface } from 'node:readline/promises';
import type { Terminal } from '@csi-sidecars/provisioner';

/** The question goes to stderr, so that stdout holds nothing but the result. */
export function processTerminal(): Terminal {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return { ask: undefined };
  return {
    ask: async (question, signal) => {
      using lines = createInterface({ input: stdin, output: stderr });
      const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
      return await Promise.race([lines.question(question, { signal }), closed]);
    },
  };
}
