// SPDX-License-Identifier: Apache-2.0
/** Writes docs/reference/mutation.md from the results, and the survivors to reports/mutation.md. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf, groups } from './groups.ts';
import { type FileResult, isPresent, type Results } from './records.ts';

const head = `<!-- Written by \`npm run mutation\`. Do not edit. -->
# Mutation run

\`npm run mutation -- packages/provisioner\` changes the code in small ways, one at a time, and runs the tests that reach the
changed place. A mutant that no test notices is a survivor: a test is missing, or the code does nothing. The run is not part
of CI; it goes on where an earlier one stopped.

What is changed: conditions and boolean results become true and false; comparison, logical and arithmetic operators are swapped; one side
of \`&&\`, \`||\` and \`??\` is removed; statements, \`await\`, callbacks, properties, elements and \`?.\` are removed; neighbouring
statements change places; constants change; \`some\`, \`every\`, \`filter\`, \`find\` lose their meaning. Texts and fields of log lines are
left alone.

Score: killed mutants among those that are not equivalent. At least 95 % is wanted in every package. A hang counts as killed, after a second
look with three times the patience. Judgements of equivalent mutants, each with its reason: \`scripts/mutation/equivalents.json\`; whole classes
of them: \`scripts/mutation/rules.ts\`.

\`npm run mutation -- --list\` prints the survivors, and with the beginning of a path only its own. A run writes all to \`reports/mutation.md\`.
`;

function percent({ mutants, killed, equivalent }: Pick<FileResult, 'mutants' | 'killed' | 'equivalent'>): string {
  return mutants === equivalent ? '-' : `${((100 * killed) / (mutants - equivalent)).toFixed(1)} %`;
}

function sum(results: readonly FileResult[]) {
  const total = { mutants: 0, killed: 0, hung: 0, equivalent: 0 };
  for (const { mutants, killed, hung, equivalent } of results) {
    total.mutants += mutants;
    total.killed += killed;
    total.hung += hung;
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

/** Files count as run if the run was of their present code. */
const currentFiles = ({ files, results, changed }: Run): readonly string[] =>
  [...files.values()].flat().filter((path) => results[path] !== undefined && !changed.has(path));

export const survivorsOf = (run: Run): readonly string[] =>
  currentFiles(run).flatMap((path) => (run.results[path]?.survivors ?? []).map((text) => `${path}:${text}`));

export function page(run: Run, linesOf: (path: string) => number): string {
  const { files, results } = run;
  const current = new Set(currentFiles(run));
  const lines = (paths: readonly string[]): number => paths.reduce((total, path) => total + linesOf(path), 0);
  const rows = [...files].map(([name, paths]) => {
    const ran = paths.flatMap((path) => (current.has(path) ? (results[path] ?? []) : []));
    const total = sum(ran);
    const dates = ran.map(({ date }) => date).sort();
    return `| ${name} | ${ran.length} of ${paths.length} | ${total.mutants} | ${total.killed} | ${total.hung} | ${total.equivalent} | ${total.mutants - total.killed - total.equivalent} | ${percent(total)} | ${dates[0] ?? 'never'} |`;
  });
  const all = [...files.values()].flat();
  const share = ((100 * lines([...current])) / lines(all)).toFixed(0);
  return [
    head,
    `The runs cover ${share} % of the lines that ship (${current.size} of ${all.length} files in their present code).\n`,
    '| Package | Files run | Mutants | Killed | Of these hung | Equivalent | Survivors | Score | Oldest run |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** The files whose code, or whose mutants, have changed since their run. */
export function changedSince(results: Results, read: (path: string) => string): ReadonlySet<string> {
  const paths = Object.keys(results);
  return new Set(paths.filter((path) => !isPresent(results[path], { path, source: read(path) })));
}

export function readRun(root: string, results: Results): Run {
  const files = new Map(groups.map((group) => [group.name, filesOf(root, group)]));
  const paths = new Set([...files.values()].flat());
  const known = Object.fromEntries(Object.entries(results).filter(([path]) => paths.has(path)));
  return { files, results: known, changed: changedSince(known, (path) => readFileSync(join(root, path), 'utf8')) };
}

export function writePages(root: string, results: Results): void {
  const run = readRun(root, results);
  const linesOf = (path: string): number => readFileSync(join(root, path), 'utf8').split('\n').length;
  writeFileSync(join(root, 'docs/reference/mutation.md'), page(run, linesOf));
  mkdirSync(join(root, 'reports'), { recursive: true });
  const lines = survivorsOf(run).map((text) => `- \`\`${text}\`\`\n`);
  writeFileSync(join(root, 'reports/mutation.md'), `# Survivors of the mutation run\n\n${lines.join('')}`);
}
