// SPDX-License-Identifier: Apache-2.0
import type { PersistentVolumeClaim, Pod, VolumeAttachment } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { attachment, podWith } from '../../testing/cluster.ts';
import type { Pages } from '../cluster/limits.ts';
import type { Reader } from '../cluster/reader.ts';
import { usersOf } from './users.ts';
import { attachmentsOf, isAttachRequired } from './volume.ts';

/** One list, of which `keep` keeps what it does, and the query for it. */
function listing<T>(items: readonly T[]) {
  const queries: Pages<T>[] = [];
  const kept: T[] = [];
  const list = async (_: unknown, query: Pages<T>) => {
    queries.push(query);
    kept.push(...items.flatMap((item) => query.keep?.(item) ?? []));
    return { kind: 'found', value: [...kept] };
  };
  return { reader: { list } as unknown as Reader, queries, kept };
}

const claim: PersistentVolumeClaim = { metadata: { name: 'data', namespace: 'shop' } };
const at = (second: number): { readonly creationTimestamp: string } => ({
  creationTimestamp: `2026-01-01T00:00:0${second}Z`,
});

it('given pods of several claims, when the users of one are looked for, then they are its own, the newest first, without their containers', async () => {
  const old = podWith('data', 'old', { metadata: { ...at(1), deletionGracePeriodSeconds: 30, labels: { a: 'b' } } });
  const pods: readonly Pod[] = [
    old,
    podWith('data', 'new', { metadata: at(3) }),
    podWith('other', 'foreign', { metadata: at(4) }),
    podWith('data', 'middle', { metadata: at(2) }),
    { metadata: { name: 'without volumes', ...at(5) } },
  ];
  const { reader, queries, kept } = listing(pods);
  const read = await usersOf(reader, claim);
  const users = read.kind === 'found' ? read.value : [];
  expect(users.map(({ metadata }) => metadata?.name)).toEqual(['new', 'middle', 'old']);
  expect(users.at(-1)?.metadata).toEqual({
    name: 'old',
    namespace: 'shop',
    uid: old.metadata?.uid,
    ...at(1),
    deletionGracePeriodSeconds: 30,
  });
  expect(users.map(({ spec }) => spec?.containers)).toEqual([[], [], []]);
  expect(queries).toMatchObject([{ namespace: 'shop', keptAs: 'users' }]);
  expect(kept.map(({ metadata }) => metadata?.name)).toEqual(['old', 'new', 'foreign', 'middle']);
});

it('given pods that may not be listed, when looked for, then who uses the claim is not known', async () => {
  const reader = { list: async () => ({ kind: 'unknown', because: 'forbidden' }) } as unknown as Reader;
  expect(await usersOf(reader, claim)).toEqual({ kind: 'unknown', because: 'forbidden' });
});

it('given all attachments, when those of a volume are looked for, then the list ends with the first, and is longer with --deep', async () => {
  const all: readonly VolumeAttachment[] = [attachment('a', { volume: 'pv-a' }), attachment('b', { volume: 'pv-b' })];
  const { reader, queries } = listing(all);
  expect(await attachmentsOf(reader, 'pv-b', false)).toEqual({ kind: 'found', value: [all[1]] });
  await attachmentsOf(reader, 'pv-c', true);
  expect(queries.map(({ most, keptAs, isEnough }) => [most, keptAs, isEnough?.(0), isEnough?.(1)])).toEqual([
    [20, 'pv-b', false, true],
    [100, 'pv-c', false, true],
  ]);
});

it.each([
  [{ kind: 'found', value: { spec: { attachRequired: false } } }, false],
  [{ kind: 'found', value: { spec: {} } }, true],
  [{ kind: 'absent' }, true],
  [{ kind: 'unknown', because: 'forbidden' }, undefined],
])('given the CSIDriver %j, when asked whether it attaches, then: %s', async (reading, isRequired) => {
  const reader = { get: async () => reading } as unknown as Reader;
  expect(await isAttachRequired(reader, 'd')).toBe(isRequired);
});
