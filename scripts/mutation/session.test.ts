// SPDX-License-Identifier: Apache-2.0
/** A session against a host that is a function: which mutants are killed, and which verdicts are not trusted. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type FileResult, type Host, runSession } from './session.ts';
import type { Job, Line, Session, TestRun } from './session-types.ts';

const folder = mkdtempSync(join(tmpdir(), 'mutation-session-'));
const report = join(folder, 'report.jsonl');
afterEach(() => rmSync(report, { force: true }));

const passed = (id = 't'): FileResult => ({
  tests: [{ id, state: 'pass', ms: 1 }],
  fileFailed: false,
  unhandled: false,
});
const failed = (id = 't'): FileResult => ({
  tests: [{ id, state: 'fail', ms: 1 }],
  fileFailed: false,
  unhandled: false,
});

async function session(task: Session['task'], run: (run: TestRun) => FileResult) {
  const log: string[] = [];
  const host: Host = {
    run: async (of) => {
      log.push(`${of.file} ${of.ids?.join() ?? 'all'}`);
      return run(of);
    },
    forgetModules: () => void log.push('forget'),
  };
  await runSession({ root: '/', report, files: [], modulesFolder: '/', testTimeoutMs: 1, task }, host);
  const lines = readFileSync(report, 'utf8').trim().split('\n');
  return {
    log,
    lines: lines.map((line) => JSON.parse(line) as Line).filter(({ kind }) => kind !== 'start' && kind !== 'end'),
  };
}

const job = (id: number, reload = false): Job => ({
  id,
  reload,
  ms: 1,
  runs: [{ file: 'a', ids: ['t'] }, { file: 'b' }],
});
const verdict = (id: number, killedBy?: string) => ({
  kind: 'verdict',
  id,
  ...(killedBy === undefined ? { how: 'survived' } : { killedBy, how: 'test' }),
});

it('given a test fails with the mutant and passes without it, then the mutant is killed, and later files are not run', async () => {
  const { lines, log } = await session({ kind: 'mutants', jobs: [job(1)] }, () =>
    globalThis.__m(1) ? failed() : passed(),
  );
  expect([lines, log]).toEqual([[verdict(1, 'a')], ['a t', 'a t']]);
});

it('given no test fails, then the mutant survives all files', async () => {
  const { lines, log } = await session({ kind: 'mutants', jobs: [job(1)] }, () => passed());
  expect([lines, log]).toEqual([[verdict(1)], ['a t', 'b all']]);
});

it('given modules are to be loaded again, then before and after each file, of which all tests run', async () => {
  const { lines, log } = await session({ kind: 'mutants', jobs: [job(1, true)] }, ({ file }) =>
    file === 'b' && globalThis.__m(1) ? failed() : passed(),
  );
  expect(lines).toEqual([verdict(1, 'b')]);
  expect(log).toEqual(['forget', 'a all', 'forget', 'forget', 'b all', 'forget', 'b t']);
});

it.each([
  { given: 'a test that fails without the mutant too', result: failed() },
  { given: 'an unhandled rejection', result: { ...passed(), unhandled: true } },
])('given $given, then the verdict is doubtful and the session ends', async ({ result }) => {
  const { lines } = await session({ kind: 'mutants', jobs: [job(1), job(2)] }, () => result);
  expect(lines).toEqual([{ kind: 'doubtful', id: 1, reason: expect.any(String) }]);
});

it('given a test that fails, and a promise of the mutant that rejects in the run after it, then the rejection is the reason of the doubt', async () => {
  const { lines } = await session({ kind: 'mutants', jobs: [job(1)] }, () =>
    globalThis.__m(1) ? failed() : { ...passed(), unhandled: true },
  );
  expect(lines).toEqual([{ kind: 'doubtful', id: 1, reason: 'unhandled' }]);
});

it('given a run without mutants, then each test has what it reached, and the file what loading reached', async () => {
  const { lines } = await session({ kind: 'baseline', tests: ['a'] }, () => {
    globalThis.__m(1);
    globalThis.__mutationTest.begin('t');
    globalThis.__m(2);
    globalThis.__mutationTest.end();
    globalThis.__m(3);
    return passed();
  });
  expect(lines).toEqual([
    { kind: 'test', file: 'a', id: 't', ms: 1, passed: true, hits: [2] },
    { kind: 'file', file: 'a', loaded: [1, 3], ms: expect.any(Number) },
  ]);
});
