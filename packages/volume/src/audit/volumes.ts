// SPDX-License-Identifier: Apache-2.0
/** The volumes that a driver lists, and the PersistentVolumes of the cluster: O1 to O12, O16 and O17 of docs/behaviour/audit.md. Pure. */
import type { Answer, DriverList, Earlier, ListedVolume, OpenWork, RecordedVolume, Rules } from './facts.ts';
import { type Finding, keyOf, seen } from './finding.ts';
import { atOnce, sliced, type Slices } from './slices.ts';

export interface VolumesState {
  readonly list: DriverList<ListedVolume>;
  /** Gone through once, and again if two have one handle. */
  readonly recorded: Iterable<RecordedVolume>;
  /** Handles that something else than a PersistentVolume names, as an attachment of an inline volume. */
  readonly otherwiseNamed: { has(handle: string): boolean };
  readonly openWork: OpenWork;
  /** Handles of volumes of which snapshots are taken. */
  readonly snapshotSources: ReadonlySet<string>;
  /** Handles that a PersistentVolume named within the grace, which is gone. */
  readonly recentlyRecorded: ReadonlySet<string>;
  /** What ControllerGetVolume answered. */
  readonly answers: ReadonlyMap<string, Answer>;
  readonly rules: Rules;
  readonly earlier: Earlier;
}

export interface VolumesComparison {
  readonly findings: readonly Finding[];
  /** Handles of which the driver can be asked, oldest first: it does not list them. */
  readonly toAsk: readonly string[];
  /** Volumes that do not begin with the prefix. */
  readonly foreign: number;
  /** The list is so short that the driver seems to list a part of its volumes. */
  readonly isSuspicious: boolean;
}

/** Handles that differ in upper and lower case only, each by the other. */
type Twins = ReadonlyMap<string, string>;

const mib = 1024 ** 2;
const releasedForMs = 3_600_000;

export function compareVolumes(state: VolumesState): VolumesComparison {
  return atOnce(volumesCompared(state));
}

export function* volumesCompared(state: VolumesState): Slices<VolumesComparison> {
  const { list, rules } = state;
  const { named, vague, shared, unlisted, listed, here, listsOwnOnly } = yield* recordedIn(state);
  const unrecorded: string[] = [];
  yield* sliced(list.entries.keys(), (handle) => {
    if (!named.has(handle) && !vague.has(lastPartOf(handle))) unrecorded.push(handle);
  });
  const twins = twinsOf(unrecorded, unlisted);
  const isSuspicious = list.isComplete && list.entries.size * 2 < here;
  const findings: Finding[] = [];
  const toAsk: RecordedVolume[] = [];
  let foreign = 0;
  yield* sliced(unrecorded, (handle) => {
    const found = unrecordedOf(state, handle, twins);
    if (found === 'foreign') foreign += 1;
    else if (found !== undefined) findings.push(found);
  });
  yield* sliced(list.isComplete ? unlisted : [], (volume) => {
    const found = unlistedOf(state, volume, { twins, isSuspicious, listsOwnOnly });
    if (found.row === 'O10' && !isSuspicious && !volume.isBeingDeleted) toAsk.push(volume);
    findings.push(found);
  });
  for (const found of listed) findings.push(found);
  for (const [handle, volumes] of shared) findings.push(sharedOf(handle, volumes, list.startedMs));
  for (const handle of list.contradicted) {
    if (handle.startsWith(rules.handlePrefix)) findings.push(doubtfulOf(handle, list.startedMs, 'other facts'));
  }
  return {
    findings,
    toAsk: toAsk.sort((left, right) => left.createdMs - right.createdMs).map(({ handle }) => handle),
    foreign,
    isSuspicious,
  };
}

interface Recorded {
  readonly named: ReadonlySet<string>;
  /** Last parts of handles of which no more is known. */
  readonly vague: ReadonlySet<string>;
  /** Those of a handle that several name. */
  readonly shared: ReadonlyMap<string, readonly RecordedVolume[]>;
  readonly unlisted: readonly RecordedVolume[];
  /** Findings about volumes that the driver lists. */
  readonly listed: readonly Finding[];
  /** Without those of other nodes. */
  readonly here: number;
  /** The driver lists none that a person made. */
  readonly listsOwnOnly: boolean;
}

