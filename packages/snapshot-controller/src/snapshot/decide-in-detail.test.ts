// SPDX-License-Identifier: Apache-2.0
/** What the actions of the snapshot loop carry, and neighbours of the rows that differ in one condition. */
import { ApiError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aDefaultClass,
  aGroup,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  withoutClass,
} from '../../testing/builders.ts';
import { showAction } from '../../testing/show-action.ts';
import {
  aSnapshotState,
  bound,
  contentName,
  deleting,
  failed,
  owner,
  prepared,
  ready,
} from '../../testing/snapshot-states.ts';
import { snapshotFinalizers as finalizers } from '@csi-sidecars/volume';
import { decide } from './decide.ts';
import type { SnapshotState } from './state.ts';

const notFound = { failure: new ApiError({ status: 404, reason: 'NotFound', message: 'gone' }) };
const another = aSnapshot({ uid: 'x' });
const ofAnother = aContent({ of: another, name: contentName });
const settings = { recordVolumeMode: true, groups: true };
const updateFailed = (what: string, cause: string): string =>
  `snapshot controller failed to update ${what} on API server: ${cause}`;

interface Line {
  readonly given: string;
  readonly s: Partial<SnapshotState>;
  readonly groups?: boolean;
  readonly then: string;
}

function check({ s, groups = true, then }: Line): void {
  expect(showAction(decide(aSnapshotState(s), { ...settings, groups }))).toBe(then);
}

describe('which operations a run begins to count', () => {
  const begin = { isBegun: false };
  const leaving = aSnapshot({ metadata: { ...prepared, ...deleting } });

  it.each<Line>([
    {
      given: 'a snapshot that is not created',
      s: begin,
      then: "S3 begin CreateSnapshot CreateSnapshotAndReady, driver 'd.example.com'",
    },
    {
      given: 'a snapshot that is created and not ready',
      s: {
        ...begin,
        snapshot: aSnapshot({ metadata: prepared, status: { ...bound, creationTime: 'x' } }),
        content: aContent(),
      },
      then: "S3 begin CreateSnapshotAndReady, driver 'd.example.com'",
    },
    {
      given: 'a content of another driver than the class',
      s: { ...begin, content: aContent({ spec: { driver: 'content.example.com' } }) },
      then: "S3 begin CreateSnapshot CreateSnapshotAndReady, driver 'content.example.com'",
    },
    {
      given: 'a static snapshot without content and class',
      s: { ...begin, snapshot: aStaticSnapshot({ metadata: prepared }) },
      then: "S3 begin CreateSnapshot CreateSnapshotAndReady, driver ''",
    },
    {
      given: 'a snapshot without its finalizers',
      s: { ...begin, snapshot: aSnapshot() },
      then: 'S10 prepare asSource bound',
    },
    {
      given: 'a snapshot whose class is missing',
      s: { ...begin, classes: [] },
      then: 'S4 saveError GetSnapshotClassFailed, kept: Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "gold" not found',
    },
    {
      given: 'a snapshot that is being deleted and has no content any more',
      s: { ...begin, snapshot: leaving },
      then: "D1 begin DeleteSnapshot, driver 'd.example.com'",
    },
    {
      given: 'a snapshot that is being deleted',
      s: { ...begin, snapshot: leaving, content: aContent() },
      then: "D1 begin DeleteSnapshot, driver 'd.example.com'",
    },
    {
      given: 'a snapshot that is being deleted, without a content and a class',
      s: { ...begin, snapshot: leaving, classes: [] },
      then: "D1 begin DeleteSnapshot, driver ''",
    },
  ])('given $given, when the run begins, then $then', check);
});

