// SPDX-License-Identifier: Apache-2.0
/**
 * Fault rules: which calls they match, when in the call, how often, and what goes wrong. A rule is plain data, so that it can be sent
 * through the control socket. All rules that match a call are applied to it, in the order in which they were added.
 *
 * | at     | moment                                                                                        |
 * |--------|-----------------------------------------------------------------------------------------------|
 * | before | the call is in the journal, nothing else has happened                                         |
 * | during | the call is valid and holds its locks (others get ABORTED), nothing is done yet               |
 * | after  | the effect is durable, the locks are free, the caller has no answer yet                       |
 */
import type { CodeName } from '@csi-sidecars/csi';

export type Moment = 'before' | 'during' | 'after';

export type FaultAction =
  | { readonly kind: 'delay'; readonly ms: number }
  /** Until released or removed. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'fail'; readonly code: Exclude<CodeName, 'OK'>; readonly message?: string }
  /** The caller's connection breaks without an answer. */
  | { readonly kind: 'drop' }
  /** The driver dies as by kill -9. */
  | { readonly kind: 'crash' }
  /**
   * The call is executed but answered differently: fields of `set` replace those of the answer (nested messages are merged),
   * then the dotted paths of `unset` are removed.
   */
  | { readonly kind: 'answer'; readonly set?: object; readonly unset?: readonly string[] };

export interface FaultRule {
  /** Short or full method name; absent means every method. */
  readonly method?: string;
  /** A volume, snapshot or group that the call names by id or by name; absent means any. */
  readonly volume?: string;
  /** The node to attach to or detach from, or the node of a call to the node service; absent means any. */
  readonly nodeId?: string;
  /** A secret that the call carries, with this value if one is given; absent means any secrets. */
  readonly secret?: { readonly key: string; readonly value?: string };
  /** The number of matching calls that pass before the rule applies. */
  readonly skip?: number;
  /** The number of calls to which it then applies; absent means all, or one for a crash. */
  readonly times?: number;
  /** Absent means `before`; an `answer` always changes the answer that is sent. */
  readonly at?: Moment;
  readonly action: FaultAction;
}

/** The parts of a call that rules examine. */
export interface FaultSubject {
  readonly method: string;
  readonly request: object;
  readonly nodeId: string;
}

const namingFields = [
  'name',
  'volume_id',
  'source_volume_id',
  'snapshot_id',
  'group_snapshot_id',
  'source_volume_ids',
  'snapshot_ids',
];

export function matchesRule(rule: FaultRule, subject: FaultSubject): boolean {
  const request = subject.request as Readonly<Record<string, unknown>>;
  const { method, volume, nodeId, secret } = rule;
  return (
    (method === undefined || subject.method === method || subject.method.endsWith(`/${method}`)) &&
    (volume === undefined || namingFields.flatMap((field) => request[field]).includes(volume)) &&
    (nodeId === undefined || nodeId === nodeOf(subject)) &&
    (secret === undefined || carries(request['secrets'], secret))
  );
}

function nodeOf({ method, request, nodeId }: FaultSubject): unknown {
  return method.startsWith('/csi.v1.Node/') ? nodeId : (request as Readonly<Record<string, unknown>>)['node_id'];
}

function carries(secrets: unknown, wanted: { readonly key: string; readonly value?: string }): boolean {
  const value = (secrets as Readonly<Record<string, string>> | undefined)?.[wanted.key];
  return value !== undefined && (wanted.value === undefined || value === wanted.value);
}

/** Merges `set` into `answer`, message by message; lists and maps, even with other keys, are replaced completely. */
export function patched(answer: object, action: Extract<FaultAction, { readonly kind: 'answer' }>): object {
  const result = merged(answer, action.set ?? {});
  for (const path of action.unset ?? []) unset(result, path.split('.'));
  return result;
}

function merged(base: object, patch: object): Record<string, unknown> {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const before = result[key];
    result[key] = isRecord(value) && isRecord(before) ? merged(before, value) : structuredClone(value);
  }
  return result;
}

/** Messages on the path are copied, because the answer may share them with the driver's records. */
function unset(message: Record<string, unknown>, [field, ...rest]: readonly string[]): void {
  if (field === undefined) return;
  const inner = message[field];
  if (rest.length === 0) delete message[field];
  else if (isRecord(inner)) {
    const copy = { ...inner };
    message[field] = copy;
    unset(copy, rest);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
