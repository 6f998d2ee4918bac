// SPDX-License-Identifier: Apache-2.0
/**
 * What lies outside of the cluster: services that a controller calls, which outlive its processes. As in `world/link.ts` a call arrives in a task of
 * the services, and its answer in a task of the process.
 */
import type { Clock } from '../../src/clock/clock.ts';
import { createDice, type Dice } from '../world/dice.ts';
import { type Draw, hashText } from '../world/hash.ts';
import type { ScheduledProcess } from '../world/schedule.ts';
import type { TimeLine } from '../world/time-line.ts';
import { delayOf, faultChance } from './storm.ts';

/** What one process of the controller has besides the API server. */
export interface Outside {
  /**
   * One call to a service: `what` names it in the story, and `effect` is what the service does. Resolves with what `effect` returns; rejects with what
   * it throws.
   *
   * During the storm one call in five is refused before its effect, or rejects after it because the answer is lost, or is answered five seconds late,
   * or never settles, with its effect or without: the caller needs a timeout. A call takes effect even if its process dies meanwhile. No answer
   * reaches a dead process, and one that stands still gets it when it goes on.
   */
  readonly call: <T>(what: string, effect: () => T | Promise<T>) => Promise<T>;
  /** The time of the process. */
  readonly clock: Clock;
  /** Chance, from the seed of the story. */
  readonly dice: Dice;
  /** False once nothing fails any more. */
  readonly isStorm: () => boolean;
}

export interface OutsideDeps {
  readonly services: ScheduledProcess;
  readonly draw: Draw;
  readonly isStorm: () => boolean;
  readonly note: TimeLine['note'];
}

type OutsideFault =
  | { readonly kind: 'refused' }
  /** The call takes effect, and its caller does not learn of it. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'late'; readonly ms: number }
  /** No answer ever comes. The call takes effect with `after`. */
  | { readonly kind: 'hung'; readonly point: 'before' | 'after' };

const faults: readonly OutsideFault[] = [
  { kind: 'refused' },
  { kind: 'lost' },
  { kind: 'late', ms: 5_000 },
  { kind: 'hung', point: 'before' },
  { kind: 'hung', point: 'after' },
];

/** Draws nothing that requests of the API are drawn with. */
export function createOutside({ services, draw, isStorm, note }: OutsideDeps): (process: ScheduledProcess) => Outside {
  let [calls, messages] = [0, 0];
  const delayMs = (): number => delayOf(draw('outside delay', messages++));

  function nextFault(): OutsideFault | undefined {
    const at = calls++;
    if (!isStorm() || draw('outside fault', at) >= faultChance) return undefined;
    return faults[Math.floor(draw('outside which', at) * faults.length)];
  }

  return (process) => ({
    clock: process.clock,
    dice: createDice(2 ** 32 * draw('outside dice', hashText(process.name))),
    isStorm,
    call: (what, effect) =>
      new Promise((resolve, reject) => {
        const perform = async (): Promise<void> => {
          const fault = nextFault();
          let outcome = fault === undefined ? '' : `: ${JSON.stringify(fault)}`;
          note(process.name, () => what + outcome);
          let deliver: () => void;
          try {
            if (fault?.kind === 'hung' && fault.point === 'before') return;
            if (fault?.kind === 'refused') throw new Error(`${what}: refused`);
            const answer = await effect();
            if (fault?.kind === 'lost') throw new Error(`${what}: the answer is lost`);
            deliver = () => resolve(answer);
          } catch (error) {
            if (outcome === '') outcome = `: ${String(error)}`;
            deliver = () => reject(error);
          }
          if (fault?.kind === 'hung') return;
          process.post(deliver, delayMs() + (fault?.kind === 'late' ? fault.ms : 0));
        };
        if (!process.isDead) services.post(() => void perform(), delayMs());
      }),
  });
}
