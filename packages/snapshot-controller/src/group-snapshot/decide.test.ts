// SPDX-License-Identifier: Apache-2.0
import { TransportError } from '@csi-sidecars/runtime';
/** One line for each row of the tables of groups and of contents. */
import { snapshotAnnotations, snapshotFinalizers as finalizers } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aContent, aGroup, aGroupContent, aSnapshot } from '../../testing/builders.ts';
import {
  aGroupState,
  boundGroup,
  groupContentName,
  preparedGroup,
  readyGroup,
  staticGroupContent,
} from '../../testing/group-states.ts';
import { deleting, failed } from '../../testing/snapshot-states.ts';
import { decide as decideContent } from '../content/decide.ts';
import { groupKind, singleKind } from '../content/kinds.ts';
import { decide } from './decide.ts';
import type { Member } from './members.ts';
import type { GroupState } from './state.ts';

const unanswered = { failure: new TransportError('timeout', 'no answer') };
const metadata = preparedGroup;
const name = groupContentName;
const bound = boundGroup;
const ready = readyGroup;
const group = aGroup({ metadata });
const { volumeGroupSnapshotClassName: _, ...unnamedSpec } = aGroup().spec ?? {};
const unnamed = { ...group, spec: unnamedSpec };
const staticSource = { source: { volumeGroupSnapshotContentName: 'content' } };
const staticGroup = aGroup({ metadata, spec: { source: { ...staticSource.source } } });
const staticContent = staticGroupContent;
const unboundContent = {
  ...staticContent,
  spec: { ...staticContent.spec, volumeGroupSnapshotRef: { name: 'group', namespace: 'team' } },
};
const member: Member = {
  group,
  groupContent: aGroupContent(),
  info: {},
  volume: undefined,
  snapshot: undefined,
  content: undefined,
};

const base = aGroupState();

interface Line {
  readonly id: string;
  readonly given: string;
  readonly s: Partial<GroupState>;
  /** The kind of the action; for a conclusion its outcome. */
  readonly then: string;
}

function decided(s: Partial<GroupState>): string {
  const action = decide({ ...base, ...s });
  return `[snapshot-controller#${action.row}] ${action.kind === 'conclude' ? action.outcome.kind : action.kind}`;
}

const isReady = { group: aGroup({ metadata, status: ready }), content: aGroupContent() };

