// SPDX-License-Identifier: Apache-2.0
/** Reads a secret as the string map that CSI calls take. */
import { type ApiClient, isNotFound, secrets } from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';

export type SecretValues =
  | { readonly kind: 'found'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'missing' | 'failed'; readonly message: string };

export async function readSecret(
  api: ApiClient,
  reference: SecretReference,
  signal: AbortSignal,
): Promise<SecretValues> {
  const what = `error getting secret ${reference.name} in namespace ${reference.namespace}`;
  try {
    const secret = await api.get(secrets, reference, { signal });
    // Fatal: CSI secrets are text, and a value that is none could not be sent.
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const entries = Object.entries(secret.data ?? {});
    return {
      kind: 'found',
      values: Object.fromEntries(entries.map(([key, value]) => [key, decoder.decode(Buffer.from(value, 'base64'))])),
    };
  } catch (error) {
    return { kind: isNotFound(error) ? 'missing' : 'failed', message: `${what}: ${messageOf(error)}` };
  }
}

function messageOf(error: unknown): string {
  // The decoder's own message says nothing about which secret, and nothing of the value may be shown.
  if (error instanceof TypeError) return 'a value is not valid UTF-8';
  return error instanceof Error ? error.message : String(error);
}
