// SPDX-License-Identifier: Apache-2.0
/** Writes docs/reference/mutation.md from the results and the list of equivalent mutants. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { groups } from './groups.ts';
import { codeOf } from './mutants.ts';
import { type Equivalent, type FileResult, hash, type Results } from './records.ts';

const head = `<!-- Written by \`npm run mutation\`. Do not edit. -->
# Mutation run

\`npm run mutation -- packages/provisioner\` changes the code in small ways, one at a time, and runs the tests that reach the
changed place. A mutant that no test notices is a survivor: a test is missing, or the code does nothing. The run is not part
of CI.

What is changed: conditions become true and false; comparison, logical and arithmetic operators are swapped; one side of
\`&&\`, \`||\` and \`??\` is removed; statements, \`await\`, properties, elements and \`?.\` are removed; constants change; \`some\`,
\`every\`, \`filter\`, \`find\` lose their meaning. Texts and fields of log lines are left alone.

Score: killed mutants among those that are not equivalent. At least 90 % is wanted in every group. Files whose code has changed
since their run are counted: their results and lines are those of the run.

A run with \`--quick\` does not run the mutants that are listed as equivalent, and runs fewer tests against a survivor, and not
once more with all modules loaded again. Its score is never too high.
`;

function percent({ mutants, killed, equivalent }: Pick<FileResult, 'mutants' | 'killed' | 'equivalent'>): string {
  return mutants === equivalent ? '-' : `${((100 * killed) / (mutants - equivalent)).toFixed(1)} %`;
}

/** Markdown tables need the bar escaped. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function sum(results: readonly FileResult[]) {
  const total = { mutants: 0, killed: 0, equivalent: 0 };
  for (const { mutants, killed, equivalent } of results) {
    total.mutants += mutants;
    total.killed += killed;
    total.equivalent += equivalent;
  }
  return total;
}

export interface Run {
  /** The files of each group. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly results: Results;
  readonly changed: ReadonlySet<string>;
}

export function page({ files, results, changed }: Run, list: readonly Equivalent[]): string {
  const rows = [...files].map(([name, paths]) => {
    const ran = paths.flatMap((path) => results[path] ?? []);
    const total = sum(ran);
    const dates = ran.map(({ date }) => date).sort();
    const changes = paths.filter((path) => changed.has(path)).length;
    return `| ${name} | ${ran.length} of ${paths.length} | ${changes} | ${total.mutants} | ${total.killed} | ${total.equivalent} | ${percent(total)} | ${dates[0] ?? 'never'} |`;
  });
  const survivors = [...files.values()]
    .flat()
    .flatMap((path) =>
      (results[path]?.survivors ?? []).map(
        (text) => `- \`${path}\`, line ${text.replace(/^(\d+): (.*)$/s, '$1: ``$2``')}`,
      ),
    );
  const all = [...files.values()].flat();
  const stale = all.flatMap((path) => {
    if (results[path] === undefined) return [`- \`${path}\`: never run`];
    return changed.has(path) ? [`- \`${path}\`: changed since its run of ${results[path].date}`] : [];
  });
  const equivalents = list.map(
    ({ file, mutation, reason }) => `| \`${file}\` | \`\` ${cell(mutation)} \`\` | ${cell(reason)} |`,
  );
  return [
    head,
    '| Group | Files run | Changed since | Mutants | Killed | Equivalent | Score | Oldest run |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
    '\n## Files without a run of their present code\n',
    ...(stale.length === 0 ? ['None.'] : stale),
    '\n## Equivalent mutants\n',
    'No test can notice these, for the reason given. The list is `scripts/mutation/equivalents.json`.\n',
    ...(equivalents.length === 0 ? ['None.'] : ['| File | Mutation | Reason |', '|---|---|---|', ...equivalents]),
    '\n## Survivors\n',
    ...(survivors.length === 0 ? ['None.'] : survivors),
    '',
  ].join('\n');
}

/** The files whose code has changed since their run. */
export function changedSince(results: Results, read: (path: string) => string): ReadonlySet<string> {
  const isChanged = ([path, { source }]: readonly [string, FileResult]): boolean =>
    hash(codeOf(path, read(path))) !== source;
  return new Set(
    Object.entries(results)
      .filter(isChanged)
      .map(([path]) => path),
  );
}

export function writePage(root: string, results: Results, list: readonly Equivalent[]): void {
  const files = new Map(
    groups.map(({ name, files: patterns }) => [
      name,
      patterns
        .flatMap((pattern) => globSync(pattern, { cwd: root }))
        .filter((path) => !path.endsWith('.test.ts'))
        .sort(),
    ]),
  );
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const paths = new Set([...files.values()].flat());
  const known = Object.fromEntries(Object.entries(results).filter(([path]) => paths.has(path)));
  writeFileSync(
    join(root, 'docs/reference/mutation.md'),
    page({ files, results: known, changed: changedSince(known, read) }, list),
  );
}
