// SPDX-License-Identifier: Apache-2.0
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import type { ClaimUid } from '../claim/claim.ts';
import { createSourceReferences, type SourceReferences } from './references.ts';
import type { SourceKey, SourceRef } from './source.ts';

const [a, b] = ['a', 'b'] as unknown as [ClaimUid, ClaimUid];
const daily: SourceRef = { kind: 'snapshot', namespace: 'team', name: 'daily' };

function someReferences(): { readonly references: SourceReferences; readonly woken: readonly SourceKey[] } {
  const woken: SourceKey[] = [];
  return { references: createSourceReferences({ wake: (key) => void woken.push(key) }, new FakeClock()), woken };
}

it('given two claims hold a source, when both end, then the source is woken once, by the last', async () => {
  const { references, woken } = someReferences();
  await references.acquire(a, daily);
  await references.acquire(a, daily);
  await references.acquire(b, daily);
  expect([references.count(daily), references.count({ ...daily, kind: 'claim' })]).toEqual([2, 0]);
  references.release(a, 'other');
  expect([references.count(daily), woken]).toEqual([1, []]);
  references.release(b, 'other');
  references.release(b, 'other');
  expect([references.count(daily), woken]).toEqual([0, ['snapshot/team/daily']]);
});

it('given a claim that takes another source, then it holds only that one', async () => {
  const { references, woken } = someReferences();
  const weekly: SourceRef = { ...daily, name: 'weekly' };
  await references.acquire(a, daily);
  await references.acquire(a, weekly);
  expect([references.count(daily), references.count(weekly), woken]).toEqual([0, 1, ['snapshot/team/daily']]);
});

it('given a claim whose last call failed, when it holds again or is forgotten, then its state follows', async () => {
  const { references } = someReferences();
  expect(references.stateOf(a)).toBe('unknown');
  await references.acquire(a, daily);
  expect(references.stateOf(a)).toBe('inUse');
  references.release(a, 'failed');
  expect(references.stateOf(a)).toBe('failed');
  references.release(a, 'other');
  expect(references.stateOf(a)).toBe('failed');
  await references.acquire(a, daily);
  expect(references.stateOf(a)).toBe('inUse');
  references.release(a, 'other');
  references.forget(a);
  expect(references.stateOf(a)).toBe('unknown');
});

it('[provisioner#X3] given a removal is under way, when a claim takes the source, then it waits for the end of the removal, failed or not', async () => {
  const { references } = someReferences();
  let finish: () => void = () => undefined;
  const work = new Promise<void>((_resolve, reject) => {
    finish = () => reject(new Error('refused'));
  });
  const removal = references.whileUnreferenced(daily, () => work);
  const taken = references.acquire(a, daily);
  await Promise.resolve();
  expect(references.count(daily)).toBe(0);
  finish();
  await expect(removal).rejects.toThrow('refused');
  await taken;
  expect(references.count(daily)).toBe(1);
});

it('given a claim holds the source, when its finalizer is to be removed, then it is not', async () => {
  const { references } = someReferences();
  await references.acquire(a, daily);
  let removed = 0;
  const remove = async (): Promise<void> => void removed++;
  expect([await references.whileUnreferenced(daily, remove), removed]).toEqual(['held', 0]);
  references.release(a, 'other');
  expect([await references.whileUnreferenced(daily, remove), removed]).toEqual(['done', 1]);
});

it('given two removals of one source, when a claim takes the source after the first began, then it gets it next, and the second removes nothing', async () => {
  const { references } = someReferences();
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const removals = [
    references.whileUnreferenced(daily, () => first.promise),
    references.acquire(a, daily).then(() => void order.push('taken')),
    references.whileUnreferenced(daily, async () => void order.push('second')),
  ];
  first.resolve();
  expect([await Promise.all(removals), order]).toEqual([['done', undefined, 'held'], ['taken']]);
});

it('given a source that is held without a pause, then requests about it are shared; once no claim holds it they are forgotten', async () => {
  const { references } = someReferences();
  let sent = 0;
  const ask = (claim: ClaimUid): Promise<number> => references.requests(claim).get('read', async () => (sent += 1));
  await references.acquire(a, daily);
  await references.acquire(b, daily);
  expect([await ask(a), await ask(b)]).toEqual([1, 1]);
  references.release(a, 'other');
  await references.acquire(a, daily);
  references.release(b, 'other');
  expect(await ask(a)).toBe(1);
  references.release(a, 'other');
  await references.acquire(a, daily);
  expect(await ask(a)).toBe(2);
  await references.acquire(a, { ...daily, name: 'weekly' });
  expect([await ask(a), await ask(b)]).toEqual([3, 4]);
});
