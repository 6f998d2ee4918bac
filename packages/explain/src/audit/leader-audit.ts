// SPDX-License-Identifier: Apache-2.0
/** What `/debug/audit` of a leader answers. It is data of another program: each field is checked, and the rest is dropped. */
import type { AuditClass, AuditRow, Level } from '@csi-sidecars/volume';
import {
  boolean,
  count,
  type Fields,
  list,
  orNull,
  record,
  rowId,
  string,
  time,
  word,
} from '../leader-answer/checked.ts';
import type { FindingWithUsers } from './compare.ts';

export interface AnsweredPass {
  readonly endedMs: number;
  readonly result: 'ok' | 'incomplete' | 'failed';
  readonly reason: string | null;
  readonly entries: number;
  /** Of all findings. */
  readonly counts: ReadonlyMap<string, number>;
  readonly findings: readonly FindingWithUsers[];
  /** There are more findings than the answer has. */
  readonly isTruncated: boolean;
}

export interface AnsweredAudit {
  readonly program: string;
  /** Null: the program does not know its driver yet. */
  readonly driver: string | null;
  readonly leading: boolean;
  readonly pod: string;
  /** Null: it makes no audit. */
  readonly listed: 'volumes' | 'snapshots' | null;
  readonly running: boolean;
  /** Null: none has ended since it leads. */
  readonly last: AnsweredPass | null;
}

const mostFindings = 1_000;

/** Undefined: the text is no answer of `/debug/audit`. */
export function parseAudit(text: string): readonly AnsweredAudit[] | undefined {
  try {
    const answer = record(JSON.parse(text));
    if (answer['kind'] !== 'DebugAudit' || answer['apiVersion'] !== 'csi-sidecars/v1') return undefined;
    const pod = string(answer['pod']);
    return list(answer['controllers']).map((each) => answeredOf(record(each), pod));
  } catch {
    return undefined;
  }
}

function answeredOf(fields: Fields, pod: string): AnsweredAudit {
  return {
    program: word(fields['program']),
    driver: orNull(fields['driver'], string),
    leading: boolean(fields['leading']),
    pod,
    listed: orNull(fields['listed'], oneOf('volumes', 'snapshots')),
    running: boolean(fields['running']),
    last: orNull(fields['last'], (last) => passOf(record(last))),
  };
}

function passOf(fields: Fields): AnsweredPass {
  const counts = Object.entries(record(fields['counts']));
  list(counts);
  const endedMs = time(fields['endedAt']);
  return {
    endedMs,
    result: oneOf('ok', 'incomplete', 'failed')(fields['result']),
    reason: orNull(fields['reason'], string),
    entries: count(fields['entries']),
    counts: new Map(counts.map(([name, value]) => [word(name), count(value)])),
    findings: list(fields['findings'], mostFindings).map((each) => findingOf(record(each), endedMs)),
    isTruncated: boolean(fields['truncated']),
  };
}

function findingOf(fields: Fields, endedMs: number): FindingWithUsers {
  const object = orNull(fields['object'], record);
  const claim = orNull(fields['claim'], record);
  const sinceMs = orNull(fields['since'], time);
  return {
    row: rowId(fields['row']) as AuditRow,
    // A newer program may have a class more.
    class: word(fields['class']) as AuditClass,
    level: oneOf<Level>('info', 'mayBeWork', 'doubtful', 'difference')(fields['level']),
    confirmed: boolean(fields['confirmed']),
    handle: string(fields['handle']),
    ...(object !== null && {
      object: {
        kind: oneOf('PersistentVolume', 'VolumeSnapshotContent', 'VolumeAttachment')(object['kind']),
        name: string(object['name']),
      },
    }),
    ...(claim !== null && { claim: { namespace: string(claim['namespace']), name: string(claim['name']) } }),
    sinceMs: sinceMs ?? endedMs,
    sentence: string(fields['sentence']),
  };
}

function oneOf<T extends string>(...known: readonly T[]): (value: unknown) => T {
  return (value) => {
    const found = known.find((each) => each === value);
    if (found === undefined) throw new TypeError('no known word');
    return found;
  };
}
