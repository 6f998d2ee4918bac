// SPDX-License-Identifier: Apache-2.0
import { type ApiClient, ApiError } from '@csi-sidecars/runtime';

/**
 * Whether the cluster serves VolumeAttributesClass in storage.k8s.io/v1. `unknown` if discovery failed: the gate then
 * stays as it is. A missing group version is an answer, not a failure.
 */
export async function attributesClassSupport(
  client: Pick<ApiClient, 'raw'>,
  signal: AbortSignal,
): Promise<'served' | 'absent' | 'unknown'> {
  try {
    const list = (await client.raw('/apis/storage.k8s.io/v1', { signal })) as {
      readonly resources?: readonly { readonly kind?: string }[];
    };
    return list.resources?.some(({ kind }) => kind === 'VolumeAttributesClass') === true ? 'served' : 'absent';
  } catch (error) {
    return error instanceof ApiError && error.status === 404 ? 'absent' : 'unknown';
  }
}
