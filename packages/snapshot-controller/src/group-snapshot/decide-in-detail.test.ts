// SPDX-License-Identifier: Apache-2.0
/** What the actions of the group loop carry, and neighbours of the rows that differ in one condition. */
import { ApiError } from '@csi-sidecars/runtime';
import { snapshotAnnotations } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aGroup, aGroupClass, aGroupContent, aVolume } from '../../testing/builders.ts';
import {
  aGroupState,
  boundGroup,
  groupContentName,
  preparedGroup,
  readyGroup,
  staticGroupContent,
} from '../../testing/group-states.ts';
import { showAction } from '../../testing/show-action.ts';
import { failed } from '../../testing/snapshot-states.ts';
import { decide } from './decide.ts';
import type { Member } from './members.ts';
import type { GroupState } from './state.ts';

interface Line {
  readonly given: string;
  readonly s: Partial<GroupState>;
  readonly then: string;
}

function check({ s, then }: Line): void {
  expect(showAction(decide(aGroupState(s)))).toBe(then);
}

const notFound = { failure: new ApiError({ status: 404, reason: 'NotFound', message: 'gone' }) };
const group = aGroup({ metadata: preparedGroup });
const { volumeGroupSnapshotClassName: _, ...unnamedSpec } = aGroup().spec ?? {};
const unnamed = { ...group, spec: unnamedSpec };
const ofAnother = aGroupContent({ of: aGroup({ uid: 'x' }), name: groupContentName });
const noClass =
  'kept: failed to get group snapshot class with error volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "group-gold" not found';
const updateFailed = (cause: string): string =>
  `snapshot controller failed to update team/group on API server: ${cause}`;
const markedDefault = aGroupClass('silver', {
  metadata: { name: 'silver', annotations: { [snapshotAnnotations.isDefaultGroupClass]: 'true' } },
});
const incomplete: Member = {
  group,
  groupContent: aGroupContent(),
  info: {},
  volume: undefined,
  snapshot: undefined,
  content: undefined,
};
const cut = {
  volumeGroupSnapshotHandle: 'g',
  volumeSnapshotInfoList: [{ volumeHandle: 'handle-1', snapshotHandle: 's' }],
};

describe('which operations a run begins to count', () => {
  const begin = { isBegun: false };

  it.each<Line>([
    {
      given: 'a group that is not created',
      s: begin,
      then: "G3 begin CreateGroupSnapshot CreateGroupSnapshotAndReady, driver 'd.example.com'",
    },
    {
      given: 'a group that is created and not ready',
      s: { ...begin, group: aGroup({ status: { ...boundGroup, creationTime: 'x' } }) },
      then: "G3 begin CreateGroupSnapshotAndReady, driver 'd.example.com'",
    },
    {
      given: 'a content of another driver than the class',
      s: { ...begin, content: aGroupContent({ spec: { driver: 'content.example.com' } }) },
      then: "G3 begin CreateGroupSnapshot CreateGroupSnapshotAndReady, driver 'content.example.com'",
    },
    {
      given: 'neither content nor class',
      s: { ...begin, classes: [] },
      then: "G3 begin CreateGroupSnapshot CreateGroupSnapshotAndReady, driver ''",
    },
  ])('given $given, when the run begins, then $then', check);
});

describe('which class and which content a group has', () => {
  const misbound = `VolumeGroupSnapshotContent [${groupContentName}] is bound to a different group snapshot`;
  const isReady = { group: aGroup({ metadata: preparedGroup, status: readyGroup }) };

  it.each<Line>([
    {
      given: 'no class of that name',
      s: { classes: [] },
      then: `G4 saveError GetGroupSnapshotClassFailed, ${noClass}`,
    },
    {
      given: 'no class of that name, and a content of another group',
      s: { classes: [], content: ofAnother },
      then: `G4 saveError GetGroupSnapshotClassFailed, ${noClass}`,
    },
    {
      given: 'no class of that name, and its content',
      s: { classes: [], content: aGroupContent() },
      then: 'G16 saveStatus',
    },
    {
      given: 'no class of that name, ready',
      s: { ...isReady, classes: [], content: aGroupContent() },
      then: `G4 saveError GetGroupSnapshotClassFailed, ${noClass}`,
    },
    {
      given: 'a content of another group',
      s: { content: ofAnother },
      then: `G8 saveError GroupSnapshotContentMisbound, notReady: ${misbound}`,
    },
    {
      given: 'a content of another group, ready, reported',
      s: { ...isReady, content: ofAnother, errorSaved: 'done' },
      then: `G8 retry: ${misbound}`,
    },
    {
      given: 'a content of another group under another name, ready, reported',
      s: { ...isReady, content: aGroupContent({ of: aGroup({ uid: 'x' }), name: 'x' }), errorSaved: 'done' },
      then: 'G17 done',
    },
    {
      given: 'no content, ready',
      s: isReady,
      then: 'G13 saveError GroupSnapshotContentMissing, notReady: VolumeGroupSnapshotContent is missing',
    },
    {
      given: 'no content in the cache, ready',
      s: { ...isReady, contentAsked: 'unasked' },
      then: `G13 askContent ${groupContentName}`,
    },
    {
      given: 'no content, ready, reported',
      s: { ...isReady, errorSaved: 'done' },
      then: 'G13 done',
    },
    {
      given: 'no finalizer, ready',
      s: { group: aGroup({ status: readyGroup }), content: aGroupContent() },
      then: 'G10 prepare',
    },
    {
      given: 'a static content of a dynamic group',
      s: { content: { ...staticGroupContent, metadata: { name: groupContentName } } },
      then: `G7 saveError GroupSnapshotContentMismatch, notReady: VolumeGroupSnapshotContent ${groupContentName} is pre-provisioned while expecting a dynamically provisioned one`,
    },
  ])('given $given, when decided, then $then', check);
});

