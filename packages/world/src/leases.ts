// SPDX-License-Identifier: Apache-2.0
import { leases } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import { leaseNamespace } from './names.ts';

/** The pod that holds a Lease; empty if none does. */
export function holderOf({ objects }: FakeApiServer, name: string): string {
  return objects.get(leases, { namespace: leaseNamespace, name })?.spec?.holderIdentity ?? '';
}
