// SPDX-License-Identifier: Apache-2.0
/**
 * `--watch`: explains again after each change of what was read, and prints what has changed in the answer. The content of watch events is not
 * looked at: each of them is a reason to read again, at most every two seconds.
 */
import { type ApiClient, type Clock, linkSignals, toError } from '@csi-sidecars/runtime';
import type { ReadObject } from '../cluster/reader.ts';
import type { Explanation } from '../report/explanation.ts';
import { CommandError, exits } from './exit-codes.ts';
import { type Asked, explainOnce } from './explain-once.ts';
import type { Cluster } from './open-cluster.ts';

export interface WatchDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly asked: Asked;
  readonly cluster: Cluster;
  /** `isFirst`: the whole screen; otherwise one line for what has changed. */
  readonly print: (explanation: Explanation, isFirst: boolean) => Promise<void>;
  /** One line on stderr. */
  readonly note: (line: string) => void;
}

/** Between two passes, however much changes. */
const pauseMs = 2_000;
/** The longest time between two passes. */
const restMs = 30_000;
/** Between two passes while watches or the server fail. */
const pollMs = 5_000;
const failuresUntilPolling = 3;
const pollsUntilWatching = 12;

/** Resolves with the exit code. */
export async function watchSubject(deps: WatchDeps): Promise<number> {
  const { clock, signal, asked } = deps;
  const { values } = asked;
  const endMs = values.for === 0 ? Infinity : clock.monotonicMs() + values.for;
  let last: Explanation | undefined;
  let wasBeingDeleted = false;
  const state: WatchState = { failures: 0, polls: 0, isUnreachable: false };
  for (;;) {
    const pass = await passOf(deps, state);
    if (pass !== undefined) {
      const { explanation } = pass;
      const isAnother = last !== undefined && isOtherSubject(last, explanation);
      if (isAnother) deps.note('the object was made again: what follows is about the new one');
      if (last === undefined || isAnother) await deps.print(explanation, true);
      else if (hasChanged(last, explanation)) await deps.print(explanation, false);
      last = explanation;
      if (explanation.verdict === 'absent') return wasBeingDeleted ? exits.nothing : explanation.exitCode;
      wasBeingDeleted ||= explanation.subject.deletionTimestamp !== null;
      if (explanation.verdict === 'done') return exits.nothing;
      if (explanation.verdict === 'person' && values.until === 'person') return explanation.exitCode;
    }
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return last?.exitCode ?? exits.failed;
    const canWatch = pass !== undefined && !isPolling(state, deps);
    await waitForChange(deps, canWatch ? pass.read : [], {
      state,
      mostMs: Math.min(leftMs, canWatch ? restMs : pollMs),
    });
    signal.throwIfAborted();
  }
}

interface WatchState {
  /** Watches that have failed one after the other. */
  failures: number;
  /** Passes without watches since then. */
  polls: number;
  isUnreachable: boolean;
}

/** After three failures nothing is watched for a minute. */
function isPolling(state: WatchState, { note }: WatchDeps): boolean {
  if (state.failures < failuresUntilPolling) return false;
  if (state.polls === 0) note('the API server does not keep watches open: reading every five seconds');
  state.polls += 1;
  if (state.polls < pollsUntilWatching) return true;
  state.failures = 0;
  // The next failure is not reported again.
  state.polls = 1;
  return false;
}

async function passOf(
  { cluster, asked, note }: WatchDeps,
  state: WatchState,
): Promise<{ readonly explanation: Explanation; readonly read: readonly ReadObject[] } | undefined> {
  using pass = cluster.pass();
  try {
    const explanation = await explainOnce(pass.reader, asked);
    state.isUnreachable = false;
    return { explanation, read: pass.reader.objects() };
  } catch (error) {
    const unreadable = error instanceof CommandError ? error.unreadable : undefined;
    if (unreadable === undefined || unreadable === 'forbidden') throw error;
    if (!state.isUnreachable) note(`${toError(error).message}: trying again`);
    state.isUnreachable = true;
    return undefined;
  }
}

function isOtherSubject(last: Explanation, { subject }: Explanation): boolean {
  return subject.uid !== null && last.subject.uid !== null && subject.uid !== last.subject.uid;
}

function hasChanged(last: Explanation, next: Explanation): boolean {
  const facts = ({ row, turn, error, stages }: Explanation): string =>
    JSON.stringify([row, turn?.actor, error?.text, error?.code, stages.filter(({ state }) => state === 'now')]);
  return facts(last) !== facts(next);
}

/** Resolves after the first change, but not before two seconds have passed, and after `mostMs` in any case. */
async function waitForChange(
  { clock, signal, cluster }: WatchDeps,
  read: readonly ReadObject[],
  { state, mostMs }: { readonly state: WatchState; readonly mostMs: number },
): Promise<void> {
  using linked = linkSignals([signal]);
  const changed = Promise.withResolvers<void>();
  using _timer = clock.timer(mostMs, changed.resolve);
  using _stopped = onAbort(signal, changed.resolve);
  const watches = read.map((object) =>
    watchOnce(cluster.client, object, { clock, signal: linked.signal, state, onChange: changed.resolve }),
  );
  await clock.sleep(Math.min(pauseMs, mostMs), signal);
  await changed.promise;
  linked.abort(new Error('the next pass begins'));
  await Promise.all(watches);
}

function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}

interface WatchOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly state: WatchState;
  readonly onChange: () => void;
}

/** Until the first event, or until the watch ends. The client itself tries again to open one, for longer than is waited for here. */
async function watchOnce(
  client: ApiClient,
  { path, resourceVersion }: ReadObject,
  { clock, signal, state, onChange }: WatchOptions,
): Promise<void> {
  const version = resourceVersion === undefined ? '' : `&resourceVersion=${resourceVersion}`;
  using linked = linkSignals([signal]);
  const opening = clock.timer(pollMs, () => linked.abort(new Error('the watch was not opened in time')));
  try {
    const { body } = await client.stream({ purpose: 'watch', path: `${path}&watch=1${version}` }, linked.signal);
    opening.cancel();
    for await (const _ of body) {
      state.failures = 0;
      break;
    }
    onChange();
  } catch {
    opening.cancel();
    if (signal.aborted) return;
    state.failures += 1;
    // Whatever ended the watch: the next pass finds out whether the server is there.
    onChange();
  }
}
