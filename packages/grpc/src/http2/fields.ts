// SPDX-License-Identifier: Apache-2.0
/**
 * Which header blocks are well formed (RFC 9113, section 8). A block that is not ends its stream:
 *
 * | Field | Refused when |
 * |---|---|
 * | any name | it is empty or has an upper-case letter |
 * | pseudo-header | it is in trailers, unknown, twice, or after a regular field |
 * | request | `:method`, `:scheme` or `:path` is missing or empty |
 * | response | `:status` is not three digits |
 * | `connection` and its like | always |
 * | `te` | it is not `trailers` |
 * | `content-length` | it is no number, or two of them differ |
 */
import type { Header } from '../hpack/hpack.ts';

export type BlockKind = 'request' | 'response' | 'trailers';

const pseudoHeaders: Readonly<Record<BlockKind, ReadonlySet<string>>> = {
  request: new Set([':method', ':scheme', ':path', ':authority']),
  response: new Set([':status']),
  trailers: new Set(),
};
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Says what is wrong; undefined for a block that is well formed. */
export function malformation(headers: readonly Header[], kind: BlockKind): string | undefined {
  const pseudo = new Map<string, string>();
  let isAfterRegular = false;
  for (const [name, value] of headers) {
    if (!name.startsWith(':')) {
      isAfterRegular = true;
      const wrong = regularField(name, value);
      if (wrong !== undefined) return wrong;
      continue;
    }
    if (!pseudoHeaders[kind].has(name)) return `${kind} with the pseudo-header ${name}`;
    if (isAfterRegular) return `pseudo-header ${name} after a regular field`;
    if (pseudo.has(name)) return `pseudo-header ${name} twice`;
    pseudo.set(name, value);
  }
  if (kind === 'request') {
    const missing = [':method', ':scheme', ':path'].find((name) => (pseudo.get(name) ?? '') === '');
    if (missing !== undefined) return `request without ${missing}`;
  }
  if (kind === 'response' && !/^\d{3}$/.test(pseudo.get(':status') ?? '')) return 'response without a status';
  return contentLengths(headers).size > 1 ? 'two different content lengths' : undefined;
}

function regularField(name: string, value: string): string | undefined {
  if (name === '' || /[A-Z]/.test(name)) return `field name ${JSON.stringify(name)}`;
  if (ofConnection.has(name)) return `field ${name} of a connection`;
  if (name === 'te' && value !== 'trailers') return 'te with another value than trailers';
  return name === 'content-length' && !/^\d{1,15}$/.test(value) ? 'content-length that is no number' : undefined;
}

/** The bytes that the peer announced for the stream; undefined when it did not. */
export function contentLengthOf(headers: readonly Header[]): number | undefined {
  const [first] = contentLengths(headers);
  return first === undefined ? undefined : Number(first);
}

function contentLengths(headers: readonly Header[]): ReadonlySet<string> {
  return new Set(headers.filter(([name]) => name === 'content-length').map(([, value]) => value));
}
