// SPDX-License-Identifier: Apache-2.0
/** What the command prints: a table for people, JSON for programs. Pure. */
import { leftOf, resourceOf, type Result } from './remove.ts';
import type { Leftover, Verdict } from './state.ts';

const removable: Readonly<Record<Verdict, string>> = {
  safe: 'yes',
  unsettled: 'with --include-unsettled',
  manual: 'no',
  inUse: 'in use',
};

const header = ['KIND', 'NAMESPACE', 'NAME', 'LEFT', 'DRIVER', 'REMOVABLE', 'VOLUME', 'ROW', 'REASON'];

/** Columns are as wide as their widest cell, as those of kubectl. */
export function tableOf(leftovers: readonly Leftover[]): string {
  const rows = [header, ...leftovers.map(cellsOf)];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 3))
      .join('')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

function cellsOf({ subject, decision }: Leftover): readonly string[] {
  const { namespace = '', name = '' } = subject.object.metadata ?? {};
  return [
    resourceOf(subject).kind,
    namespace,
    name,
    leftOf(subject) || 'the object',
    subject.driver || '<unknown>',
    removable[decision.verdict],
    decision.volume ?? '',
    decision.row,
    decision.reason,
  ].map(printable);
}

/** Names and handles are written by others: no control character of theirs reaches a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

export function summaryOf(leftovers: readonly Leftover[], shown: readonly Leftover[]): string {
  const count = (verdict: Verdict): number => leftovers.filter(({ decision }) => decision.verdict === verdict).length;
  const [safe, unsettled, manual, inUse] = [count('safe'), count('unsettled'), count('manual'), count('inUse')];
  const left =
    safe + unsettled + manual === 0
      ? 'Nothing is left.'
      : `${safe} can be removed without loss, ${unsettled} may be the only record of a volume, ${manual} cannot be removed by this command.`;
  const hidden = leftovers.length - shown.length;
  return `${left}${inUse === 0 ? '' : ` ${inUse} in use${hidden === 0 ? '' : ' (--all shows them)'}.`}\n`;
}

export function jsonOf(leftovers: readonly Leftover[]): string {
  return `${JSON.stringify({ items: leftovers.map(itemOf) }, undefined, 2)}\n`;
}

export function resultsJsonOf(results: readonly Result[]): string {
  const items = results.map(({ leftover, result, detail }) => ({ ...itemOf(leftover), result, detail }));
  return `${JSON.stringify({ items }, undefined, 2)}\n`;
}

function itemOf({ subject, decision }: Leftover): Readonly<Record<string, string | null>> {
  const { namespace = null, name = '', uid = '' } = subject.object.metadata ?? {};
  return {
    kind: resourceOf(subject).kind,
    namespace,
    name,
    uid,
    left: leftOf(subject) || null,
    driver: subject.driver,
    row: decision.row,
    verdict: decision.verdict,
    volume: decision.volume ?? null,
    reason: decision.reason,
  };
}

const verbs: Readonly<Record<Result['result'], string>> = {
  removed: 'Removed',
  gone: 'Already gone:',
  kept: 'Kept:',
  failed: 'Failed:',
};

/** One line for each entry that was to be removed. It names the volume whose record went with it. */
export function lineOf({ leftover: { subject, decision }, result, detail }: Result): string {
  const { namespace, name = '' } = subject.object.metadata ?? {};
  const object = `${resourceOf(subject).kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
  const left = leftOf(subject);
  const what = left === '' ? object : `${left} of ${object}`;
  const volume =
    result === 'removed' && decision.volume !== undefined
      ? `; volume ${decision.volume} may exist in the storage system: look for it`
      : '';
  return `${printable(`${verbs[result]} ${what}${detail === '' ? '' : `: ${detail}`}${volume}`)}\n`;
}