describe('which finalizers and which class a snapshot gets', () => {
  const bare = aSnapshot();
  const retaining = aClass('gold', { deletionPolicy: 'Retain' });
  const retained = aContent({ spec: { deletionPolicy: 'Retain' } });
  const member = withoutClass(aSnapshot({ metadata: { ownerReferences: [owner] } }));
  const readyMember = { ...member, status: ready };

  it.each<Line>([
    { given: 'a class that deletes', s: { snapshot: bare }, then: 'S10 prepare asSource bound' },
    { given: 'a class that retains', s: { snapshot: bare, classes: [retaining] }, then: 'S10 prepare asSource' },
    {
      given: 'a content that retains and a class that deletes',
      s: { snapshot: bare, content: retained },
      then: 'S10 prepare asSource',
    },
    {
      given: 'a content that deletes and a class that retains',
      s: { snapshot: bare, content: aContent(), classes: [retaining] },
      then: 'S10 prepare asSource bound',
    },
    {
      given: 'no class and a default class',
      s: { snapshot: withoutClass(bare), classes: [aDefaultClass('silver')] },
      then: 'S10 prepare asSource bound, class silver',
    },
    {
      given: 'both finalizers, no class and a default class',
      s: {
        snapshot: withoutClass(aSnapshot({ metadata: prepared })),
        classes: [aDefaultClass('silver', { deletionPolicy: 'Retain' })],
      },
      then: 'S10 prepare asSource, class silver',
    },
    {
      given: 'a static snapshot whose content deletes',
      s: { snapshot: aStaticSnapshot(), content: aStaticContent() },
      then: 'S10 prepare asSource bound',
    },
    {
      given: 'a static snapshot whose content retains',
      s: { snapshot: aStaticSnapshot(), content: aStaticContent({ spec: { deletionPolicy: 'Retain' } }) },
      then: 'S10 prepare asSource',
    },
    {
      given: 'a member whose content deletes',
      s: { snapshot: member, content: aContent() },
      then: 'S10 prepare asSource',
    },
    {
      given: 'a ready member whose content deletes',
      s: { snapshot: readyMember, content: aContent(), claim: undefined },
      then: 'S10 prepare asSource',
    },
    {
      given: 'a ready snapshot whose content deletes',
      s: { snapshot: aSnapshot({ status: ready }), content: aContent(), claim: undefined },
      then: 'S10 prepare asSource bound',
    },
    {
      given: 'a write that was refused',
      s: { snapshot: bare, prepared: failed },
      then: 'S10 retry: no; Warning SnapshotFinalizerError: Failed to check and update snapshot: no',
    },
  ])('given $given, when decided, then $then', check);
});

describe('contents that are not those of the snapshot', () => {
  const staticSnapshot = aStaticSnapshot({ metadata: prepared });
  const misbound = `VolumeSnapshotContent [${contentName}] is bound to a different snapshot`;

  it.each<Line>([
    {
      given: 'no class of that name, and a content of another snapshot',
      s: { classes: [], content: ofAnother },
      then: 'S4 saveError GetSnapshotClassFailed, kept: Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "gold" not found',
    },
    {
      given: 'a dynamic snapshot',
      s: { content: ofAnother },
      then: `S8 saveError SnapshotContentMisbound, notReady: ${misbound}`,
    },
    {
      given: 'a ready snapshot, under its own name',
      s: { snapshot: aSnapshot({ metadata: prepared, status: ready }), claim: undefined, content: ofAnother },
      then: `S8 saveError SnapshotContentMisbound, notReady: ${misbound}`,
    },
    {
      given: 'a ready snapshot, under its own name, reported',
      s: {
        snapshot: aSnapshot({ metadata: prepared, status: ready }),
        claim: undefined,
        content: ofAnother,
        errorSaved: 'done',
      },
      then: `S8 retry: ${misbound}`,
    },
    {
      given: 'a ready snapshot, under another name, reported',
      s: {
        snapshot: aSnapshot({ metadata: prepared, status: ready }),
        claim: undefined,
        content: aContent({ of: another, name: 'x' }),
        errorSaved: 'done',
      },
      then: 'S19 done',
    },
    {
      given: 'a static snapshot and a content of another one',
      s: {
        snapshot: staticSnapshot,
        content: aStaticContent({ spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'x' } } }),
      },
      then: 'S8 saveError SnapshotContentMisbound, notReady: VolumeSnapshotContent [content] is bound to a different snapshot',
    },
    {
      given: 'an empty content name',
      s: { snapshot: aStaticSnapshot({ spec: { source: { volumeSnapshotContentName: '' } } }) },
      then: 'S6 retry: empty VolumeSnapshotContentName for snapshot team/snap',
    },
    {
      given: 'a handle in the content of a dynamic snapshot',
      s: { content: aContent({ spec: { source: { volumeHandle: 'a', snapshotHandle: 'b' } } }) },
      then: 'S9 saveError SnapshotHandleSet, notReady: Snapshot handle should not be set in content team/snap for dynamic provisioning',
    },
  ])('given $given, when decided, then $then', check);
});

