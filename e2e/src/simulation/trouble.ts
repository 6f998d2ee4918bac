// SPDX-License-Identifier: Apache-2.0
/** The faults at one write to the API server, or at one call to the driver. */
import type { Fault } from '@csi-sidecars/runtime/testing';

/** `before`: the operation had no effect. `after`: it took effect, but the answer was lost. */
export type Moment = 'before' | 'after';

export type Trouble =
  /** The process dies, as by kill -9. */
  | { readonly kind: 'crash'; readonly moment: Moment }
  /** The driver dies, and the sidecar with the lost connection. Only at calls. */
  | { readonly kind: 'driverCrash'; readonly moment: Moment }
  /** The API server answers with an error. Only at writes. */
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

/** All faults that an operation can have, by name. */
export function troublesOf({ kind }: Operation): readonly (readonly [string, Trouble])[] {
  return Object.entries({ ...anywhere, ...(kind === 'write' ? atWrites : atCalls) });
}
