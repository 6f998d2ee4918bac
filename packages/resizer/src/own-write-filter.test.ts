// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim } from '../testing/builders.ts';
import { type Claim, claimKey } from './claim.ts';
import { annotations } from './names.ts';
import { createOwnWriteFilter, type OwnWriteFilter } from './own-write-filter.ts';

const key = claimKey(aClaim());
const version = (resourceVersion: string, spec = '2Gi'): Claim => {
  const claim = aClaim({ spec });
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};
const write = (own: OwnWriteFilter, resourceVersion: string) => own.record(key, async () => version(resourceVersion));

function isForeign(own: OwnWriteFilter, previous: Claim | undefined, current: Claim): boolean {
  let judged = false;
  own.judge({ previous, current, isInInitialList: false }, () => (judged = true));
  return judged;
}

it('P4: given two own writes, then both of their changes are own, however late they come', async () => {
  const own = createOwnWriteFilter();
  await write(own, '5');
  await write(own, '6');
  expect([isForeign(own, version('4'), version('5')), isForeign(own, version('5'), version('6'))]).toEqual([
    false,
    false,
  ]);
  expect(isForeign(own, version('6'), version('7'))).toBe(true);
  expect(isForeign(own, undefined, version('6'))).toBe(true);
});

it('P4: given an own write and a change of the user in one, as after a relist, then it is foreign', async () => {
  const own = createOwnWriteFilter();
  await write(own, '6');
  expect(isForeign(own, version('4', '1Gi'), version('6'))).toBe(true);
});

it.each([
  { given: 'an earlier claim of its name', before: { uid: 'earlier' } },
  { given: 'a deletion that is not in the write', before: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
])('P4: given an own write after $given in one change, then it is foreign', async ({ before }) => {
  const own = createOwnWriteFilter();
  await write(own, '6');
  const previous = version('4');
  expect(isForeign(own, { ...previous, metadata: { ...previous.metadata, ...before } }, version('6'))).toBe(true);
});

it('given more than eight own writes, then the oldest is not known any more', async () => {
  const own = createOwnWriteFilter();
  for (const resourceVersion of '123456789') await write(own, resourceVersion);
  expect(['1', '2'].map((current) => isForeign(own, version('0'), version(current)))).toEqual([true, false]);
});

it('[resizer#88] given an own write, when a resync offers its claim, then that is foreign', async () => {
  const own = createOwnWriteFilter();
  await write(own, '6');
  expect(isForeign(own, version('6'), version('6'))).toBe(true);
});

it('[resizer#127] given an own write and a storage-resizer annotation in one, as after a relist, then it is foreign', async () => {
  const own = createOwnWriteFilter();
  await write(own, '6');
  const named = { annotations: { [annotations.storageResizer]: 'ebs.csi.aws.com' } };
  const current = version('6');
  expect(isForeign(own, version('4'), { ...current, metadata: { ...current.metadata, ...named } })).toBe(true);
});

it('P4: given changes during writes that overlap, then they are judged when the last one has ended', async () => {
  const own = createOwnWriteFilter();
  const answers = [Promise.withResolvers<Claim>(), Promise.withResolvers<Claim>()] as const;
  const writes = answers.map(({ promise }) => own.record(key, () => promise));
  const judged: string[] = [];
  for (const resourceVersion of ['5', '6', '7']) {
    const change = { previous: version('4'), current: version(resourceVersion), isInInitialList: false };
    own.judge(change, () => judged.push(resourceVersion));
  }
  answers[0].resolve(version('5'));
  await writes[0];
  own.judge({ previous: version('7'), current: version('8'), isInInitialList: false }, () => judged.push('8'));
  expect(judged).toEqual([]);
  answers[1].resolve(version('7'));
  await writes[1];
  expect(judged).toEqual(['6', '8']);
});

it('given a write that fails, then it rejects, and the changes that waited are judged', async () => {
  const own = createOwnWriteFilter();
  const answer = Promise.withResolvers<Claim>();
  const writing = own.record(key, () => answer.promise);
  const judged: string[] = [];
  own.judge({ previous: version('4'), current: version('5'), isInInitialList: false }, () => judged.push('5'));
  answer.reject(new Error('no'));
  await expect(writing).rejects.toThrow('no');
  expect(judged).toEqual(['5']);
});

it('given a claim that is gone, then nothing of it is known', async () => {
  const own = createOwnWriteFilter();
  await write(own, '5');
  expect(isForeign(own, version('4'), version('5'))).toBe(false);
  own.forget(key);
  expect(isForeign(own, version('4'), version('5'))).toBe(true);
});
