// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps V8's optimizing compilers, or the slower one of them, off until the process works for long. They pay for themselves after seconds of
 * work, and what they leave in memory is not returned: pages of their own text, and what they allocate outside of V8's heap. A program that
 * works for a few seconds and then waits would be optimized for work that does not come again. Measured in docs/adr/0005.
 *
 * The rule, applied once a second: after ten seconds of CPU time without an idle second between, the compilers are switched on, for ever. A second is
 * idle if it takes less than a tenth of it. CPU time, because on a busy machine the event loop is not idle while the process waits for its turn.
 */
import type { Clock } from '../clock/clock.ts';

export interface CompilerPort {
  /** The CPU time of this process so far, in milliseconds. */
  readonly cpuMs: () => number;
  /** Switches the compilers on. */
  readonly optimise: () => void;
}

const sampleMs = 1000;
const idleBelowMs = 100;
const enoughMs = 10_000;

interface LateOptions {
  readonly compilers: CompilerPort;
  readonly clock: Pick<Clock, 'timer'>;
}

/** Assumes that the compilers are off. Its timer does not keep the process alive. */
export function optimiseLate({ compilers, clock }: LateOptions): Disposable {
  let workedMs = 0;
  let lastMs = compilers.cpuMs();
  const look = (): void => {
    const nowMs = compilers.cpuMs();
    const spentMs = nowMs - lastMs;
    lastMs = nowMs;
    workedMs = spentMs < idleBelowMs ? 0 : workedMs + spentMs;
    if (workedMs >= enoughMs) compilers.optimise();
    else timer = clock.timer(sampleMs, look);
  };
  let timer = clock.timer(sampleMs, look);
  return { [Symbol.dispose]: () => timer.cancel() };
}