describe('when a static content is bound', () => {
  const reference = { name: 'snap', namespace: 'team', uid: 'uid-of-snap' };
  const withClass = aStaticSnapshot({
    metadata: prepared,
    spec: { source: { volumeSnapshotContentName: 'content' }, volumeSnapshotClassName: 'gold' },
  });
  const bare = aStaticSnapshot({ metadata: prepared });
  const unnamed = aStaticContent({ spec: { volumeSnapshotRef: reference } });
  const named = aStaticContent({ spec: { volumeSnapshotRef: reference, volumeSnapshotClassName: 'other' } });

  it.each<Line>([
    { given: 'a UID and no class on either', s: { snapshot: bare, content: unnamed }, then: 'S16 saveStatus' },
    { given: 'a class on the snapshot alone', s: { snapshot: withClass, content: unnamed }, then: 'S15 bind' },
    { given: 'another class on the content', s: { snapshot: withClass, content: named }, then: 'S16 saveStatus' },
    {
      given: 'a class on the snapshot alone, bound in this run',
      s: { snapshot: withClass, content: unnamed, bound: 'done' },
      then: 'S16 saveStatus',
    },
    {
      given: 'a write that failed',
      s: { snapshot: bare, content: aStaticContent(), bound: failed },
      then: 'S15 saveError SnapshotBindFailed, notReady: Snapshot failed to bind VolumeSnapshotContent, no',
    },
  ])('given $given, when decided, then $then', check);
});

describe('members of groups', () => {
  const member = withoutClass(aSnapshot({ metadata: { ...prepared, ownerReferences: [owner] } }));
  const waits = 'S13 postpone: the group of snapshot team/snap has not made its content yet';

  it.each<Line>([
    { given: 'neither content nor status', s: { snapshot: member }, then: waits },
    { given: 'a status and no content', s: { snapshot: { ...member, status: bound } }, then: waits },
    {
      given: 'a content and no status',
      s: { snapshot: member, content: aContent({ name: 'snapcontent-of-member' }) },
      then: waits,
    },
    {
      given: 'no status, and a content that was made for it before it became a member',
      s: { snapshot: member, content: aContent() },
      then: 'S16 saveStatus',
    },
    {
      given: 'no status, and such a content of another snapshot',
      s: { snapshot: member, content: aContent({ of: aSnapshot({ uid: 'x' }), name: contentName }) },
      then: `S8 saveError SnapshotContentMisbound, notReady: VolumeSnapshotContent [${contentName}] is bound to a different snapshot`,
    },
    {
      given: 'both',
      s: { snapshot: { ...member, status: bound }, content: aContent({ status: { readyToUse: true } }) },
      then: 'S16 saveStatus',
    },
  ])('given a member with $given, when decided, then $then', check);

  const readyIn = (metadata: object) =>
    aSnapshot({ metadata: { ...prepared, ...metadata }, status: { ...ready, volumeGroupSnapshotName: 'group' } });
  const isReady = { content: aContent(), claim: undefined };

  it.each<Line>([
    { given: 'a group', s: { ...isReady, snapshot: readyIn({}), group: aGroup() }, then: 'S20 adopt' },
    {
      given: 'a group, while groups are switched off',
      s: { ...isReady, snapshot: readyIn({}), group: aGroup() },
      groups: false,
      then: 'S21 done',
    },
    {
      given: 'a group that owns it',
      s: { ...isReady, snapshot: readyIn({ ownerReferences: [owner] }), group: aGroup() },
      then: 'S21 done',
    },
    {
      given: 'a group that owns it since this run',
      s: { ...isReady, snapshot: readyIn({}), group: aGroup(), adopted: 'done' },
      then: 'S21 done',
    },
    {
      given: 'a group of the name that is not that of its content',
      s: { ...isReady, snapshot: readyIn({}), group: 'none' },
      then: 'S21 done',
    },
    {
      given: 'a group that is gone',
      s: { ...isReady, snapshot: readyIn({}), group: 'gone' },
      then: 'S20 retry: volumegroupsnapshot.groupsnapshot.storage.k8s.io "group" not found',
    },
    {
      given: 'an owner that could not be written',
      s: { ...isReady, snapshot: readyIn({}), group: aGroup(), adopted: failed },
      then: 'S20 retry: no',
    },
  ])('given a ready snapshot whose status names $given, when decided, then $then', check);

  it('given a ready snapshot whose status names a group, when decided, then that group is to own it', () => {
    const s = aSnapshotState({ ...isReady, snapshot: readyIn({}), group: aGroup() });
    expect(decide(s, settings)).toMatchObject({
      group: aGroup(),
      snapshot: s.snapshot,
    });
  });
});

