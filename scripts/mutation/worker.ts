// SPDX-License-Identifier: Apache-2.0
/** The worker thread of the mutation run: vitest's own, but `run` is a session instead of a list of files. */
import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { WorkerGlobalState } from 'vitest';
import { init, runBaseTests, setupEnvironment } from 'vitest/worker';
import { type FileResult, type Host, runSession, type TestResult } from './session.ts';
import type { Session } from './session-types.ts';

type Traces = Parameters<typeof runBaseTests>[2];
type Rpc = WorkerGlobalState['rpc'];

interface Task {
  readonly id: string;
  readonly type: string;
  readonly tasks?: readonly Task[];
  readonly result?: { readonly state?: string; readonly duration?: number };
  readonly mode?: string;
}

const port = parentPort!;
const modulesOfVitest = [/\/vitest\/dist\//, /@vitest\/dist/];

/** Answers what concerns results here, and passes on what concerns modules. */
function intercept(rpc: Rpc, seen: { files: readonly Task[]; unhandled: boolean }): Rpc {
  const own: Record<string, (...args: never[]) => unknown> = {
    onCollected: (files: readonly Task[]) => void (seen.files = files),
    onUnhandledError: () => void (seen.unhandled = true),
    getCountOfFailedTests: () => 0,
  };
  const passed = new Set(['fetch', 'resolve', 'transform', 'fetchWarmModules', 'ensureModuleGraphEntry']);
  return new Proxy(rpc, {
    get(target, name: string) {
      const answer = own[name];
      if (answer !== undefined) return async (...args: never[]) => answer(...args);
      if (passed.has(name) || name.startsWith('$')) return Reflect.get(target, name) as unknown;
      return async () => {};
    },
  });
}

function hostOf(state: WorkerGlobalState, traces: Traces): Host {
  const seen = { files: [] as readonly Task[], unhandled: false };
  const rpc = intercept(state.rpc, seen);
  return {
    run: async ({ file, ids }) => {
      seen.files = [];
      seen.unhandled = false;
      const ctx = {
        ...state.ctx,
        files: [{ filepath: file, testIds: ids === undefined ? undefined : [...ids] }],
      };
      const [startedMs, before] = [performance.now(), process.threadCpuUsage()];
      await runBaseTests('run', Object.assign(state, { ctx, rpc }), traces);
      const { user, system } = process.threadCpuUsage(before);
      // On a busy machine tests take several times as long, and a budget would leave out most of them.
      return resultOf(seen, Math.min(1, (user + system) / 1000 / (performance.now() - startedMs)));
    },
    forgetModules: () => {
      for (const [path, module] of state.evaluatedModules.idToModuleMap) {
        if (modulesOfVitest.some((pattern) => pattern.test(path))) continue;
        Object.assign(module, { promise: undefined, exports: undefined, evaluated: false });
        module.importers.clear();
      }
    },
  };
}

/** `onCollected` hands over the objects that the runner then fills. `share` is the part of the time in which this thread had a processor. */
function resultOf({ files, unhandled }: { files: readonly Task[]; unhandled: boolean }, share: number): FileResult {
  const tests: TestResult[] = [];
  let fileFailed = files.length === 0;
  const visit = (task: Task): void => {
    const state = task.result?.state ?? 'skip';
    if (task.type === 'test') tests.push({ id: task.id, state, ms: (task.result?.duration ?? 0) * share });
    else if (state === 'fail') fileFailed = true;
    for (const child of task.tasks ?? []) visit(child);
  };
  for (const file of files) visit(file);
  return { tests, fileFailed, unhandled };
}

init({
  post: (response) => port.postMessage(response),
  on: (callback) => port.on('message', callback),
  off: (callback) => port.off('message', callback),
  teardown: () => port.removeAllListeners('message'),
  setup: setupEnvironment,
  collectTests: () => {},
  runTests: async (state, traces) => {
    const session = JSON.parse(readFileSync(process.env['MUTATION_SESSION']!, 'utf8')) as Session;
    await runSession(session, hostOf(state, traces));
  },
});
