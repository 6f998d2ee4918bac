// SPDX-License-Identifier: Apache-2.0
/**
 * What the leader has said, put into what was judged from outside. It changes the decision, the time of the next try and the sentence of a
 * row that waits for the program. It never changes the row, the exit code, or what objects and events say.
 */
import { pageOf } from '../rows/decision.ts';
import type { Judged } from '../rows/judged.ts';
import type { Program, Retry, Verdict } from '../verdict.ts';
import type { AnsweredDecision, AnsweredLoop, AnsweredRun } from './answer.ts';
import type { LeaderAnswer } from './ask.ts';

export interface LeaderAnswerAt extends LeaderAnswer {
  readonly program: Program;
  readonly nowMs: number;
}

export function withLeaderAnswer(judged: Judged, { program, nowMs, controller, loop }: LeaderAnswerAt): Judged {
  const { verdict } = judged;
  const { version, pod, driver, settings, rights } = controller;
  const leader = { program, version, pod, driver, settings, rights };
  if (loop === undefined) return { ...judged, leader };
  const sentence = sentenceOf(loop, nowMs);
  const row = loop.run?.row ?? loop.last?.row;
  const decision =
    sentence === undefined || row === undefined
      ? judged.decision
      : {
          program,
          page: pageOf(program),
          row,
          sentence,
          action: loop.run?.action ?? loop.last?.action ?? 'none',
          origin: 'told' as const,
          assumed: [],
          onlyOurs: false,
        };
  return {
    ...judged,
    leader,
    verdict: {
      ...verdict,
      ...(sentence !== undefined && isWaiting(verdict, loop) && { sentence: `${program} ${sentence}` }),
      retry: retryOf(verdict.retry, loop),
    },
    ...(decision === undefined ? {} : { decision }),
  };
}

/** From outside, the rows X51 and X81 can only say that the program waits or works. */
function isWaiting({ row }: Verdict, { place, run }: AnsweredLoop): boolean {
  return (row === 'X51' || row === 'X81') && (place !== null || run !== null);
}

function retryOf(retry: Retry | undefined, loop: AnsweredLoop): Retry | undefined {
  if (retry !== undefined && retry.will !== 'yes' && retry.will !== 'unknown') return retry;
  const { nextMs } = loop;
  const place = placeOf(loop);
  const yes = { will: 'yes', isExact: true } as const;
  if (place !== undefined) return { ...yes, earliestMs: undefined, latestMs: undefined, because: `it ${place}` };
  if (nextMs === null) return retry;
  return { ...yes, earliestMs: nextMs, latestMs: nextMs, because: 'its backoff ends then' };
}

function placeOf({ place, depth }: AnsweredLoop): string | undefined {
  return place === null ? undefined : `waits in its queue, at place ${place} of ${depth}`;
}

function sentenceOf(loop: AnsweredLoop, nowMs: number): string | undefined {
  if (loop.run !== null) return runText(loop.run, nowMs);
  return placeOf(loop) ?? (loop.last === null ? undefined : lastText(loop.last, nowMs));
}

function runText({ method, action, startedMs }: AnsweredRun, nowMs: number): string {
  const since = `since ${secondsBetween(startedMs, nowMs)} s`;
  return method === null ? `works on it ${since}${action === null ? '' : ` (${action})`}` : `calls ${method} ${since}`;
}

function lastText({ atMs, code, text }: AnsweredDecision, nowMs: number): string {
  const failure = [code, text].filter((part) => part !== null).join(': ');
  const when = `decided so ${secondsBetween(atMs, nowMs)} s ago`;
  return failure === '' ? when : `${when}, after ${failure}`;
}

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, Math.round((toMs - fromMs) / 1_000));
}
