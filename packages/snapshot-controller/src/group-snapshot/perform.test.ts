// SPDX-License-Identifier: Apache-2.0
/** Actions that only the group loop has, each alone. Those that both loops have are in `performers.test.ts`. */
import { expect, it } from 'vitest';
import { aClaim, aGroup, aGroupContent, aSnapshot, aVolume, someSettings } from '../../testing/builders.ts';
import { performed } from '../../testing/single-step.ts';
import { owner } from '../../testing/snapshot-states.ts';
import type { Member } from './members.ts';
import { performers } from './perform.ts';
import type { GroupContext } from './state.ts';

const context: GroupContext = {
  settings: someSettings(),
  events: { record: () => undefined, flush: () => Promise.resolve() },
  operations: { start: () => undefined, succeed: () => false, gone: () => undefined },
};
const row = 'G1';
const group = aGroup();
const member = aSnapshot({ name: 'member', metadata: { ownerReferences: [owner] } });
const incomplete: Member = {
  group,
  groupContent: aGroupContent(),
  info: { volumeHandle: 'handle-1', snapshotHandle: 's1' },
  volume: aVolume(),
  snapshot: undefined,
  content: undefined,
};

it('given two members, then the second is saved after the first', async () => {
  const second: Member = { ...incomplete, info: { volumeHandle: 'handle-2', snapshotHandle: 's2' } };
  const members = [incomplete, second];
  const { requests } = await performed(performers(context), { object: group }, () => ({
    row,
    kind: 'saveMembers',
    members,
  }));
  const one = [
    'create volumesnapshots 201',
    'create volumesnapshotcontents 201',
    'patch volumesnapshots/status 200',
    'patch volumesnapshotcontents/status 200',
  ];
  expect(requests).toEqual([...one, ...one]);
});

it('given a claim without a volume, when claims are listed, then it is a source without a volume', async () => {
  const claim = aClaim({ metadata: { labels: { app: 'db' } } });
  const { learned } = await performed(performers(context), { object: claim }, () => ({
    row,
    kind: 'listClaims',
    group,
  }));
  expect(learned).toMatchObject({ sources: { value: [{ claim: { metadata: { name: 'data' } }, volume: undefined }] } });
});

it('given a member that changed since it was cached, when the members are deleted, then it is read again, and deleted', async () => {
  const stored = { object: member, cache: 'outdated' } as const;
  const { learned, requests } = await performed(performers(context), stored, (known) => ({
    row,
    kind: 'deleteMembers',
    group,
    members: [known],
  }));
  expect(requests).toEqual(['delete volumesnapshots 409', 'get volumesnapshots 200', 'delete volumesnapshots 200']);
  expect(learned).toEqual({ membersDeleted: 'done' });
});
