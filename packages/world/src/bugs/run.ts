// SPDX-License-Identifier: Apache-2.0
/**
 * The bench of known bugs: puts each of them back in a process of its own, and writes how many seeds the world needed into
 * docs/reference/world.md. `run.ts [NAME...]` runs some of them, and the rows of the others stay; `--seeds=300` gives up earlier.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bug } from './bug.ts';
import { bugs } from './bugs.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '2000' } },
});
const last = Number(values.seeds);
const page = join(import.meta.dirname, '../../../../docs/reference/world.md');
/** For a defect that keeps a story busy for ever. */
const timeoutMs = 1_800_000;

interface Finding {
  readonly bug: Bug;
  /** Undefined: no seed found it. */
  readonly seed: number | undefined;
  readonly breach: string;
}

const wanted = positionals.length === 0 ? bugs : positionals.flatMap((name) => bugs.filter((bug) => bug.name === name));
const findings = new Map<string, Finding>();
const waiting = [...wanted];
await Promise.all([work(), work()]);

async function work(): Promise<void> {
  for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
    const finding = await find(bug);
    findings.set(bug.name, finding);
    writePage();
    process.stdout.write(`${bug.name}: ${finding.seed ?? 'not found'} ${finding.breach}\n`);
  }
}

async function find(bug: Bug): Promise<Finding> {
  const program = join(import.meta.dirname, '../explore.ts');
  const args = [program, `1-${last}`, `--bug=${bug.name}`, '--jobs=1'];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { timeout: timeoutMs }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  const [, seed, breach = ''] = /^seed (\d+):\n {2}(.*)$/m.exec(output) ?? [];
  if (seed !== undefined) return { bug, seed: Number(seed), breach };
  return { bug, seed: undefined, breach: output.includes(' stories from ') ? '' : `(ended: ${output.slice(-500)})` };
}

/** After each of them, so that a run that is ended has not been in vain. */
function writePage(): void {
  const text = readFileSync(page, 'utf8');
  const rows = bugs.map(({ name, effect, history }) => {
    const finding = findings.get(name);
    const known = new RegExp(`^\\| \`${name}\` \\|.*\\| ([^|]*) \\|$`, 'm').exec(text)?.[1];
    return `| \`${name}\` | ${effect} | ${history} | ${finding === undefined ? (known ?? 'not run') : foundIn(finding)} |`;
  });
  const table = ['| Bug | Effect | History | Seeds until found |', '|---|---|---|---|', ...rows].join('\n');
  const [before = '', after = ''] = text.split(/<!-- bench -->[^]*<!-- end of bench -->/);
  writeFileSync(page, `${before}<!-- bench -->\n\n${table}\n\n<!-- end of bench -->${after}`);
}

function foundIn({ seed, breach }: Finding): string {
  const [invariant = ''] = breach.split(':', 1);
  return seed === undefined ? `not in ${last}` : `${seed} (\`${invariant}\`)`;
}
