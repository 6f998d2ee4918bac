// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { ClaimUid } from '../claim/claim.ts';
import { createSourceHolds, type SourceHolds } from './holds.ts';
import type { SourceKey, SourceRef } from './source.ts';

const [a, b] = ['a', 'b'] as unknown as [ClaimUid, ClaimUid];
const daily: SourceRef = { kind: 'snapshot', namespace: 'team', name: 'daily' };

function someHolds(): { readonly holds: SourceHolds; readonly woken: readonly SourceKey[] } {
  const woken: SourceKey[] = [];
  return { holds: createSourceHolds({ wake: (key) => void woken.push(key) }), woken };
}

it('given two claims hold a source, when both end, then the source is woken once, by the last', async () => {
  const { holds, woken } = someHolds();
  await holds.take(a, daily);
  await holds.take(a, daily);
  await holds.take(b, daily);
  expect([holds.holders(daily), holds.holders({ ...daily, kind: 'claim' })]).toEqual([2, 0]);
  holds.end(a, 'other');
  expect([holds.holders(daily), woken]).toEqual([1, []]);
  holds.end(b, 'other');
  holds.end(b, 'other');
  expect([holds.holders(daily), woken]).toEqual([0, ['snapshot/team/daily']]);
});

it('given a claim that takes another source, then it holds only that one', async () => {
  const { holds, woken } = someHolds();
  const weekly: SourceRef = { ...daily, name: 'weekly' };
  await holds.take(a, daily);
  await holds.take(a, weekly);
  expect([holds.holders(daily), holds.holders(weekly), woken]).toEqual([0, 1, ['snapshot/team/daily']]);
});

it('given a claim whose last call failed, when it holds again or is forgotten, then its stance follows', async () => {
  const { holds } = someHolds();
  expect(holds.stanceOf(a)).toBe('unknown');
  await holds.take(a, daily);
  expect(holds.stanceOf(a)).toBe('holds');
  holds.end(a, 'failed');
  expect(holds.stanceOf(a)).toBe('failed');
  holds.end(a, 'other');
  expect(holds.stanceOf(a)).toBe('failed');
  await holds.take(a, daily);
  expect(holds.stanceOf(a)).toBe('holds');
  holds.end(a, 'other');
  holds.forget(a);
  expect(holds.stanceOf(a)).toBe('unknown');
});

it('[provisioner#X3] given a removal is under way, when a claim takes the source, then it waits for the end of the removal, failed or not', async () => {
  const { holds } = someHolds();
  let finish: () => void = () => undefined;
  const work = new Promise<void>((_resolve, reject) => {
    finish = () => reject(new Error('refused'));
  });
  const removal = holds.whileFree(daily, () => work);
  const taken = holds.take(a, daily);
  await Promise.resolve();
  expect(holds.holders(daily)).toBe(0);
  finish();
  await expect(removal).rejects.toThrow('refused');
  await taken;
  expect(holds.holders(daily)).toBe(1);
});

it('given a claim holds the source, when its finalizer is to be removed, then it is not', async () => {
  const { holds } = someHolds();
  await holds.take(a, daily);
  let removed = 0;
  const remove = async (): Promise<void> => void removed++;
  expect([await holds.whileFree(daily, remove), removed]).toEqual(['held', 0]);
  holds.end(a, 'other');
  expect([await holds.whileFree(daily, remove), removed]).toEqual(['done', 1]);
});

it('given two removals of one source, when a claim takes the source after the first began, then the second waits for the first, and the claim for both', async () => {
  const { holds } = someHolds();
  const order: string[] = [];
  const finish: (() => void)[] = [];
  const removal = (name: string) => async (): Promise<void> => {
    order.push(`${name} begins`);
    await new Promise<void>((resolve) => finish.push(resolve));
    order.push(`${name} ends`);
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  const first = holds.whileFree(daily, removal('first'));
  await settle();
  const taken = holds.take(a, daily).then(() => void order.push('taken'));
  const second = holds.whileFree(daily, removal('second'));
  await settle();
  expect(order).toEqual(['first begins']);
  finish[0]!();
  await settle();
  expect(order).toEqual(['first begins', 'first ends', 'second begins']);
  finish[1]!();
  await Promise.all([first, second, taken]);
  expect([order.slice(3), holds.holders(daily)]).toEqual([['second ends', 'taken'], 1]);
});
