// SPDX-License-Identifier: Apache-2.0
/**
 * Runs a program inside its process: signals, crashes, the bound on an orderly stop, and the one place that exits. Handlers are
 * installed before the program runs anything; as process 1 of a container a program without them would not react to SIGTERM
 * at all.
 */
import type { Clock, Timer } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { OrderlyStop } from './orderly-stop.ts';
import {
  shutdownStep,
  type CrashOrigin,
  type OnSignal,
  type ShutdownEffect,
  type ShutdownInput,
  type ShutdownState,
  type SignalName,
} from './shutdown.ts';

/** The parts of the process that are used here. */
export interface ProcessPort {
  readonly onSignal: (name: SignalName, listener: () => void) => void;
  readonly onCrash: (listener: (error: unknown, origin: CrashOrigin) => void) => void;
  readonly exit: (code: number) => void;
}

export interface RunProcessDeps {
  readonly process: ProcessPort;
  readonly clock: Clock;
  /** The logger until the program has configured its own. */
  readonly logger: Logger;
}

export interface Lifecycle {
  /** Aborts with an `OrderlyStop`, at most once. */
  readonly signal: AbortSignal;
  /** Called by a program after it has read its flags. */
  readonly configure: (settings: LifecycleSettings) => void;
}

export interface LifecycleSettings {
  readonly logger?: Logger;
  /** Flushes the log. Each exit waits for it for at most a second. */
  readonly flushLogs?: () => Promise<void>;
  /** Default `exit`. */
  readonly onSignal?: OnSignal;
  /** The time from the signal to the exit, whatever still runs. Default 25 s, within the usual grace period of 30 s. */
  readonly drainMs?: number;
}

/** Resolves with the exit code. */
export type Program = (lifecycle: Lifecycle) => Promise<number>;

const flushLogsMs = 1000;

/** Resolves when `exit` of the process has been called. */
export async function runProcess({ process, clock, logger }: RunProcessDeps, program: Program): Promise<void> {
  const exited = Promise.withResolvers<void>();
  const stopping = new AbortController();
  let settings: Required<Pick<LifecycleSettings, 'logger' | 'flushLogs' | 'drainMs'>> = {
    logger,
    flushLogs: () => Promise.resolve(),
    drainMs: 25_000,
  };
  let state: ShutdownState = { kind: 'running', onSignal: 'exit' };
  let drainTimer: Timer | undefined;

  function take(input: ShutdownInput): void {
    const next = shutdownStep(state, input);
    state = next.state;
    for (const effect of next.effects) perform(effect);
  }

  function perform(effect: ShutdownEffect): void {
    switch (effect.kind) {
      case 'info':
        settings.logger.info(0, effect.message);
        return;
      case 'error':
        settings.logger.error(effect.error, effect.message);
        return;
      case 'drain':
        drainTimer = clock.timer(settings.drainMs, () => take({ kind: 'drainTimeout' }));
        stopping.abort(new OrderlyStop());
        return;
      case 'exit':
        drainTimer?.cancel();
        void exit(effect.code);
    }
  }

  async function exit(code: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    using _ = clock.timer(flushLogsMs, late.resolve);
    // A log that cannot be written must not keep the process from ending, not even one whose flush throws.
    const flushed = (async () => settings.flushLogs())().catch(() => undefined);
    await Promise.race([flushed, late.promise]);
    process.exit(code);
    exited.resolve();
  }

  process.onSignal('SIGTERM', () => take({ kind: 'signal', name: 'SIGTERM' }));
  process.onSignal('SIGINT', () => take({ kind: 'signal', name: 'SIGINT' }));
  process.onCrash((error, origin) => take({ kind: 'crashed', error, origin }));
  const lifecycle: Lifecycle = {
    signal: stopping.signal,
    configure: ({ onSignal, ...given }) => {
      settings = { ...settings, ...given };
      if (onSignal !== undefined) take({ kind: 'configured', onSignal });
    },
  };
  void runProgram();
  await exited.promise;

  async function runProgram(): Promise<void> {
    try {
      take({ kind: 'ended', code: await program(lifecycle) });
    } catch (error) {
      take({ kind: 'failed', error });
    }
  }
}