describe('before a content is made', () => {
  const notCreated = (cause: string): string =>
    `S12 saveError SnapshotContentCreationFailed, notReady: Failed to create snapshot content with error ${cause}`;
  const cut = (status: object) => aSnapshot({ metadata: prepared, status });
  const notBound =
    'failed to get input parameters to create snapshot snap: "the PVC data is not yet bound to a PV, will not attempt to take a snapshot"';
  const missing = 'S11 saveError SnapshotContentMissing, notReady: VolumeSnapshotContent is missing';

  it.each<Line>([
    {
      given: 'no claim',
      s: { claim: undefined },
      then: notCreated(updateFailed('snap', 'cannot get claim from snapshot')),
    },
    { given: 'a claim that another run releases', s: { isClaimBeingReleased: true }, then: 'S12 requeueAfter 50' },
    {
      given: 'a claim that could not be protected',
      s: { claim: aClaim(), claimProtected: failed },
      then: notCreated(updateFailed('data', 'no')),
    },
    {
      given: 'a claim that lost the finalizer after it was protected',
      s: { claim: aClaim(), claimProtected: 'done' },
      then: 'S12 retry: claim data lost the finalizer that it was given',
    },
    {
      given: 'a claim that is being deleted and has another finalizer',
      s: { claim: aClaim({ deleting: 'yes' }) },
      then: notCreated(updateFailed('data', 'cannot add finalizer on claim because it is being deleted')),
    },
    {
      given: 'a claim that is not bound',
      s: { claim: aClaim({ phase: 'Pending' }) },
      then: notCreated(notBound),
    },
    {
      given: 'a lost claim',
      s: { claim: aClaim({ phase: 'Lost' }) },
      then: notCreated(notBound),
    },
    {
      given: 'a claim without a status',
      s: { claim: { ...aClaim(), status: {} } },
      then: notCreated(notBound),
    },
    {
      given: 'a claim that is not bound and has our finalizer, from upstream',
      s: { claim: aProtectedClaim({ phase: 'Pending' }) },
      then: notCreated(notBound),
    },
    {
      given: 'a claim that is not bound, and is being deleted',
      s: { claim: aClaim({ phase: 'Pending', deleting: 'yes' }) },
      then: notCreated(updateFailed('data', 'cannot add finalizer on claim because it is being deleted')),
    },
    {
      given: 'a claim that is being deleted and has our finalizer',
      s: {
        claim: aProtectedClaim({
          metadata: { finalizers: [finalizers.claim], ...deleting },
        }),
      },
      then: 'S12 createContent',
    },
    { given: 'a refused creation', s: { created: failed }, then: notCreated(updateFailed('team/snap', 'no')) },
    { given: 'a snapshot that cannot be read', s: { confirmed: failed }, then: 'S12 retry: no' },
    {
      given: 'a claim without our finalizer, and a snapshot that was not read in this run',
      s: { claim: aClaim(), confirmed: 'untried' },
      then: 'S12 confirm',
    },
    {
      given: 'a static content that is not bound, and a snapshot that was not read in this run',
      s: { snapshot: aStaticSnapshot({ metadata: prepared }), content: aStaticContent(), confirmed: 'untried' },
      then: 'S15 confirm',
    },
    {
      given: 'a static content that is not bound, and a snapshot that cannot be read',
      s: { snapshot: aStaticSnapshot({ metadata: prepared }), content: aStaticContent(), confirmed: failed },
      then: 'S15 retry: no',
    },
    {
      given: 'a snapshot that was read in this run',
      s: { prepared: 'untried', confirmed: 'done' },
      then: 'S12 createContent',
    },
    { given: 'a size in the status', s: { snapshot: cut({ restoreSize: '1Gi' }) }, then: missing },
    { given: 'readiness without a content name', s: { snapshot: cut({ readyToUse: true }) }, then: missing },
    {
      given: 'the error of a missing content',
      s: { snapshot: cut({ error: { message: 'VolumeSnapshotContent is missing' } }) },
      then: 'S11 retry: VolumeSnapshotContent is missing',
    },
    {
      given: 'a content that may be missing in the cache alone',
      s: { snapshot: cut({ creationTime: 'x' }), contentAsked: 'unasked' },
      then: `S11 askContent ${contentName}`,
    },
    {
      given: 'a question that failed',
      s: { snapshot: cut({ creationTime: 'x' }), contentAsked: failed },
      then: 'S11 retry: no',
    },
  ])('given $given, when decided, then $then', check);
});