describe('rows G1 to G18', () => {
  it.each<Line>([
    { id: '[snapshot-controller#G1]', given: 'no group', s: { group: undefined }, then: 'done' },
    {
      id: '[snapshot-controller#G2]',
      given: 'no source',
      s: { group: aGroup({ spec: { source: {} } }) },
      then: 'saveError',
    },
    { id: '[snapshot-controller#G3]', given: 'a run that has just begun', s: { isBegun: false }, then: 'begin' },
    { id: '[snapshot-controller#G4]', given: 'no such class', s: { classes: [] }, then: 'saveError' },
    {
      id: '[snapshot-controller#G4]',
      given: 'no such class of a ready group, reported',
      s: { ...isReady, classes: [], errorSaved: 'done' },
      then: 'done',
    },
    { id: '[snapshot-controller#G5]', given: 'no default class', s: { group: unnamed }, then: 'saveError' },
    {
      id: '[snapshot-controller#G5]',
      given: 'no class, and claims that cannot be listed',
      s: { group: unnamed, sources: failed },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G6]',
      given: 'an empty name of the content',
      s: { group: aGroup({ spec: { source: { volumeGroupSnapshotContentName: '' } } }) },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#G7]',
      given: 'a dynamic content of a static group',
      s: { group: staticGroup, content: aGroupContent({ name: 'content' }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G7]',
      given: 'a static content of a dynamic group',
      s: { content: staticContent },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G8]',
      given: 'a content of another group',
      s: { content: aGroupContent({ of: aGroup({ uid: 'x' }), name }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G9]',
      given: 'claims that are not listed',
      s: { sources: 'unasked' },
      then: 'listClaims',
    },
    { id: '[snapshot-controller#G10]', given: 'no finalizer', s: { group: aGroup() }, then: 'prepare' },
    { id: '[snapshot-controller#G10]', given: 'that failed', s: { group: aGroup(), prepared: failed }, then: 'retry' },
    { id: '[snapshot-controller#G11]', given: 'a finalizer', s: {}, then: 'createContent' },
    { id: '[snapshot-controller#G11]', given: 'no claims', s: { sources: { value: [] } }, then: 'saveError' },
    {
      id: '[snapshot-controller#G11]',
      given: 'a group that an earlier run prepared',
      s: { confirmed: 'untried' },
      then: 'confirm',
    },
    {
      id: '[snapshot-controller#G11]',
      given: 'a group that an earlier run prepared, and that cannot be read',
      s: { confirmed: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#G11]',
      given: 'a group that this run prepared',
      s: { prepared: 'done', confirmed: 'untried' },
      then: 'createContent',
    },
    {
      id: '[snapshot-controller#G11]',
      given: 'claims that cannot be listed',
      s: { sources: failed },
      then: 'saveError',
    },
    { id: '[snapshot-controller#G11]', given: 'a refused creation', s: { created: failed }, then: 'saveError' },
    {
      id: '[snapshot-controller#G12]',
      given: 'a creation time, and no content in the cache',
      s: { group: aGroup({ metadata, status: { ...bound, creationTime: 'x' } }), contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#G12]',
      given: 'a creation time and no content',
      s: { group: aGroup({ metadata, status: { ...bound, creationTime: 'x' } }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G13]',
      given: 'a static group without a content',
      s: { group: staticGroup },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G13]',
      given: 'a ready group without a content in the cache',
      s: { group: isReady.group, contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#G13]',
      given: 'a question that failed',
      s: { group: isReady.group, contentAsked: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#G13]',
      given: 'a ready group without a content, reported',
      s: { group: isReady.group, errorSaved: 'done' },
      then: 'done',
    },
    {
      id: '[snapshot-controller#G14]',
      given: 'a content without UID',
      s: { group: staticGroup, content: unboundContent },
      then: 'bind',
    },
    {
      id: '[snapshot-controller#G14]',
      given: 'a content without UID, and a group that an earlier run prepared',
      s: { group: staticGroup, content: unboundContent, confirmed: 'untried' },
      then: 'confirm',
    },
    {
      id: '[snapshot-controller#G14]',
      given: 'a content without UID, and a group that cannot be read',
      s: { group: staticGroup, content: unboundContent, confirmed: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#G14]',
      given: 'that failed',
      s: { group: staticGroup, content: unboundContent, bound: failed },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G15]',
      given: 'a member that is not complete',
      s: { content: aGroupContent(), incomplete: [member] },
      then: 'saveMembers',
    },
    {
      id: '[snapshot-controller#G15]',
      given: 'such a member of a ready group',
      s: { ...isReady, incomplete: [member] },
      then: 'saveMembers',
    },
    {
      id: '[snapshot-controller#G15]',
      given: 'that failed',
      s: { content: aGroupContent(), incomplete: [member], membersSaved: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#G16]',
      given: 'a status that says less than the content',
      s: { content: aGroupContent() },
      then: 'saveStatus',
    },
    {
      id: '[snapshot-controller#G16]',
      given: 'that failed',
      s: { content: aGroupContent(), statusSaved: failed },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#G16]',
      given: 'that got no answer',
      s: { content: aGroupContent(), statusSaved: unanswered },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#G16]',
      given: 'a written status',
      s: { content: aGroupContent(), statusSaved: 'done' },
      then: 'done',
    },
    {
      id: '[snapshot-controller#G16]',
      given: 'a status that says it all',
      s: { content: aGroupContent(), group: aGroup({ metadata, status: bound }) },
      then: 'done',
    },
    {
      id: '[snapshot-controller#G17]',
      given: 'another name that is bound to another group',
      s: { ...isReady, content: aGroupContent({ of: aGroup({ uid: 'x' }), name: 'x' }) },
      then: 'saveError',
    },
    { id: '[snapshot-controller#G18]', given: 'a ready group', s: isReady, then: 'done' },
  ])('$id given $given, then $then', ({ id, s, then }) => {
    expect(decided(s)).toBe(`${id} ${then}`);
  });
});

describe('rows X1 to X9', () => {
  const leaving = aGroup({ metadata: { ...metadata, ...deleting }, status: ready });
  const unbound = aGroup({ metadata: { ...metadata, ...deleting } });
  const leavingStatic = aGroup({ metadata: { ...metadata, ...deleting }, spec: staticSource });
  const marked = { annotations: { [snapshotAnnotations.groupBeingDeleted]: 'yes' } };
  const going = aGroupContent({ metadata: { ...marked, ...deleting } });

  it.each<Line>([
    { id: '[snapshot-controller#X1]', given: 'a run that has just begun', s: { isBegun: false }, then: 'begin' },
    {
      id: '[snapshot-controller#X2]',
      given: 'no finalizer of ours',
      s: { group: aGroup({ metadata: deleting }) },
      then: 'done',
    },
    {
      id: '[snapshot-controller#X3]',
      given: 'no status, and no content that is known',
      s: { group: unbound, contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#X3]',
      given: 'a status that names a content that is not known',
      s: { contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#X3]',
      given: 'a static content that is shown as not bound',
      s: { group: leavingStatic, content: unboundContent, contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#X3]',
      given: 'a question that failed',
      s: { group: unbound, contentAsked: failed },
      then: 'retry',
    },
    { id: '[snapshot-controller#X4]', given: 'a restore', s: { beingRestored: ['team/a' as never] }, then: 'retry' },
    {
      id: '[snapshot-controller#X10]',
      given: 'a member that csi-provisioner protects',
      s: { owned: [aSnapshot({ metadata: { finalizers: [finalizers.restored] } })] },
      then: 'listRestores',
    },
    {
      id: '[snapshot-controller#X5]',
      given: 'a content that is not marked',
      s: { content: aGroupContent() },
      then: 'markContent',
    },
    {
      id: '[snapshot-controller#X5]',
      given: 'that failed',
      s: { content: aGroupContent(), contentMarked: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#X6]',
      given: 'a marked content',
      s: { content: aGroupContent({ metadata: marked }) },
      then: 'deleteContent',
    },
    {
      id: '[snapshot-controller#X6]',
      given: 'that failed',
      s: { content: aGroupContent({ metadata: marked }), contentDeleted: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#X7]',
      given: 'members',
      s: { content: going, owned: [aSnapshot()] },
      then: 'deleteMembers',
    },
    {
      id: '[snapshot-controller#X7]',
      given: 'that failed',
      s: { content: going, owned: [aSnapshot()], membersDeleted: failed },
      then: 'retry',
    },
    { id: '[snapshot-controller#X8]', given: 'no content', s: {}, then: 'removeFinalizer' },
    { id: '[snapshot-controller#X8]', given: 'that failed', s: { finalizersRemoved: failed }, then: 'retry' },
    { id: '[snapshot-controller#X9]', given: 'a content that is on its way', s: { content: going }, then: 'done' },
    {
      id: '[snapshot-controller#X9]',
      given: 'a finalizer that is off',
      s: { finalizersRemoved: 'done' },
      then: 'done',
    },
  ])('$id given $given, then $then', ({ id, s, then }) => {
    expect(decided({ group: leaving, ...s })).toBe(`${id} ${then}`);
  });
});

describe('rows of contents', () => {
  const none = { metadata: { finalizers: [] } };
  const withoutUid = { spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team' } } };
  const justObserved = { isOwned: false, protected: 'untried', ownerAsked: 'unasked', marked: 'untried' } as const;
  const groupWithoutUid = { spec: { volumeGroupSnapshotRef: { name: 'group', namespace: 'team' } } };

  it.each([
    { id: '[snapshot-controller#C1]', given: 'no content', content: undefined, then: 'done' },
    { id: '[snapshot-controller#C2]', given: 'no handle', content: aContent({ spec: { source: {} } }), then: 'retry' },
    { id: '[snapshot-controller#C3]', given: 'no UID', content: aContent(withoutUid), then: 'done' },
    { id: '[snapshot-controller#C4]', given: 'a finalizer', content: aContent(), then: 'done' },
    { id: '[snapshot-controller#C5]', given: 'no finalizer', content: aContent(none), then: 'protect' },
  ])('$id given $given, then $then', ({ id, content, then }) => {
    const action = decideContent({ ...justObserved, content }, singleKind);
    expect(
      `[snapshot-controller#${action.row}] ${action.kind === 'conclude' ? action.outcome.kind : action.kind}`,
    ).toBe(`${id} ${then}`);
  });

  it.each([
    { id: '[snapshot-controller#K1]', given: 'no content', content: undefined, then: 'done' },
    {
      id: '[snapshot-controller#K2]',
      given: 'no handle',
      content: aGroupContent({ spec: { source: {} } }),
      then: 'retry',
    },
    { id: '[snapshot-controller#K3]', given: 'no UID', content: aGroupContent(groupWithoutUid), then: 'done' },
    { id: '[snapshot-controller#K4]', given: 'a finalizer', content: aGroupContent(), then: 'done' },
    { id: '[snapshot-controller#K5]', given: 'no finalizer', content: aGroupContent(none), then: 'protect' },
  ])('$id given $given, then $then', ({ id, content, then }) => {
    const action = decideContent({ ...justObserved, content }, groupKind);
    expect(
      `[snapshot-controller#${action.row}] ${action.kind === 'conclude' ? action.outcome.kind : action.kind}`,
    ).toBe(`${id} ${then}`);
  });
});
