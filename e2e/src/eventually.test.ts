// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { consistently, eventually, type Patience } from './eventually.ts';

function patience(factor = 1): Patience & { readonly clock: FakeClock; readonly controller: AbortController } {
  const controller = new AbortController();
  return { clock: new FakeClock(), factor, signal: controller.signal, controller };
}

it('given something that comes, then its value is returned as soon as it is there', async () => {
  const world = patience();
  let asked = 0;
  const waiting = eventually(world, { what: 'three', check: () => ((asked += 1) === 3 ? asked : undefined) });
  await world.clock.advance(1000);
  expect(await waiting).toBe(3);
  expect(world.clock.pending).toBe(0);
});

it('given something that never comes, then the limit is scaled and the last reason is kept', async () => {
  const world = patience(2);
  const check = (): never => {
    throw new Error('not found');
  };
  const failed = eventually(world, { what: 'the claim is bound', timeoutMs: 1000, check }).catch((e: unknown) => e);
  await world.clock.advance(5000);
  expect(await failed).toMatchObject({
    message: 'not within 2 s: the claim is bound',
    cause: expect.objectContaining({ message: 'not found' }) as Error,
  });
});

it('given an interruption, then the wait ends at once', async () => {
  const world = patience();
  const failed = eventually(world, { what: 'anything', check: () => false }).catch((e: unknown) => e);
  await world.clock.advance(50);
  world.controller.abort(new Error('stopped'));
  expect(await failed).toMatchObject({ message: 'stopped' });
  expect(world.clock.pending).toBe(0);
});

it('given something that must stay, then it is looked at until the end of the window, and a change fails', async () => {
  const world = patience();
  let looks = 0;
  const staying = consistently(world, { forMs: 1000, check: () => void (looks += 1) });
  await world.clock.advance(1000);
  await staying;
  expect(looks).toBe(11);

  const changing = consistently(world, {
    forMs: 1000,
    check: () => {
      if (world.clock.monotonicMs() > 1500) throw new Error('changed');
    },
  }).catch((e: unknown) => e);
  await world.clock.advance(1000);
  expect(await changing).toMatchObject({ message: 'changed' });
});
