// SPDX-License-Identifier: Apache-2.0
/** Asks the endpoints about one object. Whatever fails is one line, and the answer from outside stays. */
import type { Question } from '../actors/leader.ts';
import type { Reader } from '../cluster/reader.ts';
import { forScreen } from '../command/printable.ts';
import type { ObjectName } from '../verdict.ts';
import { parseAnswer, type AnsweredController, type AnsweredLoop } from './answer.ts';
import { answerOf, type AskPorts, type Endpoint } from './endpoint.ts';

export interface ViaPorts extends AskPorts {
  /** `--via` or `--via-pod`. */
  readonly flag: string;
  /** Where a leader of the program may answer. None: a line says why. */
  readonly endpoints: (reader: Reader, question: Question) => Promise<readonly Endpoint[]>;
}

export interface LeaderAnswer {
  readonly controller: AnsweredController;
  /** Undefined: the program knows nothing of the object. */
  readonly loop: AnsweredLoop | undefined;
}

const shortNames: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: 'pvc',
  PersistentVolume: 'pv',
  VolumeAttachment: 'va',
  VolumeSnapshot: 'vs',
  VolumeSnapshotContent: 'vsc',
  VolumeGroupSnapshot: 'vgs',
};

export interface ObjectQuestion extends Question {
  readonly reader: Reader;
  readonly object: ObjectName;
}

/** What the leader of the program says of the object; undefined: no endpoint has said anything that can be used. */
export async function askLeader(
  ports: ViaPorts,
  { reader, object, ...question }: ObjectQuestion,
): Promise<LeaderAnswer | undefined> {
  const kind = shortNames[object.kind];
  if (kind === undefined) return undefined;
  const key = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
  const leader = await askController(ports, { reader, ...question }, new URLSearchParams({ kind, key }).toString());
  return leader && { controller: leader, loop: loopAbout(leader.loops, object) };
}

/** What the leader of the program says of itself and of its queues; undefined: no endpoint has said anything that can be used. */
export async function askController(
  ports: ViaPorts,
  { reader, ...question }: Question & { readonly reader: Reader },
  query: string = '',
): Promise<AnsweredController | undefined> {
  const { program } = question;
  const { flag, note } = ports;
  const path = `/debug/explain${query === '' ? '' : `?${query}`}`;
  const endpoints = await ports.endpoints(reader, question);
  const asked = { path, parse: parseAnswer };
  const answers = await Promise.all(endpoints.map((endpoint) => answerOf(ports, endpoint, asked)));
  const controllers = answers.flatMap((answer) => answer ?? []).filter((each) => each.program === program);
  const leader = controllers.find(({ leading }) => leading);
  if (leader !== undefined) return leader;
  const [standby] = controllers;
  if (standby !== undefined) {
    const holder = standby.holder === null ? 'it is not known who does' : `${standby.holder} does`;
    note(forScreen(`${flag}: ${program} of pod ${standby.pod ?? '?'} does not lead: ${holder}`));
  } else if (answers.some((answer) => answer !== undefined)) {
    note(`${flag}: no endpoint is that of ${program}`);
  }
  return undefined;
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
