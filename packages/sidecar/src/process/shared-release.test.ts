// SPDX-License-Identifier: Apache-2.0
import type { ControllerPorts, Loop, PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { createSharedRelease } from './shared-release.ts';

const ports = { name: 'ports' } as unknown as ControllerPorts;
const volume: PersistentVolume = { metadata: { name: 'pv1', finalizers: ['a', 'taken'] } };

/** It works until the test ends it. */
function aLoop() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const loop: Loop = { assemble: () => ({ informers: [], keyed: undefined as never, run: () => promise }) };
  return { loop, end: resolve, fail: reject };
}

it('given the loop of csi-attacher, then its offers are asked for while it works, and not before it or after it', async () => {
  const shared = createSharedRelease();
  const { loop, end } = aLoop();
  const asked: unknown[] = [];
  const offering = shared.offering(loop, (given) => (about) => {
    asked.push(given, about);
    return ['a'];
  });
  const assembled = offering.assemble(ports);
  expect([assembled.informers, shared.offered(volume)]).toEqual([[], []]);
  const running = assembled.run(new AbortController().signal);
  expect([shared.offered(volume), asked]).toEqual([['a'], [ports, volume]]);
  end();
  await running;
  expect(shared.offered(volume)).toEqual([]);
});

it('given the loop of csi-provisioner, then volumes with its finalizer are taken while it works, also if it fails in the end', async () => {
  const shared = createSharedRelease();
  const { loop, fail } = aLoop();
  const assembled = shared.taking(loop, 'taken').assemble(ports);
  expect(shared.isTaken(volume)).toBe(false);
  const running = assembled.run(new AbortController().signal);
  expect([volume, { metadata: { finalizers: ['a'] } }, {}].map((each) => shared.isTaken(each))).toEqual([
    true,
    false,
    false,
  ]);
  fail(new Error('defect'));
  await expect(running).rejects.toThrow('defect');
  expect(shared.isTaken(volume)).toBe(false);
});
