// SPDX-License-Identifier: Apache-2.0
/**
 * The requests whose caller is not known yet: so many of one address, and so many in all. Where there is one too many, the connection with most of
 * them has to give way, so that a client with many bad tokens does not keep out the others behind its address.
 */
import { createLines, type Line } from './lines.ts';
import { Refusal } from './refusal.ts';

export interface Place extends Disposable {
  /** Aborts with a Refusal when the request has to give way to another one. */
  readonly signal: AbortSignal;
}

export interface WaitingRoom {
  /** Throws a Refusal. Dispose of the place when the caller is known. */
  enter(line: Line): Place;
}

/** Far more than the rate of reviews lets through within the limit of a request. */
const mostWaiting = { all: 1024, ofOne: 128 };

interface Waiting {
  readonly line: Line;
  readonly stop: AbortController;
}

export function createWaitingRoom(): WaitingRoom {
  const lines = createLines<Waiting>();
  let all = 0;
  const leave = (waiting: Waiting): void => {
    if (lines.remove(waiting.line, waiting)) all -= 1;
  };
  const crowdAt = ({ group }: Line): string | undefined => {
    if (lines.sizeOf(group) > mostWaiting.ofOne) return group;
    if (all <= mostWaiting.all) return undefined;
    const largest = lines.largestGroup();
    return lines.sizeOf(group) < lines.sizeOf(largest) ? largest : group;
  };
  return {
    enter(line) {
      const waiting = { line, stop: new AbortController() };
      lines.add(line, waiting);
      all += 1;
      const crowd = crowdAt(line);
      const tooMany = crowd === undefined ? undefined : lines.newestOfLongest(crowd, line);
      if (tooMany !== undefined) {
        leave(tooMany);
        tooMany.stop.abort(refusal());
      }
      const { signal } = waiting.stop;
      signal.throwIfAborted();
      return { signal, [Symbol.dispose]: () => leave(waiting) };
    },
  };
}

function refusal(): Refusal {
  const message = `too many requests wait for their review: at most ${mostWaiting.ofOne} of one address`;
  return new Refusal('L1', { code: 'ResourceExhausted', message });
}