describe('when a static content is bound', () => {
  const source = { volumeGroupSnapshotContentName: 'content' };
  const bare = { ...aGroup({ metadata: preparedGroup }), spec: { source } };
  const withClass = { ...bare, spec: { source, volumeGroupSnapshotClassName: 'group-gold' } };
  const { volumeGroupSnapshotClassName: __, ...classless } = staticGroupContent.spec ?? {};
  const unnamedContent = { ...staticGroupContent, spec: classless };
  const ofOther = { ...classless, volumeGroupSnapshotRef: { name: 'group', namespace: 'team', uid: 'x' } };

  it.each<Line>([
    { given: 'no class on either', s: { group: bare, content: unnamedContent }, then: 'G16 saveStatus' },
    { given: 'a class on the group alone', s: { group: withClass, content: unnamedContent }, then: 'G14 bind' },
    { given: 'a class on both', s: { group: withClass, content: staticGroupContent }, then: 'G16 saveStatus' },
    {
      given: 'a class on the group alone, bound in this run',
      s: { group: withClass, content: unnamedContent, bound: 'done' },
      then: 'G16 saveStatus',
    },
    {
      given: 'a write that failed',
      s: { group: withClass, content: unnamedContent, bound: failed },
      then: 'G14 saveError GroupSnapshotBindFailed, notReady: GroupSnapshot failed to bind VolumeGroupSnapshotContent, no',
    },
    {
      given: 'a content of another group',
      s: { group: bare, content: { ...staticGroupContent, spec: ofOther } },
      then: 'G8 saveError GroupSnapshotContentMisbound, notReady: VolumeGroupSnapshotContent [content] is bound to a different group snapshot',
    },
    {
      given: 'no finalizer',
      s: { group: { ...bare, metadata: aGroup().metadata! }, content: staticGroupContent },
      then: 'G10 prepare',
    },
    {
      given: 'an empty content name',
      s: { group: aGroup({ spec: { source: { volumeGroupSnapshotContentName: '' } } }) },
      then: 'G6 retry: empty VolumeGroupSnapshotContentName for group snapshot team/group',
    },
    {
      given: 'a ready static group and a member that is not complete',
      s: {
        group: { ...bare, status: { ...readyGroup, boundVolumeGroupSnapshotContentName: 'content' } },
        content: staticGroupContent,
        incomplete: [incomplete],
      },
      then: 'G18 done',
    },
  ])('given $given, when decided, then $then', check);
});

