// SPDX-License-Identifier: Apache-2.0
/** A controller: a list of loops over shared caches. */
import type { ControllerPorts, Controller } from '../controller/controller.ts';
import { runTogether } from '../controller/run-together.ts';
import { runWhenSynced } from '../controller/run-when-synced.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import type { AssembledLoop, Loop } from './loop.ts';

export interface CreateControllerOptions {
  /** How long nothing of a cache may arrive before it has synced; then `run` rejects. Default 0: for ever. */
  readonly syncTimeoutMs?: number | undefined;
}

/**
 * Assumes: the caller runs the informers of `ports.informers`.
 * Guarantees: no loop works before all caches of all loops are synced; `run` resolves when no reconcile runs any more. An
 * orderly stop lets running reconciles finish; any other abort cuts them off. When a loop fails, the others are stopped in order
 * before `run` rejects.
 */
export function createController(
  ports: ControllerPorts,
  loops: readonly Loop[],
  options: CreateControllerOptions = {},
): Controller {
  const assembled = loops.map((loop) => loop.assemble(ports));
  const informers = [...new Set(assembled.flatMap((loop) => loop.informers))];
  return {
    run: (signal) =>
      runWhenSynced(
        { ...ports, informers, timeoutMs: options.syncTimeoutMs },
        async () => {
          await runTogether(
            assembled.map((loop) => (stop) => loop.run(stop)),
            signal,
          );
          if (signal.reason instanceof OrderlyStop) await Promise.all(assembled.map(finish));
        },
        signal,
      ),
  };
}

async function finish(loop: AssembledLoop): Promise<void> {
  await loop.finish?.();
}
