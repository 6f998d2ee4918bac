// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars chart-test`: looks again and again until an installed chart has reached everything that is asked for. A line on stdout for each
 * thing; exit code 1, with what is missing, when the time is up.
 */
import { ExitError, exitCodes, orExit, type ProgramDeps, runProgram } from '@csi-sidecars/sidecar';
import { type Check, checksOf, type PodIo } from './checks.ts';
import { chartTestProgram as program } from './flags.ts';

export interface ChartTestDeps extends ProgramDeps {
  readonly podIo: PodIo;
}

const pauseMs = 2_000;
const limits = { qps: 20, burst: 100 };

/** Resolves with the exit code. */
export function runChartTest({ host, lifecycle, podIo }: ChartTestDeps): Promise<number> {
  const start = { versionLine: 'omitted' } as const;
  return runProgram({ host, lifecycle }, { program, start }, async ({ values, log }) => {
    if (values['driver-name'] === '') throw new ExitError(exitCodes.usage, '--driver-name must be specified');
    if (values.leases !== '' && values.namespace === '')
      throw new ExitError(exitCodes.usage, '--namespace must be specified with --leases');
    const { kubeconfig } = values;
    const api = await orExit('Failed to create a Kubernetes client', () =>
      host.connectApi({ program: 'csi-sidecars-chart-test', kubeconfig, master: '', log, ...limits }),
    );
    await using stack = new AsyncDisposableStack();
    stack.defer(api.close);
    const { clock, stdout } = host;
    const deadlineMs = clock.monotonicMs() + values.timeout;
    let open = checksOf(values, { ...podIo, api: api.client, nowMs: () => clock.nowMs() });
    for (;;) {
      const missing = new Map<Check, string>();
      for (const check of open) {
        const answer = await answerOf(check);
        if (answer === undefined) stdout(`ok      ${check.what}\n`);
        else missing.set(check, answer);
      }
      open = [...missing.keys()];
      if (open.length === 0) return exitCodes.success;
      if (clock.monotonicMs() + pauseMs > deadlineMs || lifecycle.signal.aborted) {
        for (const [{ what }, answer] of missing) stdout(`missing ${what}: ${answer}\n`);
        return exitCodes.failure;
      }
      await clock.sleep(pauseMs, lifecycle.signal).catch(() => undefined);
    }
  });
}

/** What cannot be looked at is missing, for now. */
async function answerOf({ missing }: Check): Promise<string | undefined> {
  try {
    return await missing();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
