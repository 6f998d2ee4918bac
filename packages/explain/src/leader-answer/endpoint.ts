// SPDX-License-Identifier: Apache-2.0
/** One question to one endpoint of a leader. Whatever fails is one line, and no answer. */
import { type Clock, toError, unlessAborted, withDeadline } from '@csi-sidecars/runtime';
import { forScreen } from '../command/printable.ts';
import type { HttpAnswer } from './http.ts';

export interface Endpoint {
  /** What a line about it begins with: `--via=http://127.0.0.1:8080`. */
  readonly name: string;
  /** `path` has its query. */
  readonly get: (path: string, signal: AbortSignal) => Promise<HttpAnswer>;
}

export interface AskPorts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** One line for a person. */
  readonly note: (line: string) => void;
}

/** With the opening of a port-forward. */
const timeoutMs = 5_000;

/** Undefined: the endpoint has not answered, or with what `parse` does not know. Rejects when the signal of the ports aborts. */
export async function answerOf<T>(
  { clock, signal: parent, note }: AskPorts,
  { name, get }: Endpoint,
  { path, parse }: { readonly path: string; readonly parse: (body: string) => T | undefined },
): Promise<T | undefined> {
  const refuse = (why: string): undefined => {
    note(forScreen(`${name}: ${why}`));
  };
  try {
    const { status, contentType, body } = await withDeadline(clock, { parent, ms: timeoutMs }, (signal) =>
      // A peer that is silent, or a port that does not care for the signal.
      unlessAborted(get(path, signal), signal),
    );
    if (status !== 200) return refuse(reasons[status] ?? `it answers ${status}`);
    if (!/^application\/json\s*(;|$)/i.test(contentType)) return refuse('the answer is no JSON');
    return parse(body) ?? refuse('the answer is not that of csi-sidecars');
  } catch (error) {
    if (parent.aborted) throw error;
    return refuse(toError(error).message);
  }
}

const reasons: Readonly<Record<number, string>> = {
  403: 'it answers 403: --debug-explain=loopback is for port-forwards only',
  404: "it answers 404: an upstream's program, or one without --debug-explain",
  429: 'it answers 429: others ask at the same time',
  503: 'it answers 503: its caches are not listed yet',
};
