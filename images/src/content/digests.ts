// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto';

export interface Digests {
  /** SPDX asks for it. */
  readonly sha1: string;
  readonly sha256: string;
}

export function sha256Of(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

export function digestsOf(content: Uint8Array): Digests {
  return { sha1: createHash('sha1').update(content).digest('hex'), sha256: sha256Of(content) };
}
