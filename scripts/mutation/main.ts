// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run mutation -- packages/provisioner`: changes the code in small ways, one at a time, and lists the changes that no
 * test notices. Arguments are beginnings of paths; without one, everything.
 * - `--changed`: files that differ from main, or whose test file does.
 * - `--missing`: files without a recorded run of their present code. A machine without the cache goes on from results.json this way.
 * - `--fresh`: without the verdicts of earlier runs.
 * - `--survivors`: a mutant that an earlier run of this code killed counts as killed, although the test that killed it has changed since.
 *   For the time in which tests are written against the survivors.
 * - `--quick`: without the mutants that are listed as equivalent, and without a second look at survivors and at those that hang.
 * - `--concurrency=1`: one worker.
 * - `--minutes=150`: ends after that time. The verdicts are kept in the cache folder, so the next run goes on from there, and a
 *   file is recorded when all of its mutants are judged.
 * - `--list`: runs nothing, prints the survivors of earlier runs of the present code.
 *
 * Writes docs/reference/mutation.md and, with the survivors, reports/mutation.md.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheFolder } from '../cache-folder.ts';
import { filesOf, type Group, groups } from './groups.ts';
import { findReach, jobFor, judgeAll, type Reach, type Verdict, type MutationRun } from './judge.ts';
import { codeOf, findMutants, type Mutant } from './mutants.ts';
import { readRun, survivorsOf, writePages } from './page.ts';
import {
  hash,
  isEquivalent,
  isPresent,
  judgedAgain,
  mutatorsVersion,
  readEquivalents,
  readResults,
  type Results,
  survivorText,
  VerdictCache,
  writeResults,
} from './records.ts';

const root = join(import.meta.dirname, '../..');
const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    changed: { type: 'boolean', default: false },
    missing: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '150' },
  },
});
const untilMs = performance.now() + Number(options.minutes) * 60_000;
const verdictFolder = join(cacheFolder(process.env), 'mutation');

interface MutatedFile {
  readonly path: string;
  readonly firstId: number;
  readonly source: string;
  readonly mutants: readonly Mutant[];
  readonly cache: VerdictCache;
}

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const say = (text: string) => void process.stdout.write(`${text}\n`);
const changed = options.changed ? changedFiles() : undefined;
const recorded = readResults();

if (options.list) {
  for (const survivor of survivorsOf(readRun(root, recorded))) if (isNamed(survivor)) say(survivor);
} else {
  let wantedFiles = 0;
  for (const group of groups) {
    const files = filesOf(root, group).filter(isWanted);
    wantedFiles += files.length;
    if (files.length > 0) await runGroup(group, files);
  }
  if (wantedFiles === 0) say('no file to mutate: see scripts/mutation/groups.ts for those that are');
  writePages(root, judgedResults());
}

/** Results are kept with what the rules and the judgements say now. */
function judgedResults(): Results {
  const equivalents = readEquivalents();
  const results = readResults();
  for (const [path, result] of Object.entries(results)) {
    const file = existsSync(join(root, path)) ? { path, source: read(path) } : undefined;
    if (file !== undefined && result.survivors.length > 0 && isPresent(result, file))
      results[path] = judgedAgain(result, equivalents, file);
  }
  writeResults(results);
  return results;
}

function isWanted(path: string): boolean {
  if (changed !== undefined && !changed.has(path)) return false;
  if (options.missing && isPresent(recorded[path], { path, source: read(path) })) return false;
  return isNamed(path);
}

function isNamed(path: string): boolean {
  return wanted.length === 0 || wanted.some((prefix) => path.startsWith(prefix.replace(/\/$/, '')));
}

function changedFiles(): ReadonlySet<string> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const base = git('merge-base', 'main', 'HEAD');
  const changes = [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')];
  const paths = changes.flatMap((lines) => lines.split('\n')).filter((path) => path !== '');
  return new Set(paths.map((path) => path.replace(/\.test\.ts$/, '.ts')));
}

function sharedFiles(): readonly string[] {
  return globSync('packages/*/testing/**/*.ts', { cwd: root })
    .sort()
    .map((path) => join(root, path));
}

async function runGroup(group: Group, paths: readonly string[]): Promise<void> {
  let nextId = 0;
  const files = paths.map((path): MutatedFile => {
    const source = read(path);
    const mutants = findMutants(path, source);
    const firstId = nextId;
    nextId += mutants.length;
    const cache = new VerdictCache(verdictFolder, path, hash(source, JSON.stringify(mutants)));
    if (options.fresh) cache.clear();
    return { path, firstId, source, mutants, cache };
  });
  const ranks = new Map<string, number>();
  for (const [rank, pattern] of group.tests.entries()) {
    for (const path of globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }).sort()) {
      const file = join(root, path);
      if (!ranks.has(file)) ranks.set(file, rank);
    }
  }
  const tests = [...ranks.keys()];
  const mutationRun: MutationRun = {
    root,
    files: files.map(({ path, firstId }) => ({ path, firstId })),
    modulesFolder: mkdtempSync(join(tmpdir(), 'mutation-modules-')),
    concurrency: Number(options.concurrency),
    care: options.quick ? 'quick' : 'full',
    ranks,
    say,
    untilMs,
  };
  if (performance.now() >= untilMs) return say(`${group.name}: not begun, the time is over`);
  say(`${group.name}: ${nextId} mutants in ${files.length} files, ${tests.length} test files`);
  try {
    const reach = await findReach(mutationRun, tests);
    const verdicts = await judgeFiles(mutationRun, files, reach);
    record(files, verdicts);
  } finally {
    rmSync(mutationRun.modulesFolder, { recursive: true, force: true });
  }
}

