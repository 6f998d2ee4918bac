// SPDX-License-Identifier: Apache-2.0
/** Whether what an endpoint has answered is an answer at all: everything that is used of it is looked at, and the rest is dropped. */
import { isDnsSubdomain } from '@csi-sidecars/volume';
import { boolean, count, type Fields, list, orNull, record, rowId, seconds, string, time, word } from './checked.ts';

export interface AnsweredRun {
  readonly row: string | null;
  readonly action: string | null;
  readonly method: string | null;
  readonly startedMs: number;
}

export interface AnsweredDecision {
  readonly row: string;
  readonly action: string;
  readonly atMs: number;
  readonly code: string | null;
  readonly text: string | null;
}

export interface AnsweredLoop {
  readonly known: boolean;
  readonly uid: string | null;
  readonly place: number | null;
  readonly depth: number;
  readonly run: AnsweredRun | null;
  readonly last: AnsweredDecision | null;
  /** Null: there is no failure, or no time for the next run. */
  readonly nextMs: number | null;
}

export interface AnsweredQueue {
  readonly name: string;
  readonly depth: number;
  readonly running: number;
  readonly workers: number;
  /** Null: no key waits. */
  readonly oldestSeconds: number | null;
}

export interface AnsweredRight {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Null: in all namespaces. */
  readonly namespace: string | null;
}

export interface AnsweredDriver {
  readonly name: string;
  readonly connected: boolean;
  readonly capabilities: ReadonlySet<string>;
}

export interface AnsweredController {
  readonly program: string;
  readonly leading: boolean;
  readonly holder: string | null;
  readonly version: string;
  readonly pod: string | null;
  readonly loops: readonly AnsweredLoop[];
  /** Of a summary. */
  readonly queues: readonly AnsweredQueue[];
  /** Null: it has none, or does not say, as an older version. */
  readonly driver: AnsweredDriver | null;
  /** Flags that are not the defaults. Null: it does not say. */
  readonly settings: ReadonlyMap<string, string> | null;
  /** Those that its account lacks. Null: it does not know, or does not say. */
  readonly rights: readonly AnsweredRight[] | null;
}

/** Undefined: the text is no answer of `/debug/explain`. */
export function parseAnswer(text: string): readonly AnsweredController[] | undefined {
  try {
    const answer = record(JSON.parse(text));
    // What it decides about the subject is not for the endpoint to say.
    if (answer['kind'] !== 'DebugExplanation' || 'verdict' in answer || 'exitCode' in answer) return undefined;
    if (answer['apiVersion'] !== 'csi-sidecars/v1') return undefined;
    const version = word(answer['version']);
    const pod = string(answer['pod']);
    return list(answer['controllers']).map((each) => controllerOf(record(each), { version, pod }));
  } catch {
    return undefined;
  }
}

function controllerOf(
  fields: Fields,
  { version, pod }: { readonly version: string; readonly pod: string },
): AnsweredController {
  return {
    program: word(fields['program']),
    leading: boolean(fields['leading']),
    holder: orNull(fields['holder'], string),
    version,
    pod: isDnsSubdomain(pod) ? pod : null,
    loops: list(fields['loops']).map((each) => loopOf(record(each))),
    queues: list(fields['queues']).map((each) => queueOf(record(each))),
    driver: orNull(fields['driver'] ?? null, (driver) => driverOf(record(driver))),
    settings: orNull(fields['settings'] ?? null, (settings) => settingsOf(record(settings))),
    rights: orNull(fields['rights'] ?? null, (rights) => list(rights).map((each) => rightOf(record(each)))),
  };
}

function queueOf(fields: Fields): AnsweredQueue {
  return {
    name: word(fields['name']),
    depth: count(fields['depth']),
    running: count(fields['running']),
    workers: count(fields['workers']),
    oldestSeconds: orNull(fields['oldestSeconds'], seconds),
  };
}

function driverOf(fields: Fields): AnsweredDriver {
  return {
    name: string(fields['name']),
    connected: boolean(fields['connected']),
    capabilities: new Set(list(fields['capabilities']).map(word)),
  };
}

function settingsOf(fields: Fields): ReadonlyMap<string, string> {
  const entries = Object.entries(fields);
  list(entries);
  return new Map(entries.map(([name, value]) => [word(name), string(value)]));
}

function rightOf(fields: Fields): AnsweredRight {
  return {
    verb: word(fields['verb']),
    group: string(fields['group']),
    resource: string(fields['resource']),
    namespace: orNull(fields['namespace'], string),
  };
}

function loopOf(fields: Fields): AnsweredLoop {
  const queue = record(fields['queue']);
  const backoff = orNull(fields['backoff'], record);
  return {
    known: boolean(fields['known']),
    uid: orNull(fields['uid'], string),
    place: orNull(queue['place'], count),
    depth: count(queue['depth']),
    run: orNull(fields['run'], (run) => runOf(record(run))),
    last: orNull(fields['last'], (last) => decisionOf(record(last))),
    nextMs: backoff && orNull(backoff['nextAt'], time),
  };
}

function runOf(fields: Fields): AnsweredRun {
  return {
    row: orNull(fields['row'], rowId),
    action: orNull(fields['action'], word),
    method: orNull(fields['method'], word),
    startedMs: time(fields['startedAt']),
  };
}

function decisionOf(fields: Fields): AnsweredDecision {
  return {
    row: rowId(fields['row']),
    action: word(fields['action']),
    atMs: time(fields['at']),
    code: orNull(fields['code'], word),
    text: orNull(fields['text'], string),
  };
}
