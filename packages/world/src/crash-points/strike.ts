// SPDX-License-Identifier: Apache-2.0
/**
 * Counts the writes and calls of one program in a story, and puts a fault at one of them. Leases, events and what is asked for periodically do
 * not count.
 */
import { type CsiChannel, CsiError } from '@csi-sidecars/csi';
import type { Fault, FaultTarget, ScheduledProcess } from '@csi-sidecars/runtime/testing';
import { isWrite, pathOf } from '../network.ts';

/** `before`: the operation had no effect. `after`: it took effect, but the answer was lost. */
type Moment = 'before' | 'after';

export type Trouble =
  /** The process dies, as by kill -9. */
  | { readonly kind: 'crash'; readonly moment: Moment }
  /** The driver dies, and the connection with it. Only at calls. */
  | { readonly kind: 'driverCrash'; readonly moment: Moment }
  /** The API server answers with an error. Only at writes. */
  | { readonly kind: 'answer'; readonly fault: Fault };

export interface Operation {
  readonly kind: 'write' | 'call';
  /** `create persistentvolumes`, `CreateVolume` */
  readonly name: string;
}

export interface Strike {
  /** Number of the operation, in the span that counts. */
  readonly index: number;
  readonly trouble: Trouble;
}

export interface Striker {
  readonly operations: readonly Operation[];
  /** Asked when a request arrives at the API server. */
  readonly atRequest: (process: ScheduledProcess, target: FaultTarget) => Fault | undefined;
  /** The connection of a process to the driver, at the driver's end. */
  readonly atCalls: (process: ScheduledProcess, channel: CsiChannel, crashDriver: () => void) => CsiChannel;
}

const answer = (code: number, reason: string, more: object = {}): Trouble => ({
  kind: 'answer',
  fault: { kind: 'status', point: 'before', code, reason, ...more },
});
const anywhere: Readonly<Record<string, Trouble>> = {
  'crash before': { kind: 'crash', moment: 'before' },
  'crash after': { kind: 'crash', moment: 'after' },
};
const troubles: Readonly<Record<Operation['kind'], Readonly<Record<string, Trouble>>>> = {
  write: {
    ...anywhere,
    'answer 409': answer(409, 'Conflict'),
    'answer 429': answer(429, 'TooManyRequests', { retryAfter: '2' }),
    'answer 500': answer(500, 'InternalError'),
    'timeout after commit': { kind: 'answer', fault: { kind: 'break', point: 'after', failure: 'timeout' } },
  },
  call: {
    ...anywhere,
    'driver crash before': { kind: 'driverCrash', moment: 'before' },
    'driver crash after': { kind: 'driverCrash', moment: 'after' },
  },
};

/** All faults that an operation can have, by name. */
export function troublesOf({ kind }: Operation): readonly (readonly [string, Trouble])[] {
  return Object.entries(troubles[kind]);
}

const changing = /^(Create|Delete|Controller(Publish|Unpublish|Expand|Modify))/;
const uncounted: ReadonlySet<string> = new Set(['leases', 'events']);

export interface Struck {
  /** The beginning of the names of its processes. */
  readonly who: string;
  /** Only operations in this span of the story count. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly strike?: Strike | undefined;
}

export function createStriker({ who, fromMs, untilMs, strike }: Struck): Striker {
  const operations: Operation[] = [];

  function next({ name, clock }: ScheduledProcess, operation: Operation): Trouble | undefined {
    const nowMs = clock.monotonicMs();
    if (!name.startsWith(who) || nowMs < fromMs || nowMs > untilMs) return undefined;
    operations.push(operation);
    return operations.length - 1 === strike?.index ? strike.trouble : undefined;
  }

  return {
    operations,
    atRequest(process, target) {
      if (!isWrite(target) || uncounted.has(target.resource)) return undefined;
      const name = `${target.verb} ${pathOf(target)}`;
      const trouble = next(process, { kind: 'write', name });
      if (trouble?.kind === 'answer') return trouble.fault;
      if (trouble === undefined) return undefined;
      process.kill(`crash ${trouble.moment} ${name}`);
      return { kind: 'hang', point: trouble.moment };
    },
    atCalls: (process, channel, crashDriver) => ({
      ...channel,
      async call(method, request, options) {
        const name = method.split('/').at(-1) ?? '';
        const trouble = changing.test(name) ? next(process, { kind: 'call', name }) : undefined;
        if (trouble === undefined || trouble.kind === 'answer') return await channel.call(method, request, options);
        const crash = (): void =>
          trouble.kind === 'crash' ? process.kill(`crash ${trouble.moment} ${name}`) : crashDriver();
        if (trouble.moment === 'after') await channel.call(method, request, options).catch(() => undefined);
        crash();
        throw new CsiError({ code: 'Unavailable', method, detail: 'the connection broke' });
      },
    }),
  };
}
