// SPDX-License-Identifier: Apache-2.0
/**
 * Waits until the driver reports that it is ready. The first probe is made at once, the next ones on the ticks of a
 * one-second ticker that began with it: after a probe that took longer than a tick the next follows immediately.
 * Only "not ready" and a timeout are retried; every other failure ends the wait.
 */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { CsiChannel } from '../channel/channel.ts';
import { CsiError } from '../csi-error.ts';
import { probe } from './identity.ts';
import { nextReportMs } from '../report-pace.ts';

export interface ProbeDeps {
  readonly channel: CsiChannel;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ProbeOptions {
  /** Time limit of each probe. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const tickMs = 1000;

export async function probeForever({ channel, clock, log }: ProbeDeps, options: ProbeOptions): Promise<void> {
  const startedMs = clock.monotonicMs();
  let consumedTicks = 0;
  let dueMs = 0;
  /** Upstream logs each probe: two lines a second. */
  const report = (what: string): void => {
    const elapsedMs = clock.monotonicMs() - startedMs;
    if (elapsedMs < dueMs) return;
    dueMs = nextReportMs(elapsedMs);
    log.info(0, what, { forSeconds: Math.round(elapsedMs / 1000), hint: "the driver's log says why" });
  };
  log.info(0, 'Probing CSI driver for readiness');
  for (;;) {
    try {
      if (await probe(channel, options)) return;
      report('CSI driver is not ready');
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof CsiError && error.code === 'DeadlineExceeded')) {
        throw new Error(`CSI driver probe failed: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      }
      report('CSI driver probe timed out');
    }
    const elapsedMs = clock.monotonicMs() - startedMs;
    const passedTicks = Math.floor(elapsedMs / tickMs);
    if (passedTicks > consumedTicks) {
      consumedTicks = passedTicks;
    } else {
      consumedTicks += 1;
      await clock.sleep(consumedTicks * tickMs - elapsedMs, options.signal);
    }
  }
}
