// SPDX-License-Identifier: Apache-2.0
/** Results for people and for machines: a line per scenario, a summary, and `reports/<name>.json` with the counts. */
import { writeFileSync } from 'node:fs';
import type { Result } from './result.ts';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Always 0: scenarios are never skipped by choice. */
  readonly skipped: 0;
  /** The scenario needs something that is not available. */
  readonly notApplicable: number;
  /** Known failures of upstream's program. */
  readonly improvements: number;
}

export function countsOf(results: readonly Result[]): Counts {
  const count = (kind: Result['outcome']['kind']): number =>
    results.filter(({ outcome }) => outcome.kind === kind).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: 0,
    notApplicable: count('not applicable'),
    improvements: count('improvement'),
  };
}

export function lineOf({ id, title, outcome, ranMs, notes = [] }: Result): string {
  const name = `${id.padEnd(5)} ${title}`;
  switch (outcome.kind) {
    case 'passed':
      return `ok    ${name} (${(ranMs / 1000).toFixed(1)} s)${outcome.seen === 'half' ? ', driver not asked' : ''}${notes.map((note) => `\n${indented(note)}`).join('')}`;
    case 'failed':
      return [
        `FAIL  ${name} (${(ranMs / 1000).toFixed(1)} s)`,
        indented(messageOf(outcome.error)),
        ...(outcome.details === undefined ? [] : [indented(outcome.details)]),
      ].join('\n');
    case 'improvement':
      return `impr  ${name}: upstream ${outcome.over}`;
    case 'not applicable':
      return `n/a   ${name}: needs ${outcome.missing.join(', ')}`;
  }
}

export function summaryOf({ passed, failed, notApplicable, improvements }: Counts): string {
  const known = improvements > 0 ? `, ${improvements} failed by upstream as known` : '';
  return `${passed} passed, ${failed} failed, ${notApplicable} not applicable${known}`;
}

export function writeReport(path: string, results: readonly Result[]): void {
  const scenarios = results.map(({ id, title, outcome, ranMs, notes, memory }) => ({
    id,
    title,
    outcome: outcome.kind,
    ...('error' in outcome && { error: messageOf(outcome.error) }),
    ...(outcome.kind === 'failed' && outcome.details !== undefined && { details: outcome.details }),
    ...(outcome.kind === 'not applicable' && { missing: outcome.missing }),
    ranMs: Math.round(ranMs),
    ...(notes !== undefined && { notes }),
    ...(memory !== undefined && { memory }),
  }));
  writeFileSync(path, `${JSON.stringify({ ...countsOf(results), scenarios }, undefined, 2)}\n`);
}

/** The messages along the chain of causes, without stacks. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SuppressedError) return `${messageOf(error.error)}\nafter: ${messageOf(error.suppressed)}`;
  return error.cause === undefined ? error.message : `${error.message}\ncaused by: ${messageOf(error.cause)}`;
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `        ${line}`)
    .join('\n');
}
