// SPDX-License-Identifier: Apache-2.0
/** What each action of the VolumeGroupSnapshot loop does. No decisions: those are in `decide`. */
import {
  ask,
  attempt,
  definedOnly,
  isFailed,
  type Performers,
  persistentVolumeClaims,
  type Step,
  toError,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  isBoundTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { groupMark } from '../content-mark.ts';
import { groupOwnerOf } from '../membership.ts';
import { reportStatus } from './report-status.ts';
import { readRestores } from '../restores.ts';
import { saveError } from '../save-error.ts';
import { selectorLabel, selectorText } from '../selector.ts';
import type { Source } from '../source-volume.ts';
import {
  bindContent,
  createContent,
  deleteObject,
  markContent,
  prepareObject,
  readAgain,
  readObject,
  removeFinalizers,
  saveStatusOf,
  type Writing,
} from '../writes.ts';
import { boundField } from './decide.ts';
import { isContentOf } from './decide-deletion.ts';
import { groupKey, isStatic } from './group.ts';
import * as messages from './messages.ts';
import { membersBeingRestored } from './observe.ts';
import { saveMember } from './save-member.ts';
import type { GroupContext, GroupLoop, GroupState } from './state.ts';

type Learned = Promise<Partial<GroupState>>;

export function performers(context: GroupContext): Performers<GroupLoop> {
  return {
    begin: ({ action, state }) => {
      const { group } = state;
      const type = group !== undefined && isStatic(group) ? 'pre-provisioned' : 'dynamic';
      const facts = { driver: action.driver, type } as const;
      for (const name of action.operations) context.operations.start(name, group?.metadata?.uid ?? '', facts);
      return { isBegun: true };
    },
    listClaims,
    prepare: async (step) => {
      const { group, className } = step.action;
      const wanted = {
        finalizers: [snapshotFinalizers.groupBound],
        spec: { volumeGroupSnapshotClassName: className },
      };
      const stored = await prepareObject(groups(step), group, wanted);
      return isFailed(stored) ? { prepared: stored } : { prepared: 'done', group: stored.value };
    },
    confirm: async (step) => {
      const read = await readAgain(groups(step), step.action.object);
      return isFailed(read) ? { confirmed: read } : { confirmed: 'done', group: read.value };
    },
    createContent: (step) => create(context, step),
    bind: async (step) => {
      const { group, content } = step.action;
      const bound = await bindContent(contents(step), content, {
        owner: group,
        referenceOf: ({ spec }) => spec?.volumeGroupSnapshotRef,
        finalizer: snapshotFinalizers.groupContent,
        spec: {
          volumeGroupSnapshotRef: { uid: group.metadata?.uid },
          ...definedOnly({ volumeGroupSnapshotClassName: group.spec?.volumeGroupSnapshotClassName }),
        },
      });
      return isFailed(bound) ? { bound } : { bound: 'done', content: bound.value };
    },
    saveMembers: async ({ client, clock, random, caches, action, signal }) => {
      const { snapshots, contents } = caches;
      const deps = { client, clock, random, snapshots, contents };
      const saved = await attempt(async () => {
        for (const member of action.members) await saveMember(deps, member, signal);
      });
      return { membersSaved: saved };
    },
    saveStatus: (step) => saveStatus(context, step),
    saveError: async ({ caches, action: { object, problem }, signal, ...ports }) => {
      const deps = { ...ports, events: context.events, cache: caches.groups };
      return { errorSaved: await saveError(deps, { resource: volumeGroupSnapshots, object, problem }, signal) };
    },
    askContent: async (step) => {
      const contentAsked = await readObject(contents(step), { name: step.action.name });
      return isFailed(contentAsked) ? { contentAsked } : { contentAsked, content: contentAsked.value };
    },
    listRestores: async ({ client, caches: { claims }, state: { owned }, action: { group }, signal }) => {
      const read = (): Promise<void> => readRestores({ client, claims, signal }, group.metadata?.namespace);
      const restoresListed = await attempt(read);
      return { restoresListed, beingRestored: membersBeingRestored({ claims }, owned) };
    },
    markContent: async (step) => {
      const { group, content } = step.action;
      const isIts = (known: VolumeGroupSnapshotContent): boolean => isContentOf(group, known);
      const marked = await markContent(contents(step), content, { mark: groupMark, isIts });
      return isFailed(marked) ? { contentMarked: marked } : { contentMarked: 'done', content: marked.value };
    },
    deleteContent: async (step) => {
      const { group, content } = step.action;
      const mayGo = (known: VolumeGroupSnapshotContent): boolean =>
        isContentOf(group, known) && known.spec?.deletionPolicy === 'Delete';
      const deleted = await deleteObject(contents(step), content, mayGo);
      if (isFailed(deleted)) return { contentDeleted: deleted };
      return { contentDeleted: 'done', content: deleted.value ?? content };
    },
    deleteMembers: (step) => deleteMembers(context, step),
    removeFinalizer: async (step) => ({
      finalizersRemoved: await removeFinalizers(groups(step), step.action.group, [snapshotFinalizers.groupBound]),
    }),
  };
}

/** How groups are written. */
function groups({ client, clock, random, caches, signal }: Step<GroupLoop>): Writing<VolumeGroupSnapshot> {
  return { client, clock, random, signal, resource: volumeGroupSnapshots, cache: caches.groups };
}

/** How contents of groups are written. */
function contents({ client, clock, random, caches, signal }: Step<GroupLoop>): Writing<VolumeGroupSnapshotContent> {
  return { client, clock, random, signal, resource: volumeGroupSnapshotContents, cache: caches.groupContents };
}

/** Asked of the API server and not of the cache: a claim that was labelled a moment ago must not be left out. */
async function listClaims({ client, caches, action: { group }, signal }: Step<GroupLoop, 'listClaims'>): Learned {
  const selector = group.spec?.source?.selector ?? {};
  const listed = await ask(async () => {
    try {
      const text = selectorText(selector);
      if (text.kind === 'error') throw new Error(text.message);
      const query = { namespace: group.metadata?.namespace, labelSelector: text.value };
      return (await client.list(persistentVolumeClaims, query, { signal })).items;
    } catch (error) {
      const text = messages.listFailed(selectorLabel(selector), toError(error).message);
      throw new Error(text, { cause: error });
    }
  });
  if (isFailed(listed)) return { sources: listed };
  const sources = listed.value.map((claim): Source => {
    const name = claim.spec?.volumeName;
    return { claim, volume: name === undefined ? undefined : caches.volumes.get(toObjectKey(undefined, name)) };
  });
  return { sources: { value: sources } };
}

async function create({ events }: GroupContext, step: Step<GroupLoop, 'createContent'>): Learned {
  const { group, content, warning } = step.action;
  const key = groupKey(group);
  const stored = await createContent(contents(step), content);
  if (isFailed(stored)) {
    events.record(group, messages.contentNotCreated(key, stored.failure.message));
    return { created: stored };
  }
  if (isBoundTo(stored.value.spec?.volumeGroupSnapshotRef, group)) {
    events.record(group, messages.creating(key));
    if (warning !== undefined) events.record(group, warning);
  }
  return { created: 'done', content: stored.value };
}

async function saveStatus(context: GroupContext, step: Step<GroupLoop, 'saveStatus'>): Learned {
  const { group, content, facts } = step.action;
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  const stored = await saveStatusOf(groups(step), group, { facts, bound });
  if (isFailed(stored)) return { statusSaved: stored };
  reportStatus(context, stored.value, content);
  return { statusSaved: 'done' };
}

async function deleteMembers({ events }: GroupContext, step: Step<GroupLoop, 'deleteMembers'>): Learned {
  const { client, clock, random, caches, signal, action } = step;
  const { group, members } = action;
  const writing = { client, clock, random, signal, resource: volumeSnapshots, cache: caches.snapshots };
  const mayGo = (member: VolumeSnapshot): boolean => groupOwnerOf(member)?.uid === group.metadata?.uid;
  for (const member of members) {
    const deleted = await deleteObject(writing, member, mayGo);
    if (isFailed(deleted)) {
      events.record(group, messages.memberNotDeleted(groupKey(member), groupKey(group), deleted.failure.message));
      return { membersDeleted: deleted };
    }
  }
  return { membersDeleted: 'done' };
}
