// SPDX-License-Identifier: Apache-2.0
/** The snapshots that a driver lists, and the contents of the cluster: O17 to O23 of docs/behaviour/audit.md. Pure. */
import type { Answer, DriverList, Earlier, ListedSnapshot, OpenWork, RecordedSnapshot, Rules } from './facts.ts';
import { type Finding, keyOf, seen } from './finding.ts';
import { atOnce, sliced, type Slices } from './slices.ts';

export interface SnapshotsState {
  readonly list: DriverList<ListedSnapshot>;
  readonly recorded: Iterable<RecordedSnapshot>;
  /** Handles of the members of group contents, which contents of their own may not name yet. */
  readonly members: ReadonlySet<string>;
  /** A content that is being created. */
  readonly openWork: OpenWork;
  /** Whether the driver or the cluster has a volume; undefined: that is not known. */
  readonly hasVolume: ((handle: string) => boolean) | undefined;
  /** What ListSnapshots answered for one handle. */
  readonly answers: ReadonlyMap<string, Answer>;
  readonly rules: Pick<Rules, 'graceMs'>;
  readonly earlier: Earlier;
}

export interface SnapshotsComparison {
  readonly findings: readonly Finding[];
  /** Handles of which the driver can be asked, oldest first: it does not list them. */
  readonly toAsk: readonly string[];
  readonly isSuspicious: boolean;
}

export function compareSnapshots(state: SnapshotsState): SnapshotsComparison {
  return atOnce(snapshotsCompared(state));
}

export function* snapshotsCompared(state: SnapshotsState): Slices<SnapshotsComparison> {
  const { list, recorded, members, hasVolume } = state;
  const handles = new Set<string>();
  const ready: RecordedSnapshot[] = [];
  yield* sliced(recorded, (content) => {
    handles.add(content.handle);
    if (content.isReady) ready.push(content);
  });
  const isSuspicious = list.isComplete && list.entries.size * 2 < ready.length;
  const findings: Finding[] = [];
  const toAsk: RecordedSnapshot[] = [];
  yield* sliced(list.entries, ([handle, entry]) => {
    // Members have no annotation of their own, and a content only after the answer about their group.
    if (!handles.has(handle) && !members.has(handle)) findings.push(unrecordedOf(state, handle, entry));
    if (entry.sourceId !== '' && hasVolume?.(entry.sourceId) === false) {
      findings.push({
        row: 'O23',
        class: 'snapshotWithoutSource',
        level: 'info',
        confirmed: false,
        handle,
        sinceMs: entry.createdMs ?? list.startedMs,
        sentence: `its source ${entry.sourceId} is listed nowhere`,
      });
    }
  });
  yield* sliced(list.isComplete ? ready : [], (content) => {
    if (list.entries.has(content.handle)) return;
    const found = unlistedOf(state, content, isSuspicious);
    if (found.key !== undefined && state.answers.get(content.handle) === undefined) toAsk.push(content);
    findings.push(found);
  });
  for (const handle of list.contradicted) {
    findings.push({
      row: 'O17',
      class: 'doubtful',
      level: 'doubtful',
      confirmed: false,
      handle,
      sinceMs: list.startedMs,
      sentence: 'the driver lists the snapshot twice with different facts',
    });
  }
  const oldest = toAsk.sort((left, right) => left.createdMs - right.createdMs);
  return { findings, toAsk: oldest.map(({ handle }) => handle), isSuspicious };
}

function unrecordedOf(
  { list, openWork, rules, earlier }: SnapshotsState,
  handle: string,
  { createdMs }: ListedSnapshot,
): Finding {
  const about = { handle, sinceMs: createdMs ?? list.startedMs };
  const isNew = createdMs !== undefined && createdMs > list.startedMs - rules.graceMs;
  if (isNew || openWork.kind === 'open') {
    const why = openWork.kind === 'open' ? openWork.what : 'it is younger than the grace';
    const sentence = `no VolumeSnapshotContent names the snapshot; ${why}`;
    return { ...about, row: 'O19', class: 'young', level: 'mayBeWork', confirmed: false, sentence };
  }
  const key = keyOf('unrecordedSnapshot', handle);
  const isConfirmed = openWork.kind === 'none' && list.isComplete && earlier.has(key);
  const sentence = isConfirmed
    ? 'no VolumeSnapshotContent of this cluster names the snapshot; another cluster may, or one with the policy Retain was deleted'
    : 'no VolumeSnapshotContent names the snapshot; a second list after the grace decides';
  return { ...about, row: 'O20', ...seen('unrecordedSnapshot', isConfirmed), key, sentence };
}

function unlistedOf(
  { list, rules, answers, earlier }: SnapshotsState,
  { name, handle, createdMs }: RecordedSnapshot,
  isSuspicious: boolean,
): Finding {
  const object = { kind: 'VolumeSnapshotContent', name } as const;
  const about = { row: 'O21', handle, object, sinceMs: createdMs } as const;
  if (createdMs > list.startedMs - rules.graceMs) {
    const sentence = 'the driver does not list the snapshot; the content is younger than the grace';
    return { ...about, class: 'young', level: 'mayBeWork', confirmed: false, sentence };
  }
  if (answers.get(handle) === 'exists') {
    const sentence = 'the driver does not list the snapshot, and knows it when it is asked for it';
    return { ...about, class: 'pagingGap', level: 'info', confirmed: false, sentence };
  }
  // A list that may be a part confirms nothing later either.
  const key = isSuspicious ? undefined : keyOf('missingSnapshot', handle);
  const isConfirmed = key !== undefined && earlier.has(key);
  const sentence = isSuspicious
    ? 'the driver does not list the snapshot, and seems to list a part of its snapshots'
    : isConfirmed
      ? 'the driver does not have the snapshot'
      : 'the driver does not list the snapshot; a second list after the grace decides';
  return { ...about, ...seen('missingSnapshot', isConfirmed), key, sentence };
}
