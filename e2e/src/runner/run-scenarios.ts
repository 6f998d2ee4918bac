// SPDX-License-Identifier: Apache-2.0
/**
 * Runs scenarios side by side, as far as they do not exclude each other. Each gets its own environment, ends with the leak check, and leaves
 * artifacts on failure. A scenario that cannot run here also gives a result.
 */
import { withDeadline } from '@csi-sidecars/runtime';
import { describeExit } from '../processes/child-process.ts';
import { memoryOf } from '../processes/memory.ts';
import { saveArtifacts } from '../scenarios/artifacts.ts';
import { openContext, type ScenarioContext } from '../scenarios/context.ts';
import { checkLeaks } from '../scenarios/leak-check.ts';
import type { Need } from '../scenarios/needs.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import type { Outcome, Result } from './result.ts';
import { runScheduled, type ScheduleOptions } from './schedule.ts';

export interface RunOptions extends ScheduleOptions {
  readonly scenarios: readonly Scenario[];
  /** Ids of scenarios that run however long they take. */
  readonly asked: ReadonlySet<string>;
  /** Called with each result. */
  readonly onResult: (result: Result) => void;
}

const limitsMs = { usual: 10 * 60_000, long: 30 * 60_000 };

export async function runScenarios(testRun: TestRun, options: RunOptions): Promise<void> {
  const { scenarios, asked, onResult, signal } = options;
  await runScheduled(scenarios, options, async (scenario) => {
    const { id, rights: rbac = testRun.rbac } = scenario;
    const has = asked.has(id) ? new Set<Need>([...testRun.has, 'time']) : testRun.has;
    onResult(await runScenario({ ...testRun, rbac, has }, scenario, signal));
  });
}

async function runScenario(testRun: TestRun, scenario: Scenario, parent: AbortSignal): Promise<Result> {
  const { title } = scenario;
  const id = scenario.rights === undefined ? scenario.id : `${scenario.id} (${scenario.rights} rights)`;
  const missing = scenario.needs.filter((need) => !testRun.has.has(need));
  if (missing.length > 0) return { id, title, outcome: { kind: 'not applicable', missing }, ranMs: 0 };
  const { clock, timeFactor } = testRun;
  const startedMs = clock.monotonicMs();
  let outcome: Outcome;
  let memory: Result['memory'];
  let notes: Result['notes'];
  let details: string | undefined;
  try {
    const limitMs = scenario.needs.includes('time') ? limitsMs.long : limitsMs.usual;
    const limit = { parent, ms: limitMs * timeFactor };
    outcome = await withDeadline(clock, limit, async (signal) => {
      const ctx = await openContext(testRun, scenario, signal);
      await using _ = ctx.cleanUp;
      try {
        return await play(ctx, scenario);
      } catch (error) {
        const read = await saveArtifacts(ctx, error);
        // After an interrupt, further results are not printed.
        if (!parent.aborted) details = read;
        throw error;
      } finally {
        memory = memoryIn(ctx);
        if (ctx.notes.length > 0) ({ notes } = ctx);
      }
    });
  } catch (error) {
    outcome =
      testRun.programs === 'upstream' && scenario.upstream !== undefined
        ? { kind: 'improvement', over: scenario.upstream, error }
        : { kind: 'failed', error, ...(details !== undefined && { details }) };
  }
  return {
    id,
    title,
    outcome,
    ranMs: clock.monotonicMs() - startedMs,
    ...(notes !== undefined && { notes }),
    ...(memory !== undefined && { memory }),
  };
}

async function play(ctx: ScenarioContext, scenario: Scenario): Promise<Outcome> {
  await scenario.run(ctx);
  await checkLeaks(ctx, { apiServerRestarts: scenario.needs.includes('api-server-control') });
  if (scenario.restarts !== true) checkExits(ctx);
  return ctx.halfSeen ? { kind: 'passed', seen: 'half' } : { kind: 'passed' };
}

function memoryIn({ sidecars }: ScenarioContext): Result['memory'] {
  const running = sidecars.flatMap(({ name, pid }) => {
    const memory = pid === undefined ? undefined : memoryOf(pid);
    return memory === undefined ? [] : [[name, memory] as const];
  });
  return running.length === 0 ? undefined : Object.fromEntries(running);
}

function checkExits({ sidecars }: ScenarioContext): void {
  for (const { name, exits } of sidecars) {
    const [first] = exits;
    if (first !== undefined) throw new Error(`${name} ended (${describeExit(first)})`);
  }
}
