// SPDX-License-Identifier: Apache-2.0
/** What an audit prints: a document, or counts and the oldest findings of each class. No command that it prints changes anything. */
import type { AuditClass, Finding } from '@csi-sidecars/volume';
import type { Missing } from '../cluster/reader.ts';
import { exits } from '../command/exit-codes.ts';
import { forScreen } from '../command/printable.ts';
import type { Explanation } from '../report/explanation.ts';
import { clean, missingJson } from '../report/parts.ts';
import { ageText } from '../report/screen.ts';
import type { VerdictExit } from '../verdict.ts';
import type { AuditKind } from './audit-flags.ts';
import type { Compared, FindingWithUsers } from './compare.ts';

export interface Report extends Omit<Compared, 'seen'> {
  readonly driver: string;
  /** What was asked for. */
  readonly kinds: ReadonlySet<AuditKind>;
  readonly atMs: number;
  /** Some object of the cluster names the driver. */
  readonly isKnown: boolean;
  /** Lists that were compared one after another. */
  readonly lists: number;
  /** Of all findings, if not all of them are there. */
  readonly counts?: ReadonlyMap<string, number>;
  /** Who has compared. Default: the command itself. */
  readonly leaders?: readonly ToldBy[];
  readonly missing: readonly Missing[];
  readonly cost: Explanation['cost'];
}

export interface ToldBy {
  readonly listed: 'volumes' | 'snapshots';
  readonly program: string;
  readonly pod: string;
  readonly endedMs: number;
  /** There are more findings than the leader answers. */
  readonly isTruncated: boolean;
}

/** Which exit code the findings mean: a difference is worse than a list that is not whole, and that is worse than what may be work under way. */
export function exitOf({ findings, isKnown, incomplete, notRun, kinds }: Report): VerdictExit {
  if (!isKnown) return exits.absent;
  const has = (level: Finding['level']): boolean => findings.some((finding) => finding.level === level);
  if (has('difference')) return exits.person;
  const nothingRan = [...kinds].every((kind) => notRun.some((each) => each.kind === kind));
  if (incomplete.length > 0 || nothingRan || notRun.some(({ isUnread }) => isUnread) || has('doubtful'))
    return exits.unknown;
  return has('mayBeWork') ? exits.waiting : exits.nothing;
}

const mostFindings = 10_000;
const mostPerClass = 20;

export function auditDocument(report: Report, exitCode: number): object {
  const { driver, atMs, isKnown, lists, foreign, notRun, incomplete, entries, cost, missing } = report;
  const findings = oldestFirst(report.findings);
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'Audit',
    at: timeText(atMs),
    driver: clean(driver),
    known: isKnown,
    exitCode,
    complete: incomplete.length === 0,
    lists,
    entries,
    counts: report.counts === undefined ? countsOf(findings) : Object.fromEntries(report.counts),
    leaders:
      report.leaders?.map(({ listed, program, pod, endedMs, isTruncated }) => ({
        listed,
        program,
        pod: clean(pod),
        at: timeText(endedMs),
        truncated: isTruncated,
      })) ?? null,
    foreign,
    findings: findings.slice(0, mostFindings).map(findingJson),
    notRun: notRun.map(({ kind, because }) => ({ kind, because: clean(because) })),
    incomplete: incomplete.map(({ kind, because }) => ({ kind, because: clean(because) })),
    missing: missing.map(missingJson),
    cost,
  };
}

/** The document of an audit that failed. */
export function failedAudit(message: string, exitCode: number): object {
  return { apiVersion: 'csi-sidecars/v1', kind: 'Audit', exitCode, error: { text: clean(message) } };
}

function findingJson(finding: FindingWithUsers): object {
  const { row, class: group, level, confirmed, handle, object, claim, node, sinceMs, sentence, pods } = finding;
  return {
    row,
    class: group,
    level,
    confirmed,
    handle: clean(handle),
    object: object === undefined ? null : { kind: object.kind, name: clean(object.name) },
    claim: claim === undefined ? null : { namespace: clean(claim.namespace), name: clean(claim.name) },
    node: node === undefined ? null : clean(node),
    pods: pods === undefined ? null : pods.map(clean),
    since: timeText(sinceMs),
    sentence: clean(sentence),
  };
}