async function judgeFiles(
  mutationRun: MutationRun,
  files: readonly MutatedFile[],
  reach: Reach,
): Promise<ReadonlyMap<number, Verdict>> {
  const verdicts = new Map<number, Verdict>();
  const equivalents = readEquivalents();
  const settle = (id: number, file: MutatedFile, verdict: Verdict) => {
    verdicts.set(id, verdict);
    const mutant = file.mutants[id - file.firstId]!;
    if (verdict.killedBy === undefined && !isEquivalent(equivalents, file, mutant))
      say(`${file.path}:${survivorText(mutant)} (${verdict.how})`);
  };
  const owners = new Map<number, readonly [MutatedFile, number]>();
  const hashes = new Map<string, string>();
  const isLeftOut = (file: MutatedFile, index: number) =>
    options.quick && isEquivalent(equivalents, file, file.mutants[index]!);
  const hashOf = (file: string) => {
    // A test file that is gone: what rested on it is judged again.
    const known = hashes.get(file) ?? (existsSync(file) ? hash(readFileSync(file, 'utf8')) : 'gone');
    hashes.set(file, known);
    return known;
  };
  const restsOn = (verdict: Verdict, id: number) => {
    const job = jobFor(id, owners.get(id)![0].path, reach)!;
    const { killedBy } = verdict;
    const all = job.runs.map(({ file }) => file);
    // A survivor may be killed by what the tests share as well.
    return killedBy === undefined
      ? hash(...[...all, ...sharedFiles()].map(hashOf))
      : hash(...[killedBy].flatMap((file) => (file === 'process' ? all : [file])).map(hashOf));
  };
  const jobs = files.flatMap((file) =>
    file.mutants.flatMap(({ index }) => {
      const id = file.firstId + index;
      owners.set(id, [file, index]);
      if (isLeftOut(file, index)) {
        verdicts.set(id, { killedBy: undefined, how: 'listed as equivalent' });
        return [];
      }
      const job = jobFor(id, file.path, reach);
      if (job === undefined) {
        settle(id, file, { killedBy: undefined, how: 'no test reaches it' });
        return [];
      }
      const known = file.cache.get(index, ({ tests, ...verdict }) =>
        options.survivors && verdict.killedBy !== undefined ? tests : restsOn(verdict, id),
      );
      if (known === undefined) return [job];
      settle(id, file, known);
      return [];
    }),
  );
  say(`${verdicts.size} known, ${jobs.length} to run`);
  const started = performance.now();
  let count = 0;
  await judgeAll(mutationRun, jobs, (id, verdict) => {
    const [file, index] = owners.get(id)!;
    settle(id, file, verdict);
    // A survivor of one look is no verdict to keep.
    if (verdict.killedBy !== undefined || !options.quick) {
      file.cache.set(index, verdict, restsOn(verdict, id));
      file.cache.save();
    }
    count += 1;
    if (count % 100 === 0) say(`${count} of ${jobs.length}, ${Math.round((performance.now() - started) / 1000)} s`);
  });
  return verdicts;
}

function record(files: readonly MutatedFile[], verdicts: ReadonlyMap<number, Verdict>): void {
  const equivalents = readEquivalents();
  const results = readResults();
  for (const { path, firstId, source, mutants } of files) {
    if (read(path) !== source) {
      say(`${path} changed during the run: not recorded`);
      continue;
    }
    const open = mutants.filter(({ index }) => !verdicts.has(firstId + index)).length;
    if (open > 0) {
      say(`${path}: ${open} mutants are left for the next run`);
      continue;
    }
    const alive = mutants.filter(({ index }) => verdicts.get(firstId + index)?.killedBy === undefined);
    const survivors = alive.filter((mutant) => !isEquivalent(equivalents, { path, source }, mutant));
    results[path] = {
      mutators: mutatorsVersion,
      source: hash(codeOf(path, source)),
      date: new Date().toISOString().slice(0, 10),
      mutants: mutants.length,
      killed: mutants.length - alive.length,
      hung: mutants.filter(({ index }) => verdicts.get(firstId + index)?.how === 'hang').length,
      equivalent: alive.length - survivors.length,
      survivors: survivors.map(survivorText),
    };
    say(`${path}: ${mutants.length - alive.length} of ${mutants.length} killed, ${survivors.length} survived`);
  }
  writeResults(results);
}
