// SPDX-License-Identifier: Apache-2.0
/** One question to one endpoint of a leader. Whatever fails is one line, and no answer. */
import { type Clock, toError, unlessAborted, withDeadline } from '@csi-sidecars/runtime';
import { forScreen } from '../command/printable.ts';
import type { HttpAnswer, HttpAsking } from './http.ts';

export interface Endpoint {
  /** What a line about it begins with: `--via=http://127.0.0.1:8080`. */
  readonly name: string;
  /** `path` has its query. */
  readonly get: (path: string, asking: HttpAsking) => Promise<HttpAnswer>;
  /** Where it serves its metrics. */
  readonly metricsPath: string;
}

export interface AskPorts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** One line for a person. */
  readonly note: (line: string) => void;
}

/** With the opening of a port-forward. */
const timeoutMs = 5_000;

/** What an answer must be, and what is said of one that is not. */
interface AnswerKind {
  readonly mediaType: string;
  readonly mostBytes?: number;
  /** By status. */
  readonly refusals: Readonly<Record<number, string>>;
  readonly otherType: string;
  readonly otherText: string;
}

export interface Asked<T> {
  readonly path: string;
  /** Undefined: the text is no such answer. */
  readonly parse: (body: string) => T | undefined;
  /** Default: `debugAnswer`. */
  readonly kind?: AnswerKind;
}

/** Undefined: the endpoint has not answered, or with what `parse` does not know. Rejects when the signal of the ports aborts. */
export async function answerOf<T>(
  { clock, signal: parent, note }: AskPorts,
  { name, get }: Endpoint,
  { path, parse, kind = debugAnswer }: Asked<T>,
): Promise<T | undefined> {
  const refuse = (why: string): undefined => {
    note(forScreen(`${name}: ${why}`));
  };
  try {
    const { status, contentType, body } = await withDeadline(clock, { parent, ms: timeoutMs }, (signal) =>
      // A peer that is silent, or a port that does not care for the signal.
      unlessAborted(get(path, { signal, mostBytes: kind.mostBytes }), signal),
    );
    if (status !== 200) return refuse(kind.refusals[status] ?? `it answers ${status}`);
    const [mediaType = ''] = contentType.split(';', 1);
    if (mediaType.trim().toLowerCase() !== kind.mediaType) return refuse(kind.otherType);
    return parse(body) ?? refuse(kind.otherText);
  } catch (error) {
    if (parent.aborted) throw error;
    return refuse(toError(error).message);
  }
}

/** What `/debug/explain` and `/debug/audit` answer. */
const debugAnswer: AnswerKind = {
  mediaType: 'application/json',
  refusals: {
    403: 'it answers 403: --debug-explain=loopback is for port-forwards only',
    404: "it answers 404: an upstream's program, or one without --debug-explain",
    429: 'it answers 429: others ask at the same time',
    503: 'it answers 503: its caches are not listed yet',
  },
  otherType: 'the answer is no JSON',
  otherText: 'the answer is not that of csi-sidecars',
};

/** What a page of metrics answers. */
export const metricsAnswer: AnswerKind = {
  mediaType: 'text/plain',
  mostBytes: 1_024 * 1_024,
  refusals: {},
  otherType: 'its metrics are no text',
  otherText: 'its metrics are none',
};
