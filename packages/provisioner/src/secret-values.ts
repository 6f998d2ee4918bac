// SPDX-License-Identifier: Apache-2.0
/** Reads a secret as the string map that CSI calls take. */
import { type ApiClient, isNotFound, readSecret as readValues, toError } from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';

export type SecretValues =
  | { readonly kind: 'found'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

export async function readSecret(
  client: ApiClient,
  reference: SecretReference,
  signal: AbortSignal,
): Promise<SecretValues> {
  try {
    return { kind: 'found', values: await readValues(client, reference, { signal }) };
  } catch (error) {
    const what = `error getting secret ${reference.name} in namespace ${reference.namespace}`;
    return { kind: isNotFound(error) ? 'missing' : 'failed', message: `${what}: ${toError(error).message}` };
  }
}
