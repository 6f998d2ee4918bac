// SPDX-License-Identifier: Apache-2.0
/** Actions that only the snapshot loop has, each alone. Those that both loops have are in `performers.test.ts`. */
import { expect, it } from 'vitest';
import { aClaim, aGroup, aProtectedClaim, aSnapshot, someSettings } from '../../testing/builders.ts';
import { performed } from '../../testing/single-step.ts';
import { createClaimReleases } from './claim-releases.ts';
import { createClaimTurns } from './claim-turns.ts';
import { performers } from './perform.ts';
import type { SnapshotContext } from './state.ts';

const context: SnapshotContext = {
  settings: someSettings(),
  events: { record: () => undefined, flush: () => Promise.resolve() },
  operations: { start: () => undefined, succeed: () => false, gone: () => undefined },
  releases: createClaimReleases(),
  claimTurns: createClaimTurns(),
};
const row = 'S1';
const snapshot = aSnapshot();
const changed = { metadata: { labels: { changed: 'yes' } } };

it('given a claim that changed since it was cached, when it is protected, then it is read again, written, and remembered', async () => {
  const stored = { object: aClaim(), cache: 'outdated' } as const;
  const { learned, requests, remembered } = await performed(performers(context), stored, (known) => ({
    row,
    kind: 'protectClaim',
    claim: known,
  }));
  const update = 'update persistentvolumeclaims';
  expect(requests).toEqual([`${update} 409`, 'get persistentvolumeclaims 200', `${update} 200`]);
  expect(remembered).toMatchObject({ kind: 'PersistentVolumeClaim', ...changed });
  expect(learned).toEqual({ claimProtected: 'done', claim: remembered });
});

it('given a claim that changed since it was cached, when it is released, then it is read again, written, and remembered', async () => {
  const stored = { object: aProtectedClaim(), cache: 'outdated' } as const;
  const { learned, requests, remembered } = await performed(performers(context), stored, (known) => ({
    row,
    kind: 'releaseClaim',
    claim: known,
    snapshot,
  }));
  const update = 'update persistentvolumeclaims';
  expect(requests).toEqual([`${update} 409`, 'get persistentvolumeclaims 200', `${update} 200`]);
  expect(remembered).toMatchObject({ kind: 'PersistentVolumeClaim', ...changed });
  expect(learned).toEqual({ claimReleased: 'done' });
});

it.each(['A', 'a%b'])(
  'given the name %s, which no group can have, then the API server is not asked for it',
  async (name) => {
    const { learned, requests } = await performed(performers(context), { object: aGroup() }, () => ({
      row,
      kind: 'askGroup',
      namespace: 'team',
      name,
    }));
    expect([learned, requests]).toEqual([{ groupAsked: { value: false } }, []]);
  },
);

it('given a snapshot that is gone by then, when it leaves its claim, then nothing is kept of it', async () => {
  const leaveClaim = { row, kind: 'leaveClaim', snapshot } as const;
  const { learned } = await performed(performers(context), { object: aClaim() }, () => leaveClaim);
  expect(learned).toEqual({ hasLeftClaim: true });
  expect(context.releases.hasLeft('uid-of-snap')).toBe(false);
});
