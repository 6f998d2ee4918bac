// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto';

export interface Digests {
  /** SPDX asks for it. */
  readonly sha1: string;
  readonly sha256: string;
}

export function digestsOf(content: Uint8Array): Digests {
  const hex = (algorithm: string): string => createHash(algorithm).update(content).digest('hex');
  return { sha1: hex('sha1'), sha256: hex('sha256') };
}
