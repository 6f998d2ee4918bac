// SPDX-License-Identifier: Apache-2.0
/** Runs test files again and again inside one worker, with modules kept loaded: first without a mutant, then once for each. */
import { appendFileSync } from 'node:fs';
import type { Job, Line, Session, TestRun } from './session-types.ts';

export interface TestResult {
  readonly id: string;
  readonly state: string;
  readonly ms: number;
}

export interface FileResult {
  readonly tests: readonly TestResult[];
  /** The file could not be loaded, or a hook of it failed. */
  readonly fileFailed: boolean;
  readonly unhandled: boolean;
}

/** One run of one test file; the worker's part. */
export interface Host {
  readonly run: (run: TestRun) => Promise<FileResult>;
  readonly forgetModules: () => void;
}

const none = -1;

export async function runSession(session: Session, host: Host): Promise<void> {
  let active = none;
  let hits = new Set<number>();
  const byTest = new Map<string, Set<number>>();
  const isBaseline = session.task.kind === 'baseline';
  globalThis.__m = (id) => {
    if (isBaseline) hits.add(id);
    return id === active;
  };
  let outside = hits;
  globalThis.__mutationTest = {
    begin: (testId) => {
      outside = hits;
      hits = byTest.get(testId) ?? new Set();
      byTest.set(testId, hits);
    },
    end: () => (hits = outside),
  };
  const report = (line: Line) => appendFileSync(session.report, `${JSON.stringify(line)}\n`);

  if (session.task.kind === 'baseline') {
    for (const file of session.task.tests) await measure(file);
  } else {
    for (const job of session.task.jobs) {
      report({ kind: 'start', id: job.id });
      const line = await judge(job);
      report(line);
      // What follows would be judged in a state that cannot be trusted.
      if (line.kind === 'doubtful') break;
    }
  }
  report({ kind: 'end' });

  async function measure(file: string): Promise<void> {
    host.forgetModules();
    byTest.clear();
    hits = new Set();
    const loaded = hits;
    const started = performance.now();
    const { tests, fileFailed } = await host.run({ file });
    for (const { id, state, ms } of tests) {
      if (state === 'skip') continue;
      const passed = state === 'pass' && !fileFailed;
      report({ kind: 'test', file, id, ms, passed, hits: [...(byTest.get(id) ?? [])] });
    }
    report({ kind: 'file', file, loaded: [...loaded], ms: performance.now() - started });
  }

  async function judge(job: Job): Promise<Line> {
    for (const run of job.runs) {
      if (job.reload) host.forgetModules();
      const killer = await attempt(job, job.reload ? { file: run.file } : run);
      if (job.reload) host.forgetModules();
      if (killer === undefined) continue;
      // The same test without the mutant: a failure now says that an earlier mutant left something behind, or this one a promise that rejects.
      const again = killer.how === 'unhandled' ? killer : await fails({ file: run.file, ...killer.again });
      if (again !== undefined) return { kind: 'doubtful', id: job.id, reason: again.how };
      return { kind: 'verdict', id: job.id, killedBy: run.file, how: killer.how };
    }
    return { kind: 'verdict', id: job.id, killedBy: undefined, how: 'survived' };
  }

  async function attempt(job: Job, run: TestRun) {
    active = job.id;
    try {
      return await fails(run);
    } finally {
      active = none;
    }
  }

  async function fails(run: TestRun) {
    const { tests, fileFailed, unhandled } = await host.run(run);
    const failed = tests.find(({ state }) => state === 'fail');
    if (failed !== undefined) return { how: 'test', again: { ids: [failed.id] } };
    if (fileFailed) return { how: 'file', again: run.ids === undefined ? {} : { ids: run.ids } };
    return unhandled ? { how: 'unhandled', again: {} } : undefined;
  }
}
