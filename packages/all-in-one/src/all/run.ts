// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars --controllers=...`, from the first argument to the exit code:
 *
 *   flags, plan | API server | HTTP | controllers, supervised, in sessions with the driver | drain
 *
 * What is shared is made in process.ts; what follows from a failure is in supervision.ts.
 */
import { linkSignals, OrderlyStop } from '@csi-sidecars/runtime';
import type { DiagnosticsServer } from '@csi-sidecars/runtime/internal';
import { ExitError, exitCodes, runProgram } from '@csi-sidecars/sidecar';
import { type PlannedNode, planNodeRuns } from './node-runs.ts';
import { planOf } from './plan.ts';
import { type AllDeps, openProcess, type Run } from './process.ts';
import { allProgram } from './program.ts';
import { type Running, runSessions, supervision } from './sessions.ts';
import type { RunEnd } from './supervision.ts';
import { type ProcessFault, supervise } from './supervise.ts';

/** The process has its own limit for draining. This one is for what hangs after that. */
const drainToleranceMs = 5_000;

/** Resolves with the exit code. */
export function runAll({ host, lifecycle, ...node }: AllDeps): Promise<number> {
  const deps = { host: { ...host, argv0: allProgram.name }, lifecycle };
  const start = { order: ['version', 'gates'] } as const;
  return runProgram(deps, { program: allProgram, start }, async (started) => {
    const plan = planOf(started, node.sidecars);
    const { shutdownTimeoutMs } = plan;
    lifecycle.configure({ onSignal: 'drain', drainMs: shutdownTimeoutMs + drainToleranceMs });
    await using stack = new AsyncDisposableStack();
    using stopping = linkSignals([lifecycle.signal]);
    const run = { ...node, host, started, plan, stack, signal: stopping.signal };
    let http: DiagnosticsServer | undefined;
    const nodeRuns = planNodeRuns(run, (route) => http?.add(route));
    const process = await openProcess(run);
    http = process.http;

    let fault: ProcessFault | undefined;
    const endProcess = (found: ProcessFault): void => {
      fault ??= found;
      stopping.abort(new OrderlyStop());
    };
    const working = runControllers({ ...run, ...process, endProcess }, nodeRuns);
    const overdue = await endedInTime(run, working);
    const failure = fault && exitOf(fault);
    if (overdue) {
      // The deadline is the last line of the log. What made the process end would be lost otherwise.
      if (failure !== undefined) started.log.error(failure.cause, failure.message);
      const waitingFor = [...process.states.running].join(', ');
      throw new ExitError(exitCodes.failure, `shutdown deadline exceeded: waiting for ${waitingFor}`);
    }
    if (failure !== undefined) throw failure;
    return exitCodes.success;
  });
}

function exitOf({ controller, error, code }: ProcessFault): ExitError {
  if (error instanceof ExitError) return new ExitError(code, error.message, { cause: error.cause });
  return new ExitError(code, `csi-sidecars ends because of ${controller ?? 'the driver'}`, { cause: error });
}

async function runControllers(running: Running, nodeRuns: readonly PlannedNode[]): Promise<void> {
  const { states, signal } = running;
  await Promise.all([
    ...nodeRuns.map(({ name, run }) => {
      const supervised = { name, failures: 0 };
      const runOnce = (): Promise<RunEnd> => {
        states.set(name, 'working');
        return run(signal);
      };
      return supervise(supervision(running, name), { controller: supervised, run: runOnce }, signal);
    }),
    runSessions(running),
  ]);
}

/** Resolves with whether the time to end had passed before the controllers had ended. */
async function endedInTime({ host, plan, signal }: Run, working: Promise<void>): Promise<boolean> {
  const late = Promise.withResolvers<true>();
  const startClock = (): void => {
    timers.use(host.clock.timer(plan.shutdownTimeoutMs, () => late.resolve(true)));
  };
  using timers = new DisposableStack();
  if (signal.aborted) startClock();
  else signal.addEventListener('abort', startClock);
  try {
    return await Promise.race([working.then(() => false), late.promise]);
  } finally {
    signal.removeEventListener('abort', startClock);
  }
}
