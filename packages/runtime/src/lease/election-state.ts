// SPDX-License-Identifier: Apache-2.0
/**
 * The vocabulary of leader election: states, inputs, effects. Time in states is monotonic; the wall clock only reaches what is
 * written into a Lease.
 *
 *                        took or kept the Lease
 *     standby ------------------------------------> leading ----> ended: lost
 *        |                                          |     |        (renewal too late, another holder,
 *        | stop                          work ended |     |         same identity twice, stalled)
 *        v                                          v     |
 *     ended: stopped <---------------------- releasing    | work ended, Lease not to be released
 *            ^                                  |         v
 *            |                                  |       ended: stopped
 *            +---- not mine, error, too late ---+----> ended: released
 *
 * A stop while leading does not change the state: the Lease is renewed until the work has ended.
 */
import type { Lease } from '../api/objects.ts';
import type { ElectionConfig } from './election-config.ts';
import type { Observed } from './record.ts';

export type ElectionState = Standby | Leading | Releasing | Ended;

export interface Standby {
  readonly kind: 'standby';
  readonly observed: Observed | undefined;
  readonly flight: Flight | undefined;
  /** A watch reports changes, so no request is needed before the record expires. */
  readonly watching: boolean;
  readonly wakeAtMs: number | undefined;
}

export interface Leading {
  readonly kind: 'leading';
  readonly observed: Observed;
  /** When the last successful write was sent: no candidate counts the lease from an earlier moment. */
  readonly renewedAtMs: number;
  readonly round: Round | undefined;
  readonly flight: Flight | undefined;
  /** Every renewTime this process may have written since the last confirmed one; another one is another process's. */
  readonly written: readonly string[];
  readonly wakeAtMs: number;
}

/** Attempts to renew, from one success to the next. */
export interface Round {
  readonly startedAtMs: number;
  readonly deadlineMs: number;
  readonly nextTickMs: number;
  /** Conflicts since the last tick after which the Lease was read again at once. */
  readonly conflicts: number;
}

export interface Releasing {
  readonly kind: 'releasing';
  readonly flight: Flight;
  readonly written: readonly string[];
  readonly wakeAtMs: number;
}

export interface Ended {
  readonly kind: 'ended';
  readonly result: ElectionResult;
}

/**
 * lost: another process may hold the lease now, so running work has to be cut off. released: the Lease was released after the
 * work had ended. stopped: the election ended without a release, or this process never led.
 */
export type ElectionResult = 'lost' | 'released' | 'stopped';

/** The one request in flight, and its purpose. */
export interface Flight {
  readonly purpose: Purpose;
  readonly sentAtMs: number;
  /** What a standby knew of the Lease when it was sent. */
  readonly known?: Observed | undefined;
}

/**
 * get: read the Lease. create: there is no Lease. renew: update our Lease without reading it first. keep: update our Lease
 * after it was read. take: update a Lease without a valid holder. release: clear the holder.
 */
export type Purpose = 'get' | 'create' | 'renew' | 'keep' | 'take' | 'release';

export type LeaseRequest =
  | { readonly kind: 'get' }
  | { readonly kind: 'create'; readonly lease: Lease }
  | { readonly kind: 'update'; readonly lease: Lease };

export type LeaseAnswer =
  | { readonly kind: 'ok'; readonly lease: Lease }
  | { readonly kind: 'missing'; readonly error: unknown }
  | { readonly kind: 'conflict'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown };

export type LeaseChange =
  | { readonly kind: 'opened' }
  | { readonly kind: 'seen'; readonly lease: Lease }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly error: unknown };

export type Input =
  | { readonly kind: 'wake' }
  | { readonly kind: 'answer'; readonly answer: LeaseAnswer }
  | { readonly kind: 'change'; readonly change: LeaseChange }
  | { readonly kind: 'stop' }
  | { readonly kind: 'workEnded' };

export type Effect =
  | { readonly kind: 'send'; readonly request: LeaseRequest; readonly timeoutMs: number }
  /** The answer of the running request is not needed any more. */
  | { readonly kind: 'cancel' }
  | { readonly kind: 'watch'; readonly to: 'open' | 'reopen' | 'closed' }
  | { readonly kind: 'startWork' }
  /** stopped: the work gets the reason that the election was stopped with. lost: the lease is gone. */
  | { readonly kind: 'endWork'; readonly because: 'stopped' | 'lost' }
  | { readonly kind: 'notify'; readonly notice: Notice };

export type Notice =
  | { readonly kind: 'attempting' }
  | { readonly kind: 'newLeader'; readonly identity: string }
  | { readonly kind: 'held'; readonly by: string }
  | { readonly kind: 'failed'; readonly purpose: Purpose; readonly error: unknown }
  | { readonly kind: 'slowPath' }
  | { readonly kind: 'notWatching'; readonly error: unknown }
  | { readonly kind: 'acquired'; readonly lease: Lease }
  | { readonly kind: 'stoppedLeading'; readonly lease: Lease; readonly because: StopCause }
  | { readonly kind: 'notReleased'; readonly because: 'notMine' | 'tooLate' }
  /** `asked`: somebody stopped the election, and it ended in order. */
  | { readonly kind: 'ended'; readonly how: 'asked' | 'unasked' };

/** The reason why leading ended. */
export type StopCause = 'workEnded' | 'renewDeadline' | 'otherHolder' | 'sameIdentity' | 'stalled';

/** The inputs of a step beside state and input. */
export interface Turn {
  readonly config: ElectionConfig;
  readonly nowMs: number;
  readonly wallMs: number;
  /** Uniform in [0, 1), a new one for every step. */
  readonly random: number;
}

export interface Step {
  readonly state: ElectionState;
  readonly effects: readonly Effect[];
}

export const notify = (notice: Notice): Effect => ({ kind: 'notify', notice });
export const cancelOf = (flight: Flight | undefined): readonly Effect[] =>
  flight === undefined ? [] : [{ kind: 'cancel' }];
/** A step that comes after these effects. */
export const after = (effects: readonly Effect[], next: Step): Step => ({
  state: next.state,
  effects: [...effects, ...next.effects],
});
export const ended = (result: ElectionResult, effects: readonly Effect[]): Step => ({
  state: { kind: 'ended', result },
  effects,
});
