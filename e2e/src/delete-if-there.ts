// SPDX-License-Identifier: Apache-2.0
import { type ApiClient, ignoreNotFound, mayHaveHappened, type ObjectRef, type Resource } from '@csi-sidecars/runtime';

const tries = 5;

/** Tidies up, so the object may be gone already, and a request whose answer was lost is repeated. */
export async function deleteIfThere(api: Pick<ApiClient, 'delete'>, resource: Resource, ref: ObjectRef): Promise<void> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      await api.delete(resource, ref).catch(ignoreNotFound);
      return;
    } catch (error) {
      if (left === 0 || !mayHaveHappened(error)) throw error;
    }
  }
}
