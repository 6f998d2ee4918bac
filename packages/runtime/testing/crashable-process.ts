// SPDX-License-Identifier: Apache-2.0
/** A process that a test can crash at any moment: nothing that it started has any further effect. */
import type { Transport } from '../src/api/transport.ts';

export interface CrashPoints {
  readonly death: AbortSignal;
  /** Called before and after every write and every call to the driver; may crash the process there. */
  readonly interrupt: (operation: string, moment: 'before' | 'after') => void;
}

export interface CrashableProcess extends CrashPoints {
  /** Stops the process: a test aborts it for an orderly stop, and a crash aborts it as well. */
  readonly stop: AbortController;
  end(): void;
}

/** The process crashes where `interrupt` returns `crash`. */
export function createCrashableProcess(
  interrupt?: (operation: string, moment: 'before' | 'after') => 'crash' | undefined,
): CrashableProcess {
  const stop = new AbortController();
  const death = new AbortController();
  const end = (): void => {
    death.abort();
    stop.abort(new Error('crashed'));
  };
  return {
    stop,
    end,
    death: death.signal,
    interrupt: (operation, moment) => {
      if (!death.signal.aborted && interrupt?.(operation, moment) === 'crash') end();
    },
  };
}

/** Requests of a dead process are never sent, and answers never reach it. */
export function crashableTransport(transport: Transport, process: CrashPoints): Transport {
  return (request) => {
    const operation = request.method === 'GET' ? undefined : `${request.method} ${request.path}`;
    return crashableCall(() => transport(request), { ...process, operation });
  };
}

export async function crashableCall<T>(
  call: () => Promise<T>,
  { death, interrupt, operation }: CrashPoints & { readonly operation: string | undefined },
): Promise<T> {
  const never = new Promise<never>(() => undefined);
  if (operation !== undefined) interrupt(operation, 'before');
  if (death.aborted) return await never;
  try {
    return await call();
  } finally {
    if (operation !== undefined) interrupt(operation, 'after');
    if (death.aborted) await never;
  }
}
