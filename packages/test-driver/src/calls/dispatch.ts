// SPDX-License-Identifier: Apache-2.0
/**
 * One call from arrival to outcome, the same for the program and the model: journal, faults, handler, faults, journal.
 * The caller's deadline is ignored here: an operation that has begun is finished, as the protocol demands.
 */
import type { DecodedRequestOf, Method } from '@csi-sidecars/csi';
import type { Driver } from '../core/driver.ts';
import { toRefusal } from '../core/refusal.ts';
import { Interruption, type FaultBox } from '../faults/fault-box.ts';
import type { IncomingCall, Journal, Outcome } from '../journal/journal.ts';
import { handle } from '../services/handlers.ts';

export interface DispatchDeps {
  readonly driver: Driver;
  readonly faults: FaultBox;
  readonly journal: Journal;
}

export async function dispatch({ driver, faults, journal }: DispatchDeps, incoming: IncomingCall): Promise<Outcome> {
  let seq: number | undefined;
  const outcome = await outcomeOf(async () => {
    seq = await journal.begin(incoming); // no line, no effect
    const { method, nodeId } = incoming;
    await faults.strike('before', incoming);
    // Whatever kept it waiting: nothing is begun for a connection that is closed.
    if (incoming.isGone?.() === true) throw new Interruption('drop');
    const request = incoming.request as DecodedRequestOf<Method>;
    const underLock = (): Promise<void> => faults.strike('during', incoming);
    const response = await handle(driver, { method, request }, { nodeId, underLock });
    await faults.strike('after', incoming);
    return faults.answer(response, incoming);
  });
  // A crashed driver writes no more lines. A line that cannot be written does not change what happened.
  const isDead = outcome.kind === 'interrupted' && outcome.by === 'crash';
  if (seq !== undefined && !isDead) await journal.end(seq, outcome).catch(() => undefined);
  return outcome;
}

async function outcomeOf(work: () => Promise<object>): Promise<Outcome> {
  try {
    return { kind: 'answered', response: await work() };
  } catch (error) {
    if (error instanceof Interruption) return { kind: 'interrupted', by: error.kind };
    const { code, message } = toRefusal(error);
    return { kind: 'refused', code, message };
  }
}
