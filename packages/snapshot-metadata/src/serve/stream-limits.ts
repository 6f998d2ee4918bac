// SPDX-License-Identifier: Apache-2.0
/** How many streams are served at a time, so that no caller takes all of the memory or keeps the others out. */
import { Refusal, type RefusalRow } from '../request/refusal.ts';

export interface LimitSettings {
  readonly maxStreams: number;
  readonly maxStreamsPerUser: number;
}

export interface StreamLimits {
  /** Throws a Refusal; the returned value gives the place back. */
  stream(user: string): Disposable;
}

export function createStreamLimits(
  { maxStreams, maxStreamsPerUser }: LimitSettings,
  onStreams: (running: number) => void,
): StreamLimits {
  const streams = createCount();
  return {
    stream(user) {
      if (streams.all() >= maxStreams) throw exhausted('L2', `too many streams: at most ${maxStreams} at a time`);
      if (streams.of(user) >= maxStreamsPerUser) {
        throw exhausted('L3', `too many streams of one user: at most ${maxStreamsPerUser} at a time`);
      }
      return streams.take(user, onStreams);
    },
  };
}

function exhausted(row: RefusalRow, message: string): Refusal {
  return new Refusal(row, { code: 'ResourceExhausted', message });
}

function createCount() {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    all: () => all,
    of: (key: string) => counts.get(key) ?? 0,
    take(key: string, changed: (all: number) => void): Disposable {
      all += 1;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      changed(all);
      return {
        [Symbol.dispose]: () => {
          all -= 1;
          const left = (counts.get(key) ?? 1) - 1;
          if (left === 0) counts.delete(key);
          else counts.set(key, left);
          changed(all);
        },
      };
    },
  };
}