describe('before a content is made', () => {
  const notCreated = (cause: string): string =>
    `G11 saveError GroupSnapshotContentCreationFailed, notReady: failed to create group snapshot content with error ${cause}`;
  const cutBefore = (status: object): GroupState['group'] => aGroup({ metadata: preparedGroup, status });
  const missing = 'G12 saveError GroupSnapshotContentMissing, notReady: VolumeGroupSnapshotContent is missing';

  it.each<Line>([
    { given: 'readiness without a content name', s: { group: cutBefore({ readyToUse: true }) }, then: missing },
    { given: 'a creation time', s: { group: cutBefore({ creationTime: 'x' }) }, then: missing },
    {
      given: 'the error of a missing content',
      s: { group: cutBefore({ error: { message: 'VolumeGroupSnapshotContent is missing' } }) },
      then: 'G12 retry: VolumeGroupSnapshotContent is missing',
    },
    {
      given: 'a content that may be missing in the cache alone',
      s: { group: cutBefore({ creationTime: 'x' }), contentAsked: 'unasked' },
      then: `G12 askContent ${groupContentName}`,
    },
    {
      given: 'claims that cannot be listed',
      s: { sources: failed },
      then: notCreated('failed to get input parameters to create group snapshot group: "no"'),
    },
    {
      given: 'claims that cannot be listed, and no class',
      s: { group: unnamed, sources: failed },
      then: 'G5 saveError SetDefaultGroupSnapshotClassFailed, kept: Failed to set default group snapshot class with error no',
    },
    {
      given: 'no class, and no default class',
      s: { group: unnamed },
      then: 'G5 saveError SetDefaultGroupSnapshotClassFailed, kept: Failed to set default group snapshot class with error cannot find default group snapshot class',
    },
    {
      given: 'a finalizer, no class and a default class',
      s: { group: unnamed, classes: [markedDefault] },
      then: 'G10 prepare, class silver',
    },
    { given: 'no finalizer, and the class that it names', s: { group: aGroup() }, then: 'G10 prepare' },
    {
      given: 'a write that was refused',
      s: { group: aGroup(), prepared: failed },
      then: 'G10 retry: no; Warning GroupSnapshotFinalizerError: Failed to check and update group snapshot: no',
    },
    { given: 'a refused creation', s: { created: failed }, then: notCreated(updateFailed('no')) },
    { given: 'a group that cannot be read', s: { confirmed: failed }, then: 'G11 retry: no' },
    { given: 'a group that was read in this run', s: {}, then: 'G11 createContent' },
  ])('given $given, when decided, then $then', check);

  it('given a volume of another driver, reported, when the run ends, then its event names the drivers', () => {
    const volume = aVolume({ spec: { csi: { driver: 'x', volumeHandle: 'h' } } });
    const s = { sources: { value: [{ claim: aClaim(), volume }] }, errorSaved: 'done' } as const;
    expect(showAction(decide(aGroupState(s)))).toMatch(
      /^G11 retry: .*; Warning CreateGroupSnapshotContentFailed: Volume CSI driver \(x\) mismatch with VolumeGroupSnapshotClass \(d\.example\.com\) team\/group: pv1$/,
    );
  });
});

describe('the status', () => {
  const notSaved = (readiness: string): string =>
    `G16 saveError GroupSnapshotStatusUpdateFailed, ${readiness}: GroupSnapshot status update failed, ${updateFailed('no')}`;

  it.each<Line>([
    { given: 'a refused write', s: { content: aGroupContent(), statusSaved: failed }, then: notSaved('notReady') },
    {
      given: 'a refused write, with a content of this run',
      s: { content: aGroupContent(), statusSaved: failed, created: 'done' },
      then: notSaved('kept'),
    },
    { given: 'a group that is gone', s: { content: aGroupContent(), statusSaved: notFound }, then: 'G16 retry: gone' },
    {
      given: 'a refused write for a static group',
      s: {
        group: { ...group, spec: { source: { volumeGroupSnapshotContentName: 'content' } } },
        content: staticGroupContent,
        statusSaved: failed,
      },
      then: notSaved('kept'),
    },
    { given: 'a content and no finalizer', s: { group: aGroup(), content: aGroupContent() }, then: 'G10 prepare' },
    {
      given: 'a finalizer that was written in this run and is not there',
      s: { group: aGroup(), prepared: 'done' },
      then: 'G11 createContent',
    },
    {
      given: 'members that cannot be saved',
      s: { content: aGroupContent(), incomplete: [incomplete], membersSaved: failed },
      then: 'G15 retry: no',
    },
    {
      given: 'members that are saved in this run',
      s: { content: aGroupContent(), incomplete: [incomplete], membersSaved: 'done' },
      then: 'G16 saveStatus',
    },
  ])('given $given, when decided, then $then', check);

  it.each([
    { given: 'a content that is ready and cut', status: { ...cut, readyToUse: true }, readyToUse: true },
    { given: 'a content that is cut and not ready', status: { ...cut, readyToUse: false }, readyToUse: false },
    { given: 'a content that is ready and not cut', status: { readyToUse: true }, readyToUse: false },
  ])('given $given, when the status is saved, then the readiness is $readyToUse', ({ status, readyToUse }) => {
    const facts = { creationTime: '2026-01-01T00:00:00Z', error: { message: 'late' } };
    const content = aGroupContent({ status: { ...status, ...facts } });
    expect(decide(aGroupState({ content }))).toMatchObject({ row: 'G16', facts: { readyToUse, ...facts } });
  });

  it('given a static content that is ready without a list of snapshots, when the status is saved, then the group is ready', () => {
    const source = { volumeGroupSnapshotContentName: 'content' };
    const content = { ...staticGroupContent, status: { readyToUse: true } };
    const s = { group: { ...group, spec: { source } }, content };
    expect(decide(aGroupState(s))).toMatchObject({ row: 'G16', facts: { readyToUse: true } });
  });
});
