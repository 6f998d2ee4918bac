// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../clock/clock.ts';

/** Keeps the process alive until disposed. Sockets and timers of the runtime do not, so a program that only waits would end. */
export function keepAlive(clock: Clock): Disposable {
  const over = new AbortController();
  clock.sleep(Infinity, over.signal).catch(() => undefined);
  return { [Symbol.dispose]: () => over.abort() };
}