/** No volume is kept that is named once and listed: of a large cluster these are all but a few. */
function* recordedIn(state: VolumesState): Slices<Recorded> {
  const { list, recorded } = state;
  const [named, vague] = [new Set<string>(), new Set<string>()];
  const shared = new Map<string, RecordedVolume[]>();
  const unlisted: RecordedVolume[] = [];
  const listed: Finding[] = [];
  let here = 0;
  let listsOwnOnly = true;
  yield* sliced(recorded, (volume) => {
    const { handle } = volume;
    if (!volume.isExact) {
      vague.add(lastPartOf(handle));
      return;
    }
    if (named.has(handle)) shared.set(handle, []);
    named.add(handle);
    if (!volume.isElsewhere) here += 1;
    const entry = list.entries.get(handle);
    if (entry === undefined) unlisted.push(volume);
    else {
      listsOwnOnly &&= volume.isProvisioned;
      listed.push(...listedOf(state, volume, entry));
    }
  });
  yield* sliced(shared.size === 0 ? [] : recorded, (volume) => {
    shared.get(volume.handle)?.push(volume);
  });
  return { named, vague, shared, unlisted, listed, here, listsOwnOnly };
}

function lastPartOf(handle: string): string {
  return handle.slice(handle.lastIndexOf('/') + 1);
}

/** A handle that is listed and not recorded, and one that is recorded and not listed, name each other if only upper and lower case differ. */
function twinsOf(unrecorded: readonly string[], unlisted: readonly RecordedVolume[]): Twins {
  const inLowerCase = new Map(unrecorded.map((handle) => [handle.toLowerCase(), handle]));
  return new Map(
    unlisted.flatMap(({ handle }): readonly (readonly [string, string])[] => {
      const twin = inLowerCase.get(handle.toLowerCase());
      return twin === undefined
        ? []
        : [
            [twin, handle],
            [handle, twin],
          ];
    }),
  );
}

/** The driver lists it, and no PersistentVolume names it. */
function unrecordedOf(state: VolumesState, handle: string, twins: Twins): Finding | 'foreign' | undefined {
  const { list, openWork, earlier, rules } = state;
  const key = keyOf('unrecorded', handle);
  const found = (row: Finding['row'], facts: Omit<Finding, 'row' | 'handle' | 'sinceMs'>): Finding => ({
    row,
    handle,
    sinceMs: list.startedMs,
    ...facts,
  });
  if (state.otherwiseNamed.has(handle)) return undefined;
  const twin = twins.get(handle);
  if (twin !== undefined) return doubtfulOf(handle, list.startedMs, `upper and lower case from ${twin}`);
  if (!handle.startsWith(rules.handlePrefix)) return 'foreign';
  if (openWork.kind === 'open') {
    const sentence = `no PersistentVolume names it; ${openWork.what}, and its volume may be this one`;
    return found('O3', { class: 'young', level: 'mayBeWork', confirmed: false, sentence });
  }
  if (state.snapshotSources.has(handle) || state.recentlyRecorded.has(handle)) {
    const why = state.snapshotSources.has(handle)
      ? 'a VolumeSnapshotContent is to be taken of it'
      : 'one was deleted a short time ago';
    return found('O5', { ...seen('unrecorded', false), key, sentence: `no PersistentVolume names it; ${why}` });
  }
  if (openWork.kind === 'unknown' || !list.isComplete || !earlier.has(key)) {
    return found('O4', {
      ...seen('unrecorded', false),
      key,
      sentence: 'no PersistentVolume names it; a second list after the grace decides',
    });
  }
  return found('O6', {
    ...seen('unrecorded', true),
    key,
    sentence: 'no object of this cluster names it; another cluster may',
  });
}

interface Unlisted {
  readonly twins: Twins;
  readonly isSuspicious: boolean;
  readonly listsOwnOnly: boolean;
}

