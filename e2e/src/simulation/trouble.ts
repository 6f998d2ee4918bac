// SPDX-License-Identifier: Apache-2.0
/** What can go wrong at one write to the API server, or at one call to the driver. */
import type { Fault } from '@csi-sidecars/runtime/testing';

/** `before`: it never took effect. `after`: it did, and nobody heard of it. */
export type Moment = 'before' | 'after';

export type Trouble =
  /** The process is gone, as by kill -9. */
  | { readonly kind: 'crash'; readonly moment: Moment }
  /** The driver is gone, and with its connection the sidecar. Only at calls. */
  | { readonly kind: 'driverCrash'; readonly moment: Moment }
  /** The API server's answer is not the one that was hoped for. Only at writes. */
  | { readonly kind: 'answer'; readonly fault: Fault };

export type OperationKind = 'write' | 'call';

export interface Operation {
  readonly kind: OperationKind;
  /** `create persistentvolumes`, `CreateVolume` */
  readonly name: string;
}

const status = (code: number, reason: string): Fault => ({ kind: 'status', point: 'before', code, reason });

const atWrites: Readonly<Record<string, Trouble>> = {
  'answer 409': { kind: 'answer', fault: status(409, 'Conflict') },
  'answer 429': {
    kind: 'answer',
    fault: { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests', retryAfter: '2' },
  },
  'answer 500': { kind: 'answer', fault: status(500, 'InternalError') },
  'timeout after commit': { kind: 'answer', fault: { kind: 'break', point: 'after', failure: 'timeout' } },
};
const atCalls: Readonly<Record<string, Trouble>> = {
  'driver crash before': { kind: 'driverCrash', moment: 'before' },
  'driver crash after': { kind: 'driverCrash', moment: 'after' },
};
const anywhere: Readonly<Record<string, Trouble>> = {
  'crash before': { kind: 'crash', moment: 'before' },
  'crash after': { kind: 'crash', moment: 'after' },
};

/** All troubles that an operation can meet, by name. */
export function troublesOf({ kind }: Operation): readonly (readonly [string, Trouble])[] {
  return Object.entries({ ...anywhere, ...(kind === 'write' ? atWrites : atCalls) });
}
