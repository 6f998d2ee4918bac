// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { recordingLogger, settle } from '../../testing/index.ts';
import type { ControllerPorts } from '../controller/controller.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { createController } from './create-controller.ts';
import type { AssembledLoop } from './loop.ts';

const aLoop = (changes: Partial<AssembledLoop> = {}) => {
  const run = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve());
    });
  return { assemble: (): AssembledLoop => ({ informers: [], run, ...changes }) };
};

it('given a loop that finishes its work and one without such work, when the stop is orderly, then the run ends with the former', async () => {
  const finishing = Promise.withResolvers<void>();
  const loops = [aLoop(), aLoop({ finish: () => finishing.promise })];
  const stop = new AbortController();
  let hasEnded = false;
  const ports = { logger: recordingLogger() } as unknown as ControllerPorts;
  const run = createController(ports, loops)
    .run(stop.signal)
    .finally(() => (hasEnded = true));
  await settle();
  stop.abort(new OrderlyStop());
  await settle();
  expect(hasEnded).toBe(false);
  finishing.resolve();
  await run;
});
