// SPDX-License-Identifier: Apache-2.0
/** What all rows get: the reader, the options of the command line, and short forms. */
import type { KubeObject } from '@csi-sidecars/runtime';
import type { ProvisionerNaming } from '../actors/leader-settings.ts';
import type { Reader } from '../cluster/reader.ts';
import { kubectl } from '../command/printable.ts';
import { eventsOf, failureOf } from '../facts/events.ts';
import { createdMs, deletedMs } from '../facts/objects.ts';
import type {
  Actor,
  Change,
  Failure,
  NextCommand,
  ObjectName,
  Retry,
  Row,
  Since,
  StageId,
  Verdict,
  VerdictExit,
} from '../verdict.ts';

export interface Options {
  readonly hasEvents: boolean;
  /** VolumeAttachments may be listed. */
  readonly isDeep: boolean;
  readonly driverNamespace: string;
  readonly snapshotControllerNamespace: string;
  /** Undefined: what the leader of csi-provisioner is given counts. */
  readonly volumeNaming: ProvisionerNaming | undefined;
  readonly allVolumes: boolean;
}

export interface Context {
  readonly reader: Reader;
  readonly options: Options;
}

type Extra = Omit<Verdict, 'row' | 'exit' | 'actor' | 'stage' | 'sentence'>;

/** A line of the table: the row, the exit code, whose turn it is, and what is waited for. */
export type Line = readonly [row: Row, exit: VerdictExit, actor: Actor, stage: StageId | undefined];

/** `verdictOf(['X15', 3, 'user', 'schedule'], 'waits for ...')`. */
export function verdictOf([row, exit, actor, stage]: Line, sentence: string, extra: Extra = {}): Verdict {
  return { row, exit, actor, stage, sentence, ...extra };
}

/** The newest failure that events of this object record; undefined if there is none, or if events are not read. */
export async function recordedFailure(
  { reader, options }: Context,
  object: ObjectName,
  reasons: readonly string[],
): Promise<Failure | undefined> {
  if (!options.hasEvents) return undefined;
  return failureOf(await eventsOf(reader, object), reasons, object);
}

/** `kubectl get KIND NAME -o yaml`, or nothing if the name is none. */
export function getYaml(kind: string, name: string | undefined, namespace?: string): NextCommand | undefined {
  const argv =
    name === undefined ? undefined : kubectl(['get', kind], [name], [...inNamespace(namespace), '-o', 'yaml']);
  return argv && { argv, sentence: `the whole ${kind}` };
}

export function describe(kind: string, name: string | undefined, namespace?: string): NextCommand | undefined {
  const argv = name === undefined ? undefined : kubectl(['describe', kind], [name], inNamespace(namespace));
  return argv && { argv, sentence: `the ${kind} with its events` };
}

export function podsOf(namespace: string | undefined): NextCommand | undefined {
  const argv = kubectl(['get', 'pods', '-n'], [namespace ?? '']);
  return argv && { argv, sentence: 'the pods of the namespace' };
}

function inNamespace(namespace: string | undefined): readonly string[] {
  return namespace === undefined || kubectl([], [namespace]) === undefined ? [] : ['-n', namespace];
}

export function sinceCreated(object: KubeObject): Since | undefined {
  const atMs = createdMs(object);
  return atMs === undefined ? undefined : { atMs };
}

/** A program goes on by itself; when is not known from outside. */
export function byItself(because: string): Retry {
  return { will: 'yes', earliestMs: undefined, latestMs: undefined, because };
}

export function onChange(because: string): Retry {
  return { will: 'onChange', because };
}

/** 4 once it has lasted that long; 3 if that is not known. */
export function personAfter({ reader }: Context, sinceMs: number | undefined, ms: number): 3 | 4 {
  return sinceMs !== undefined && reader.nowMs() - sinceMs >= ms ? 4 : 3;
}

export function change(what: string, object?: ObjectName, field?: string): Change {
  return { what, object, field };
}

export function sinceDeleted(object: KubeObject): Since | undefined {
  const atMs = deletedMs(object);
  return atMs === undefined ? undefined : { atMs };
}
