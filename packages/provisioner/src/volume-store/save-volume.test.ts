// SPDX-License-Identifier: Apache-2.0
/** One try to save a PersistentVolume: the requests, what the cache learns, and the row. */
import { ApiError, type PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aVolume, driverName } from '../../testing/builders.ts';
import { saveVolume } from './save-volume.ts';

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
  readonly isClaimDeleted?: true;
}

async function save({ create, get, volume = wanted, claims = ['uid-data'], isClaimDeleted }: Answers) {
  const requests: unknown[] = [];
  const remembered: unknown[] = [];
  const doubted: unknown[] = [];
  const reply =
    (verb: string, answer: unknown) =>
    async ({ kind }: { readonly kind: string }, detail: unknown): Promise<unknown> => {
      requests.push([verb, kind, detail]);
      // A server that takes its time: nothing is returned before its answer.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const deps = {
    client: { create: reply('create', create), get: reply('get', get) },
    volumes: {
      remember: (object: unknown) => void remembered.push(object),
      doubt: (object: unknown) => void doubted.push(object),
    },
    claims: {
      byIndex: (index: string, uid: string) =>
        index === 'uid'
          ? claims
              .filter((each) => each === uid)
              .map(() => aClaim(isClaimDeleted === undefined ? {} : { deleting: 'yes' }))
          : [],
    },
  } as unknown as Parameters<typeof saveVolume>[0];
  return { saved: await saveVolume(deps, volume), requests, remembered, doubted };
}

const deletedAt = '2026-01-01T00:00:00Z';
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
      doubted: [],
    });
  },
);

it('given the object is there already as wanted, then S3, and the cache has it', async () => {
  expect(await save({ create: exists, get: stored })).toEqual({
    saved: { row: 'S3', kind: 'saved', claim: 'there' },
    requests: [created, read],
    remembered: [stored],
    doubted: [],
  });
});

const deleting = (phase: string): PersistentVolume => ({
  ...stored,
  metadata: { ...stored.metadata, deletionTimestamp: deletedAt, finalizers: ['a/b', 'c/d'] },
  status: { phase },
});

it('[provisioner#222] given the object is there as wanted and is being deleted, when the claim is live, then it does not count as saved, and the message says what ends that', async () => {
  const existing = deleting('Available');
  expect(await save({ create: exists, get: existing })).toEqual({
    saved: {
      row: 'S10',
      kind: 'refused',
      message:
        'PersistentVolume pv of this claim is being deleted, and the claim cannot be bound to it. ' +
        'Once it is gone, the claim is provisioned again. If its finalizers (a/b, c/d) keep it, remove them, or delete the claim',
    },
    requests: [created, read],
    remembered: [existing],
    doubted: [],
  });
});

it.each([
  { given: 'the claim is being deleted', get: deleting('Available'), isClaimDeleted: true as const, claim: 'there' },
  { given: 'the claim is gone', get: deleting('Available'), claims: [], claim: 'gone' },
  { given: 'the claim is bound to it', get: deleting('Bound'), claims: [], claim: 'gone' },
  { given: 'the claim was bound to it a moment ago', get: deleting('Bound'), claim: 'there' },
])(
  '[provisioner#222] given the object is there as wanted and is being deleted, when $given, then S3: it is deleted with the claim',
  async ({ given: _given, get, claim, ...more }) => {
    expect(await save({ create: exists, get, ...more })).toEqual({
      saved: { row: 'S3', kind: 'saved', claim },
      requests: [created, read],
      remembered: [get],
      doubted: [],
    });
  },
);

it('given the object is there for another claim, then S4, and the cache does not learn it', async () => {
  const other = aVolume({ name: 'pv', spec: { claimRef: { ...claimRef, uid: 'uid-other' }, csi } });
  expect(await save({ create: exists, get: other })).toEqual({
    saved: { row: 'S4', kind: 'taken', message: 'PersistentVolume pv already exists and belongs to claim team/data' },
    requests: [created, read],
    remembered: [],
    doubted: [],
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
    doubted: [],
  });
});

it('given the create has no answer, then nothing is read, and the record is in doubt', async () => {
  const cause = new Error('reset');
  expect(await save({ create: cause })).toEqual({
    saved: { row: 'S8', kind: 'later', cause },
    requests: [created],
    remembered: [],
    doubted: [wanted],
  });
});

it.each([{ spec: { csi } }, {}])(
  'given a volume with %o, which names no claim, then no claim is there',
  async (named) => {
    const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, ...named };
    expect((await save({ create: stored, volume, claims: ['uid-data'] })).saved).toMatchObject({ claim: 'gone' });
  },
);

it('given an object that has no status yet, then it is compared as one that is not bound', async () => {
  const { status: _status, ...withoutStatus } = deleting('Available');
  expect((await save({ create: exists, get: withoutStatus })).saved).toMatchObject({ row: 'S10' });
});
