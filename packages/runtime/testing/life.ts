// SPDX-License-Identifier: Apache-2.0
/** The life of a process in a test: it may end from one moment to the next, and nothing it started is heard of again. */
import type { Transport } from '../src/api/transport.ts';

export interface Life {
  readonly death: AbortSignal;
  /** Asked around every write and every call to the driver; may end the life there. */
  readonly interrupt: (operation: string, moment: 'before' | 'after') => void;
}

export interface MortalLife extends Life {
  /** Of what lives: aborts in good order when a test says so, and when the life ends. */
  readonly stop: AbortController;
  end(): void;
}

/** `interrupt` says `crash` where the life is to end. */
export function createLife(
  interrupt?: (operation: string, moment: 'before' | 'after') => 'crash' | undefined,
): MortalLife {
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

/** Requests of a dead process never leave, and answers never reach it. */
export function mortal(transport: Transport, life: Life): Transport {
  return (request) => {
    const operation = request.method === 'GET' ? undefined : `${request.method} ${request.path}`;
    return mortalCall(() => transport(request), { ...life, operation });
  };
}

export async function mortalCall<T>(
  call: () => Promise<T>,
  { death, interrupt, operation }: Life & { readonly operation: string | undefined },
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
