// SPDX-License-Identifier: Apache-2.0
/** What is sent for a write to a claim, and what caches and memory know afterwards. */
import { ApiError, type LoopPorts } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { aClaim } from '../testing/builders.ts';
import type { Claim } from './claim.ts';
import { createOwnWriteFilter } from './own-write-filter.ts';
import { changeClaim, patchGuardedClaim } from './write-claim.ts';

const version = (resourceVersion: string): Claim => {
  const claim = aClaim();
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};
const [before, after] = [version('5'), version('6')];
const uid = 'uid-of-data';
const ref = { namespace: 'team', name: 'data' };
const status = { phase: 'Bound' };
const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });

/** An API server that gives these answers to patches, the last one again and again, and this one to a read. */
function given(patches: readonly (Claim | ApiError)[], read: Claim | ApiError = forbidden) {
  const sent: unknown[] = [];
  const remembered: unknown[] = [];
  const answer = async (result: Claim | ApiError): Promise<Claim> => {
    if (result instanceof ApiError) throw result;
    return result;
  };
  const client = {
    patch: ({ ref: of }: { readonly ref: object }, { body }: { readonly body: object }, options: object) => {
      sent.push({ ...of, body, ...options });
      return answer(patches[sent.length - 1] ?? patches.at(-1) ?? forbidden);
    },
    get: (_resource: object, of: object, options: object) => {
      sent.push({ read: of, ...options });
      return answer(read);
    },
  } as unknown as LoopPorts['client'];
  const claims = { remember: (claim: Claim) => void remembered.push(claim), doubt: () => undefined } as never;
  const ownWriteFilter = createOwnWriteFilter();
  const { signal } = new AbortController();
  const clock = new FakeClock();
  const change = async (patchOf: Parameters<typeof changeClaim>[2]): ReturnType<typeof changeClaim> => {
    const changing = changeClaim(deps, before, patchOf);
    await clock.advance(1_000);
    return await changing;
  };
  const deps = { client, caches: { claims }, context: { ownWriteFilter }, signal, clock, random: seededRandom(1) };
  return { deps, change, sent, remembered, signal, ownWriteFilter };
}

describe('a write of what was learned', () => {
  it('given an answer, then the claim as it is stored now is known everywhere, and its change counts as an own write', async () => {
    const { change, sent, remembered, signal, ownWriteFilter } = given([after]);
    const annotations = { a: null };
    expect(await change(() => ({ status, annotations }))).toEqual(after);
    const metadata = { uid, resourceVersion: '5', annotations };
    expect(sent).toEqual([{ ...ref, body: { metadata, status }, signal, subresource: 'status' }]);
    expect(remembered).toEqual([after]);
    const foreign: unknown[] = [];
    const own = { previous: before, current: after, isInInitialList: false };
    ownWriteFilter.judge(own, () => foreign.push(own));
    expect(foreign).toEqual([]);
  });

  it('given no annotations, then the body has none', async () => {
    const { change, sent } = given([after]);
    await change(() => ({ status }));
    expect(JSON.parse(JSON.stringify((sent[0] as { readonly body: object }).body))).toEqual({
      metadata: { uid, resourceVersion: '5' },
      status,
    });
  });

  it('[resizer#83] given a conflict, then the claim is read, and what is to be written is decided for what it is now', async () => {
    const { change, sent, remembered, signal } = given([conflict, version('7')], after);
    const seen: unknown[] = [];
    const result = await change((known) => {
      seen.push(known);
      return { status };
    });
    expect([result, seen]).toEqual([version('7'), [before, after]]);
    const request = (resourceVersion: string): object => ({
      ...ref,
      body: { metadata: { uid, resourceVersion, annotations: undefined }, status },
      signal,
      subresource: 'status',
    });
    expect([sent, remembered]).toEqual([
      [request('5'), { read: ref, signal }, request('6')],
      [after, version('7')],
    ]);
  });

  it('[resizer#215] given a conflict after which nothing is to be written, then the claim is the one that was read, and its change is no own write', async () => {
    const { change, sent, ownWriteFilter } = given([conflict], after);
    const result = await change((known) => (known === before ? { status } : undefined));
    expect([result, sent.length]).toEqual([after, 2]);
    const foreign: unknown[] = [];
    ownWriteFilter.judge({ previous: before, current: after, isInInitialList: false }, () => foreign.push(after));
    expect(foreign).toEqual([after]);
  });

  it('given a failure, then it is thrown, and the claim stays what it was', async () => {
    const { deps, remembered } = given([forbidden]);
    await expect(changeClaim(deps, before, () => ({ status }))).rejects.toBe(forbidden);
    expect(remembered).toEqual([]);
  });
});

describe('the write that begins an attempt', () => {
  it('[resizer#199] given an answer, then it carried the version that was decided on', async () => {
    const { deps, sent, remembered, signal } = given([after]);
    expect(await patchGuardedClaim(deps, before, { status })).toEqual(after);
    expect(sent).toEqual([
      { ...ref, body: { metadata: { uid, resourceVersion: '5' }, status }, signal, subresource: 'status' },
    ]);
    expect(remembered).toEqual([after]);
  });

  it('[resizer#82] given a conflict and a claim that has changed, then it is sent once, and the claim is known as it is now', async () => {
    const { deps, sent, remembered, signal } = given([conflict], after);
    expect(await patchGuardedClaim(deps, before, { status })).toBe('conflict');
    expect([sent.slice(1), remembered]).toEqual([[{ read: ref, signal }], [after]]);
  });

  it.each([
    { read: 'a claim that has not changed', answer: before },
    { read: 'no claim', answer: forbidden },
  ])('[resizer#82] given a conflict, and a read that shows $read, then it is a failure', async ({ answer }) => {
    const { deps, sent } = given([conflict], answer);
    await expect(patchGuardedClaim(deps, before, { status })).rejects.toBe(conflict);
    expect(sent.length).toBe(2);
  });

  it('given another failure than a conflict, then the claim is not read: it may have changed, and the failure counts all the same', async () => {
    const { deps, sent } = given([forbidden], after);
    await expect(patchGuardedClaim(deps, before, { status })).rejects.toBe(forbidden);
    expect(sent.length).toBe(1);
  });
});
