// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from './client.ts';
import { ApiError } from './errors.ts';

/**
 * Whether the cluster serves a kind: one discovery request. `unknown` when discovery failed. A missing group version is an
 * answer, not a failure.
 */
export async function servesKind(
  client: Pick<ApiClient, 'raw'>,
  { groupVersion, kind }: { readonly groupVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<'served' | 'absent' | 'unknown'> {
  try {
    const list = (await client.raw(`/apis/${groupVersion}`, { signal })) as {
      readonly resources?: readonly { readonly kind?: string }[];
    };
    return list.resources?.some((resource) => resource.kind === kind) === true ? 'served' : 'absent';
  } catch (error) {
    return error instanceof ApiError && error.status === 404 ? 'absent' : 'unknown';
  }
}