describe('what does not end the readiness of a snapshot', () => {
  const notSaved = (cause: string): string =>
    `S16 saveError SnapshotStatusUpdateFailed, kept: Snapshot status update failed, ${cause}`;
  const reference = { name: 'snap', namespace: 'team', uid: 'uid-of-snap' };
  const staticPair = {
    snapshot: aStaticSnapshot({ metadata: prepared }),
    content: aStaticContent({ spec: { volumeSnapshotRef: reference } }),
  };
  const member = withoutClass(aSnapshot({ metadata: { ...prepared, ownerReferences: [owner] }, status: bound }));

  it.each<Line>([
    {
      given: 'the status of a static snapshot that cannot be written',
      s: { ...staticPair, statusSaved: failed },
      then: notSaved(updateFailed('team/snap', 'no')),
    },
    {
      given: 'the status of a member whose group is not known',
      s: { snapshot: member, content: aContent({ status: { volumeGroupSnapshotHandle: 'g' } }) },
      then: notSaved(
        'updateSnapshotStatus: cannot find the group snapshot for VolumeSnapshot [team/snap], will not update snapshot status',
      ),
    },
    {
      given: 'finalizers that were written in this run and are not there',
      s: { snapshot: aSnapshot(), prepared: 'done' },
      then: 'S12 createContent',
    },
  ])('given $given, when decided, then $then', check);
});