function timeText(ms: number): string | null {
  // A time beyond what a Date has is somebody's nonsense.
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null;
}

function oldestFirst(findings: readonly FindingWithUsers[]): readonly FindingWithUsers[] {
  return [...findings].sort((left, right) => left.sinceMs - right.sinceMs);
}

function countsOf(findings: readonly Finding[]): Partial<Record<AuditClass, number>> {
  const counts: Partial<Record<AuditClass, number>> = {};
  for (const { class: group } of findings) counts[group] = (counts[group] ?? 0) + 1;
  return counts;
}

/** Worst first. */
const order: readonly AuditClass[] = [
  'missing',
  'missingSnapshot',
  'sharedHandle',
  'size',
  'attachedToGoneNode',
  'attachedUnrecorded',
  'attachedMissing',
  'undeleted',
  'unrecorded',
  'unrecordedSnapshot',
  'doubtful',
  'unconfirmed',
  'young',
  'pagingGap',
  'notListed',
  'snapshotWithoutSource',
];

export function auditText(report: Report): string {
  const { driver, isKnown, entries, lists, notRun, incomplete, foreign, missing, atMs } = report;
  const lines: string[] = [
    `driver ${driver}: ${entries.volumes} volumes and ${entries.snapshots} snapshots in ${lists === 1 ? 'one list' : `each of ${lists} lists`}`,
  ];
  for (const { listed, program, pod, endedMs, isTruncated } of report.leaders ?? []) {
    lines.push(`${program} of pod ${pod} has compared the ${listed} ${ageText(atMs - endedMs)} ago.`);
    if (isTruncated) lines.push('There are more differences than it answers: its log has all of them at level 4.');
  }
  if (!isKnown) lines.push('No object of this cluster names the driver: is it the right cluster?');
  for (const { kind, because } of incomplete) lines.push(`The list of ${kind} is incomplete: ${because}.`);
  for (const { kind, because } of notRun) lines.push(`Not compared: ${kind}, because ${because}.`);
  // A kind that the API server does not serve has no objects.
  const unread = missing
    .filter(({ because }) => because !== 'absent')
    .map(({ verb, resource, because }) => `${verb} ${resource} (${because})`);
  if (unread.length > 0) lines.push(`Not read: ${unread.join(', ')}.`);
  if (foreign > 0) lines.push(`${foreign} volumes do not begin with --volume-id-prefix.`);
  const findings = oldestFirst(report.findings);
  if (findings.length === 0) lines.push('No difference was found.');
  for (const group of order) {
    const those = findings.filter((finding) => finding.class === group);
    if (those.length === 0) continue;
    lines.push('', `${group}: ${report.counts?.get(group) ?? those.length}`);
    for (const finding of those.slice(0, mostPerClass)) lines.push(lineOf(finding, atMs));
    if (those.length > mostPerClass) lines.push(`  and ${those.length - mostPerClass} more: -o json`);
  }
  if (
    report.findings.some(({ class: group }) => group === 'unconfirmed') &&
    lists === 1 &&
    report.leaders === undefined
  ) {
    lines.push('', 'What is unconfirmed may be work under way: --confirm 1 waits for --grace and lists again.');
  }
  return `${lines.map((line) => forScreen(line)).join('\n')}\n`;
}

function lineOf({ row, handle, object, claim, sinceMs, sentence, pods = [] }: FindingWithUsers, atMs: number): string {
  const names = [
    handle,
    ...(object === undefined ? [] : [`${object.kind} ${object.name}`]),
    ...(claim === undefined ? [] : [`claim ${claim.namespace}/${claim.name}`]),
    ...(pods.length === 0 ? [] : [`pods ${pods.slice(0, 3).join(', ')}${pods.length > 3 ? ', ...' : ''}`]),
  ];
  return `  ${row}  ${names.join(', ')}: ${sentence} (${ageText(atMs - sinceMs)})`;
}
