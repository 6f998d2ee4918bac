// SPDX-License-Identifier: Apache-2.0
/** One try to save a PersistentVolume: the requests, what the cache learns, and the row. */
import { ApiError, type PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume, driverName } from '../../testing/builders.ts';
import { saveVolume } from './perform.ts';

const claimRef = { namespace: 'team', name: 'data', uid: 'uid-data' };
const csi = { driver: driverName, volumeHandle: 'v1' };
const wanted = aVolume({ name: 'pv', spec: { claimRef, csi } });
const stored = aVolume({ name: 'pv', spec: { claimRef, csi }, phase: 'Pending' });
const exists = new ApiError({ status: 409, reason: 'AlreadyExists', message: 'exists' });

interface Answers {
  readonly create: unknown;
  readonly get?: unknown;
  readonly volume?: PersistentVolume;
  /** UIDs of claims that are there. */
  readonly claims?: readonly string[];
}

async function save({ create, get, volume = wanted, claims = ['uid-data'] }: Answers) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const reply =
    (verb: string, answer: unknown) =>
    async ({ kind }: { readonly kind: string }, detail: unknown): Promise<unknown> => {
      requests.push([verb, kind, detail]);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const deps = {
    client: { create: reply('create', create), get: reply('get', get) },
    volumes: { remember: (object: unknown) => void remembered.push(object) },
    claims: {
      byIndex: (index: string, uid: string) => (index === 'uid' ? claims.filter((each) => each === uid) : []),
    },
  } as unknown as Parameters<typeof saveVolume>[0];
  return { saved: await saveVolume(deps, volume), requests, remembered };
}

const created = ['create', 'PersistentVolume', wanted];
const read = ['get', 'PersistentVolume', { name: 'pv' }];

it.each([
  { claims: ['uid-data'], claim: 'there' },
  { claims: [], claim: 'gone' },
  { claims: ['uid-other'], claim: 'gone' },
])(
  'given the create succeeds and the claims $claims, then S1 with the claim $claim, and the cache has the answer',
  async ({ claims, claim }) => {
    expect(await save({ create: stored, claims })).toEqual({
      saved: { row: 'S1', kind: 'saved', claim },
      requests: [created],
      remembered: [stored],
    });
  },
);

it('given the object is there already as wanted, then S3, and the cache has it', async () => {
  expect(await save({ create: exists, get: stored })).toEqual({
    saved: { row: 'S3', kind: 'saved', claim: 'there' },
    requests: [created, read],
    remembered: [stored],
  });
});

it('given the object is there for another claim, then S4, and the cache does not learn it', async () => {
  const other = aVolume({ name: 'pv', spec: { claimRef: { ...claimRef, uid: 'uid-other' }, csi } });
  expect(await save({ create: exists, get: other })).toEqual({
    saved: { row: 'S4', kind: 'taken', message: 'PersistentVolume pv already exists and belongs to claim team/data' },
    requests: [created, read],
    remembered: [],
  });
});

it.each([
  {
    given: 'is gone again',
    get: new ApiError({ status: 404, reason: 'NotFound', message: 'no' }),
    cause: new Error('PersistentVolume pv vanished'),
  },
  { given: 'cannot be read', get: new Error('reset'), cause: new Error('reset') },
])('given the object is there and $given, then S6 with the cause', async ({ get, cause }) => {
  expect(await save({ create: exists, get })).toEqual({
    saved: { row: 'S6', kind: 'later', cause },
    requests: [created, read],
    remembered: [],
  });
});

it('given the create fails otherwise, then nothing is read', async () => {
  const cause = new Error('reset');
  expect(await save({ create: cause })).toEqual({
    saved: { row: 'S8', kind: 'later', cause },
    requests: [created],
    remembered: [],
  });
});

it('given a volume without a claim, then no claim is there', async () => {
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec: { csi } };
  expect((await save({ create: stored, volume, claims: ['uid-data'] })).saved).toMatchObject({ claim: 'gone' });
});
