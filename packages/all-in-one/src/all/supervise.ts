// SPDX-License-Identifier: Apache-2.0
/** Runs one controller repeatedly, as the table in supervision.ts says. */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import { ExitError } from '@csi-sidecars/sidecar';
import type { States } from './states.ts';
import { decide, type RunEnd } from './supervision.ts';

export interface SuperviseDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly states: States;
  readonly onFailure: 'restart' | 'exit';
  readonly endProcess: (fault: ProcessFault) => void;
}

/** Why the process ends by itself. */
export interface ProcessFault {
  readonly code: number;
  readonly error: unknown;
  readonly controller?: string;
}

/** A controller, and what is known of it from run to run and from session to session. */
export interface Supervised {
  readonly name: string;
  failures: number;
}

/** Ends when no further run follows before the driver connects again, or at all. Never rejects. */
export async function supervise(
  { clock, log, states, onFailure, endProcess }: SuperviseDeps,
  { controller, run }: { readonly controller: Supervised; readonly run: () => Promise<RunEnd> },
  signal: AbortSignal,
): Promise<void> {
  const { name } = controller;
  for (;;) {
    const startedMs = clock.monotonicMs();
    states.running.add(name);
    const end = await run();
    states.running.delete(name);
    const lastedMs = clock.monotonicMs() - startedMs;
    const sequel = decide({ end, lastedMs, failures: controller.failures, onFailure });
    log.info(5, 'Decided', { row: sequel.row, action: sequel.kind });
    switch (sequel.kind) {
      case 'rest':
        states.set(name, 'stopped');
        return;
      case 'endProcess':
        states.set(name, 'stopped');
        endProcess({ code: sequel.code, error: sequel.error, controller: name });
        return;
      case 'awaitDriver':
        states.set(name, 'starting');
        return;
      case 'park':
        states.set(name, 'parked');
        log.error(
          sequel.error.cause,
          `${sequel.error.message}; the controller is parked until the driver connects again`,
        );
        return;
      case 'standBy':
        log.error(undefined, 'The lease is lost, the controller stands by');
        continue;
      case 'restart': {
        controller.failures = sequel.failures;
        states.set(name, 'backoff');
        states.countRestart(name);
        const { error } = end as Extract<RunEnd, { kind: 'failed' }>;
        const isWrapped = error instanceof ExitError && error.cause !== undefined;
        log.error(isWrapped ? error.cause : error, 'The controller failed and starts again', {
          ...(isWrapped ? { what: error.message } : {}),
          afterSeconds: sequel.afterMs / 1000,
        });
        try {
          await clock.sleep(sequel.afterMs, signal);
        } catch {
          if (states.of(name) === 'backoff') states.set(name, 'starting');
          return;
        }
      }
    }
  }
}
