// SPDX-License-Identifier: Apache-2.0
/** Reads the values of a secret as text. Always a live read: secrets are never cached. */
import type { ApiClient, CallOptions, ObjectRef } from './client.ts';
import { secrets } from './resource.ts';

/**
 * Rejects with what the server said, and when a value is no text. No error contains a part of a value. The decoder's own
 * message is replaced, because it does not name the secret.
 */
export async function readSecret(
  api: Pick<ApiClient, 'get'>,
  ref: ObjectRef,
  options: CallOptions,
): Promise<Readonly<Record<string, string>>> {
  const secret = await api.get(secrets, ref, options);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const entries = Object.entries(secret.data ?? {});
  try {
    return Object.fromEntries(entries.map(([key, value]) => [key, decoder.decode(Buffer.from(value, 'base64'))]));
  } catch {
    throw new Error('a value is not valid UTF-8');
  }
}
