// SPDX-License-Identifier: Apache-2.0
/**
 * `paced`: an expansion or modification that has failed is not called again at once by the same process, as long as no one else has written
 * anything since the failed call began.
 */
import { stringifyJson } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import { isWrite } from '../../network.ts';

export interface Pace {
  readonly before: (process: string, program: string, request: object) => void;
  readonly answered: (process: string, request: object, code: string) => void;
  /** The process has forgotten its failures. */
  readonly forget: (process: string) => void;
  readonly look: () => void;
}

export interface PaceStage {
  readonly server: FakeApiServer;
  readonly nowMs: () => number;
  /** When the last message to or from the process arrived, or will arrive, that was late. */
  readonly lateUntilMs: (process: string) => number;
  readonly breach: (text: string) => void;
}

interface Call {
  readonly startMs: number;
  /** Undefined while it has not failed. */
  failedMs: number | undefined;
}

/** The shortest pause of any program before another attempt is a second. */
const pauseMs = 250;
/** From what leads to a call until the call, if nothing is late. */
const beforeMs = 1_000;
const unwatched: ReadonlySet<string> = new Set(['leases', 'events']);

export function createPace({ server, nowMs, lateUntilMs, breach }: PaceStage): Pace {
  const calls = new Map<string, Call>();
  const written = new Map<string, number>();
  let last = server.requests.at(-1);
  let revision = server.revision();

  const keyOf = (process: string, request: object): string =>
    `${process} ${stringifyJson({ ...request, secrets: undefined })}`;

  function look(): void {
    const from = server.requests.findLastIndex((each) => each === last);
    const isOpenly = from < server.requests.length - 1;
    for (const { verb, resource, userAgent } of server.requests.slice(from + 1)) {
      if (isWrite({ verb }) && !unwatched.has(resource))
        written.set(userAgent.replace('csi-sidecars/', 'csi-'), nowMs());
    }
    // Done by hand, as when a class vanishes.
    if (!isOpenly && revision !== server.revision()) written.set('', nowMs());
    last = server.requests.at(-1);
    revision = server.revision();
  }

  return {
    look,
    before(process, program, request) {
      look();
      const key = keyOf(process, request);
      const { startMs = 0, failedMs = -pauseMs } = calls.get(key) ?? {};
      const isAtOnce = nowMs() - failedMs < pauseMs;
      const isAlone = ![...written].some(([agent, ms]) => agent !== program && ms >= startMs - beforeMs);
      if (isAtOnce && isAlone && lateUntilMs(process) < startMs - beforeMs)
        breach(`paced: ${process} repeats at once what has failed: ${key}`);
      calls.set(key, { startMs: nowMs(), failedMs: undefined });
    },
    answered(process, request, code) {
      const call = calls.get(keyOf(process, request));
      if (call !== undefined && code !== 'OK') call.failedMs = nowMs();
    },
    forget(process) {
      for (const key of calls.keys()) if (key.startsWith(`${process} `)) calls.delete(key);
    },
  };
}
