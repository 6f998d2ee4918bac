// SPDX-License-Identifier: Apache-2.0
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim } from '../../testing/builders.ts';
import { uidOf } from './claim.ts';
import { createInstanceWaits, type Look } from './instance-waits.ts';

const uid = uidOf(aClaim());
const gone: Look = { node: 'n2', presence: 'gone', isDeleted: true, breakMs: 120_000 };
const there: Look = { ...gone, presence: 'there' };

async function waits(...looks: readonly (readonly [afterMs: number, look: Look])[]): Promise<readonly number[]> {
  const clock = new FakeClock();
  const memory = createInstanceWaits(clock);
  let last = { goneForMs: 0, waitedForMs: 0 };
  for (const [afterMs, look] of looks) {
    await clock.advance(afterMs);
    last = memory.looked(uid, look);
  }
  return [last.goneForMs, last.waitedForMs];
}

it('[provisioner#P12] given a Node that is gone at each look, then its absence is one piece', async () => {
  expect(await waits([1, gone], [120_000, gone], [60_000, gone])).toEqual([180_000, 180_000]);
});

it.each<[string, Look]>([
  ['is there', there],
  ['cannot be read', { ...gone, presence: 'unknown' }],
])('[provisioner#P12] given a Node that %s between two looks, then its absence begins again', async (_what, look) => {
  expect(await waits([1, gone], [60_000, look], [60_000, gone], [60_000, gone])).toEqual([60_000, 180_000]);
});

it('[provisioner#P12] given no look for longer than the break, then the absence begins again', async () => {
  expect(await waits([1, gone], [120_001, gone], [1000, gone])).toEqual([1000, 121_001]);
});

it('[provisioner#P12] given the instance of another node, then both waits begin again', async () => {
  expect(await waits([1, { ...gone, node: 'n3' }], [1000, gone], [1000, gone])).toEqual([1000, 1000]);
});

it('[provisioner#P14] given a claim that is deleted during its wait, then the wait of the deleted claim begins with its deletion', async () => {
  expect(await waits([1, { ...there, isDeleted: false }], [1000, there], [500, there])).toEqual([0, 500]);
});

it('given a claim that is gone, then nothing of it is kept', async () => {
  const clock = new FakeClock();
  const memory = createInstanceWaits(clock);
  memory.looked(uid, gone);
  await clock.advance(1000);
  memory.forget(uid);
  expect(memory.looked(uid, gone)).toEqual({ presence: 'gone', goneForMs: 0, waitedForMs: 0 });
});
