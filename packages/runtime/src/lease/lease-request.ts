// SPDX-License-Identifier: Apache-2.0
import type { Lease } from '../api/objects.ts';
import type { LeaseRequest, Purpose, Turn } from './election-state.ts';
import { newLease, released, renewed, taken } from './record.ts';

/** A request by its purpose; those that update carry the Lease they are based on. */
export type Attempt =
  | { readonly purpose: Extract<Purpose, 'get' | 'create'> }
  | { readonly purpose: Exclude<Purpose, 'get' | 'create'>; readonly lease: Lease };

export function requestOf({ config, wallMs }: Turn, attempt: Attempt): LeaseRequest {
  switch (attempt.purpose) {
    case 'get':
      return { kind: 'get' };
    case 'create':
      return { kind: 'create', lease: newLease(config, wallMs) };
    case 'renew':
    case 'keep':
      return { kind: 'update', lease: renewed(config, attempt.lease, wallMs) };
    case 'take':
      return { kind: 'update', lease: taken(config, attempt.lease, wallMs) };
    case 'release':
      return { kind: 'update', lease: released(attempt.lease, wallMs) };
  }
}