describe('the status', () => {
  const inGroup = aContent({ status: { volumeGroupSnapshotHandle: 'g' } });
  const home = { namespace: 'team', name: 'group', uid: 'uid-of-group' };
  const elsewhere = { ...home, namespace: 'elsewhere' };
  const notSaved = (cause: string): string =>
    `S16 saveError SnapshotStatusUpdateFailed, notReady: Snapshot status update failed, ${cause}`;

  it.each<Line>([
    {
      given: 'a group that is not known',
      s: { content: inGroup },
      then: notSaved(
        'updateSnapshotStatus: cannot find the group snapshot for VolumeSnapshot [team/snap], will not update snapshot status',
      ),
    },
    { given: 'a group that is known', s: { content: inGroup, contentGroup: home }, then: 'S16 saveStatus' },
    { given: 'a group of another namespace', s: { content: inGroup, contentGroup: elsewhere }, then: 'S16 saveStatus' },
    {
      given: 'a group that is not known, while groups are switched off',
      s: { content: inGroup },
      groups: false,
      then: 'S16 saveStatus',
    },
    {
      given: 'an empty group handle',
      s: { content: aContent({ status: { volumeGroupSnapshotHandle: '' } }) },
      then: 'S16 saveStatus',
    },
    {
      given: 'a write that was refused',
      s: { content: aContent(), statusSaved: failed },
      then: notSaved(updateFailed('team/snap', 'no')),
    },
    {
      given: 'a snapshot that is gone',
      s: { content: aContent(), statusSaved: notFound },
      then: 'S16 retry: gone',
    },
  ])('given $given, when decided, then $then', check);

  it('given a content with all that a driver reports, when the status is saved, then it is read from the content', () => {
    const status = {
      readyToUse: true,
      creationTime: 1_767_225_600_000_000_000n,
      restoreSize: 1024n,
      error: { message: 'late', time: '2026-01-01T00:00:00Z' },
    };
    const facts = {
      readyToUse: true,
      creationTime: '2026-01-01T00:00:00Z',
      restoreSize: 1024n,
      error: status.error,
      groupName: 'group',
    };
    const state = { content: aContent({ status }) };
    expect(decide(aSnapshotState({ ...state, contentGroup: home }), settings)).toMatchObject({ row: 'S16', facts });
    expect(decide(aSnapshotState({ ...state, contentGroup: elsewhere }), settings)).toMatchObject({
      row: 'S16',
      facts: { ...facts, groupName: undefined },
    });
  });
});

describe('a ready snapshot', () => {
  const isReady = { snapshot: aSnapshot({ metadata: prepared, status: ready }), content: aContent() };
  const missing = 'VolumeSnapshotContent is missing';

  it.each<Line>([
    { given: 'a claim that is released', s: { ...isReady, claimReleased: 'done' }, then: 'S21 done' },
    { given: 'a claim of another snapshot', s: { ...isReady, isClaimInUse: true }, then: 'S21 done' },
    { given: 'a claim without our finalizer', s: { ...isReady, claim: aClaim() }, then: 'S21 done' },
    { given: 'no claim', s: { ...isReady, claim: undefined }, then: 'S21 done' },
    {
      given: 'a claim that cannot be released',
      s: { ...isReady, claimReleased: failed },
      then: 'S21 retry: no; Warning ErrorPVCFinalizer: Error check and remove PVC Finalizer for VolumeSnapshot',
    },
    {
      given: 'no content',
      s: { ...isReady, claim: undefined, content: undefined },
      then: `S14 saveError SnapshotContentMissing, notReady: ${missing}`,
    },
    {
      given: 'no content in the cache',
      s: { ...isReady, claim: undefined, content: undefined, contentAsked: 'unasked' },
      then: `S14 askContent ${contentName}`,
    },
    {
      given: 'no content, reported',
      s: { ...isReady, claim: undefined, content: undefined, errorSaved: 'done' },
      then: 'S14 done',
    },
    {
      given: 'no content, not reported because the write failed',
      s: { ...isReady, claim: undefined, content: undefined, errorSaved: failed },
      then: `S14 retry: ${missing}`,
    },
    {
      given: 'no class of that name',
      s: { ...isReady, claim: undefined, classes: [] },
      then: 'S4 saveError GetSnapshotClassFailed, kept: Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "gold" not found',
    },
  ])('given $given, when decided, then $then', check);
});
