// SPDX-License-Identifier: Apache-2.0
/** Asks the endpoints about one object. Whatever fails is one line, and the answer from outside stays. */
import { type Clock, toError, withDeadline } from '@csi-sidecars/runtime';
import { forScreen } from '../command/printable.ts';
import type { ObjectName, Program } from '../verdict.ts';
import { parseAnswer, type AnsweredController, type AnsweredLoop } from './answer.ts';
import type { AskHttp } from './http.ts';

export interface ViaPorts {
  readonly urls: readonly URL[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ask: AskHttp;
  /** One line for a person. */
  readonly note: (line: string) => void;
}

export interface LeaderAnswer {
  readonly controller: AnsweredController;
  /** Undefined: the program knows nothing of the object. */
  readonly loop: AnsweredLoop | undefined;
}

const timeoutMs = 5_000;

const shortNames: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: 'pvc',
  PersistentVolume: 'pv',
  VolumeAttachment: 'va',
  VolumeSnapshot: 'vs',
  VolumeSnapshotContent: 'vsc',
  VolumeGroupSnapshot: 'vgs',
};

/** What the leader of the program says of the object; undefined: no endpoint has said anything that can be used. */
export async function askLeader(
  ports: ViaPorts,
  program: Program,
  object: ObjectName,
): Promise<LeaderAnswer | undefined> {
  const kind = shortNames[object.kind];
  if (kind === undefined) return undefined;
  const key = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
  const query = new URLSearchParams({ kind, key }).toString();
  const answers = await Promise.all(ports.urls.map((url) => answerFrom(ports, url, query)));
  const controllers = answers.flatMap((answer) => answer ?? []).filter((each) => each.program === program);
  const leader = controllers.find(({ leading }) => leading);
  if (leader !== undefined) return { controller: leader, loop: loopAbout(leader.loops, object) };
  const [standby] = controllers;
  if (standby !== undefined) {
    const holder = standby.holder === null ? 'it is not known who does' : `${standby.holder} does`;
    ports.note(forScreen(`--via: ${program} of pod ${standby.pod ?? '?'} does not lead: ${holder}`));
  } else if (answers.some((answer) => answer !== undefined)) {
    ports.note(`--via: no endpoint is that of ${program}`);
  }
  return undefined;
}

async function answerFrom(
  { clock, signal: parent, ask, note }: ViaPorts,
  url: URL,
  query: string,
): Promise<readonly AnsweredController[] | undefined> {
  const refuse = (why: string): undefined => {
    note(forScreen(`--via=${url.origin}: ${why}`));
  };
  try {
    const asked = new URL(`?${query}`, url);
    const { status, contentType, body } = await withDeadline(clock, { parent, ms: timeoutMs }, (signal) =>
      // A peer that is silent, or a port that does not care for the signal.
      Promise.race([ask(asked, signal), aborted(signal)]),
    );
    if (status !== 200) return refuse(reasons[status] ?? `it answers ${status}`);
    if (!/^application\/json\s*(;|$)/i.test(contentType)) return refuse('the answer is no JSON');
    return parseAnswer(body) ?? refuse('the answer is not that of csi-sidecars');
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

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Of the loops that know the object, the one that works on it, then one that will, then the one that has decided last. */
function loopAbout(loops: readonly AnsweredLoop[], { uid }: ObjectName): AnsweredLoop | undefined {
  const known = loops.filter((loop) => loop.known && (uid === undefined || loop.uid === null || loop.uid === uid));
  return (
    known.find(({ run }) => run !== null) ??
    known.find(({ place }) => place !== null) ??
    known.find(({ nextMs }) => nextMs !== null) ??
    known.toSorted((left, right) => (right.last?.atMs ?? 0) - (left.last?.atMs ?? 0))[0]
  );
}
