// SPDX-License-Identifier: Apache-2.0
/** What a comparison of a driver's list with the cluster finds. Rows O stand on the page docs/behaviour/audit.md. */

export type AuditClass =
  /** May be work under way. */
  | 'young'
  /** Seen once; a second list decides. */
  | 'unconfirmed'
  | 'unrecorded'
  | 'missing'
  | 'undeleted'
  | 'size'
  | 'attachedUnrecorded'
  | 'attachedMissing'
  | 'attachedToGoneNode'
  | 'sharedHandle'
  | 'unrecordedSnapshot'
  | 'missingSnapshot'
  /** What the driver says contradicts itself. */
  | 'doubtful'
  | 'pagingGap'
  | 'notListed'
  | 'snapshotWithoutSource';

export type AuditRow = `O${number}`;

/**
 * `info`: no difference that a person has to look at. `mayBeWork`: a program may be at work. `difference`: the cluster and the storage differ.
 * `doubtful`: it cannot be decided.
 */
export type Level = 'info' | 'mayBeWork' | 'doubtful' | 'difference';

export interface AuditedObject {
  readonly kind: 'PersistentVolume' | 'VolumeSnapshotContent' | 'VolumeAttachment';
  readonly name: string;
}

export interface ClaimName {
  readonly namespace: string;
  readonly name: string;
}

export interface Finding {
  readonly row: AuditRow;
  readonly class: AuditClass;
  readonly level: Level;
  readonly confirmed: boolean;
  /** Of the volume or the snapshot. */
  readonly handle: string;
  readonly object?: AuditedObject | undefined;
  readonly claim?: ClaimName | undefined;
  /** A node id of the driver, or the name of a node. */
  readonly node?: string | undefined;
  /** Since when it is so, as far as is known; else when it was found. */
  readonly sinceMs: number;
  readonly sentence: string;
  /** Names the difference in a later comparison; undefined if this finding does not confirm one. */
  readonly key?: string | undefined;
}

export type Difference =
  | 'unrecorded'
  | 'missing'
  | 'size'
  | 'attachedUnrecorded'
  | 'attachedMissing'
  | 'attachedToGoneNode'
  | 'unrecordedSnapshot'
  | 'missingSnapshot';

/** The name of a difference in the list before and in the list after. */
export function keyOf(difference: Difference, handle: string, node = ''): string {
  return `${difference}\n${handle}\n${node}`;
}

/** The differences that another list confirms. */
export function keysOf(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(findings.flatMap(({ key }) => key ?? []));
}

/** How a difference is reported: `unconfirmed` until it was seen in two lists. */
export function seen(
  difference: Difference,
  isConfirmed: boolean,
): { readonly class: AuditClass; readonly level: Level; readonly confirmed: boolean } {
  return isConfirmed
    ? { class: difference, level: 'difference', confirmed: true }
    : { class: 'unconfirmed', level: 'mayBeWork', confirmed: false };
}