/** A PersistentVolume names it, and the driver does not list it. */
function unlistedOf(state: VolumesState, volume: RecordedVolume, facts: Unlisted): Finding {
  const { list, rules, earlier, answers } = state;
  const { handle } = volume;
  const about = { ...named(volume), handle, sinceMs: volume.createdMs };
  const info = { level: 'info', confirmed: false } as const;
  const twin = facts.twins.get(handle);
  if (twin !== undefined)
    return { ...doubtfulOf(handle, volume.createdMs, `upper and lower case from ${twin}`), ...named(volume) };
  if (volume.createdMs > list.startedMs - rules.graceMs) {
    const sentence = 'the driver does not list it; the PersistentVolume is younger than the grace';
    return { ...about, row: 'O7', class: 'young', level: 'mayBeWork', confirmed: false, sentence };
  }
  if (volume.isElsewhere) {
    const sentence = 'it belongs to another node, whose driver was not asked';
    return { ...about, ...info, row: 'O9', class: 'notListed', sentence };
  }
  if (!volume.isProvisioned && facts.listsOwnOnly) {
    const sentence = 'a person made the PersistentVolume, and the driver lists only volumes that it made';
    return { ...about, ...info, row: 'O9', class: 'notListed', sentence };
  }
  const answer = answers.get(handle);
  if (answer === 'exists') {
    const sentence = 'the driver does not list it, and knows it when it is asked for it';
    return { ...about, ...info, row: 'O8', class: 'pagingGap', sentence };
  }
  // A list that may be a part confirms nothing later either.
  const key = facts.isSuspicious ? undefined : keyOf('missing', handle);
  const isConfirmed = key !== undefined && (answer === 'notFound' || earlier.has(key));
  const sentence = facts.isSuspicious
    ? 'the driver does not list it, and seems to list a part of its volumes'
    : isConfirmed
      ? 'the driver does not have it'
      : 'the driver does not list it; a second list after the grace decides';
  return { ...about, ...seen('missing', isConfirmed), row: 'O10', key, sentence };
}

/** A PersistentVolume names it, and the driver lists it. */
function listedOf(state: VolumesState, volume: RecordedVolume, entry: ListedVolume): readonly Finding[] {
  const { list, earlier } = state;
  const { handle, releasedMs, capacityBytes, isResizing } = volume;
  const found: Finding[] = [];
  if (releasedMs !== undefined && list.startedMs - releasedMs > releasedForMs) {
    found.push({
      ...named(volume),
      handle,
      row: 'O11',
      class: 'undeleted',
      level: 'difference',
      confirmed: true,
      sinceMs: releasedMs,
      sentence: 'its PersistentVolume is released with the policy Delete, and the volume is still there',
    });
  }
  const differs = differsInSize(entry.capacityBytes, capacityBytes);
  if (differs && !isResizing && capacityBytes !== undefined && !list.contradicted.has(handle)) {
    const isSmaller = entry.capacityBytes < capacityBytes;
    const key = keyOf('size', handle);
    found.push({
      ...named(volume),
      handle,
      row: 'O12',
      ...(isSmaller
        ? seen('size', earlier.has(key))
        : ({ class: 'size', level: 'info', confirmed: earlier.has(key) } as const)),
      key,
      sinceMs: list.startedMs,
      sentence: `the driver lists ${entry.capacityBytes} bytes, ${isSmaller ? 'less' : 'more'} than the ${capacityBytes} of the PersistentVolume`,
    });
  }
  return found;
}

/** By more than a mebibyte and a hundredth: drivers round. */
function differsInSize(listed: number, recorded: number | undefined): boolean {
  if (listed <= 0 || recorded === undefined) return false;
  const difference = Math.abs(listed - recorded);
  return difference > mib && difference > recorded / 100;
}

function sharedOf(handle: string, volumes: readonly RecordedVolume[], sinceMs: number): Finding {
  const [first] = volumes;
  return {
    row: 'O16',
    class: 'sharedHandle',
    level: 'difference',
    confirmed: true,
    handle,
    ...(first !== undefined && named(first)),
    sinceMs: Math.max(...volumes.map(({ createdMs }) => createdMs)) || sinceMs,
    sentence: `${volumes.length} PersistentVolumes name it: ${volumes
      .slice(0, 3)
      .map(({ name }) => name)
      .join(', ')}`,
  };
}

function doubtfulOf(handle: string, sinceMs: number, what: string): Finding {
  const sentence =
    what === 'other facts' ? 'the driver lists it twice with different facts' : `it differs only in ${what}`;
  return { row: 'O17', class: 'doubtful', level: 'doubtful', confirmed: false, handle, sinceMs, sentence };
}

function named({ name, claim }: RecordedVolume): Pick<Finding, 'object' | 'claim'> {
  return { object: { kind: 'PersistentVolume', name }, claim };
}
