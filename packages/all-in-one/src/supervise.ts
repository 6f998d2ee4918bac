// SPDX-License-Identifier: Apache-2.0
/**
 * Runs one part of the process repeatedly until the signal aborts. A failure that would end a container ends only this part, and
 * the part is restarted like a container by kubelet: after pauses that double, and start again at the first one after a long run.
 */
import { ConnectError } from '@csi-sidecars/csi';
import type { Clock, Logger } from '@csi-sidecars/runtime';
import { ExitError, exitCodes } from '@csi-sidecars/sidecar';

export interface Part {
  readonly name: string;
  /** Resolves with an exit code; rejects with an ExitError, or with a defect. */
  readonly run: (log: Logger, signal: AbortSignal) => Promise<number>;
}

export interface SuperviseDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const firstPauseMs = 1_000;
const longestPauseMs = 120_000;
/** After a run of this length the pauses start again at the first one. */
const lastedMs = 120_000;

/** Resolves with the exit code of the run that the signal ended. */
export async function supervise(deps: SuperviseDeps, part: Part, signal: AbortSignal): Promise<number> {
  const { clock } = deps;
  const log = deps.log.with({ part: part.name });
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    const startedMs = clock.monotonicMs();
    const code = await runOnce(part, log, signal);
    if (signal.aborted) return code;
    if (clock.monotonicMs() - startedMs >= lastedMs) pauseMs = firstPauseMs;
    log.warn('A part of the process has ended and will be started again', { code, pauseSeconds: pauseMs / 1000 });
    await clock.sleep(pauseMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
  return exitCodes.success;
}

async function runOnce({ run }: Part, log: Logger, signal: AbortSignal): Promise<number> {
  try {
    return await run(log, signal);
  } catch (error) {
    const cause = error instanceof ExitError ? error.cause : error;
    // The stop came while the part was connecting to its driver, which is not a failure.
    if (signal.aborted && cause instanceof ConnectError && cause.kind === 'canceled') return exitCodes.success;
    log.error(cause, error instanceof ExitError ? error.message : 'A part of the process failed');
    return error instanceof ExitError ? error.code : exitCodes.failure;
  }
}
