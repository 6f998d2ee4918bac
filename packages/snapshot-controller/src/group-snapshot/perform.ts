// SPDX-License-Identifier: Apache-2.0
/** What each action of the VolumeGroupSnapshot loop does. No decisions: those are in `decide`. */
import {
  ask,
  attempt,
  changeObject,
  type ChangeObjectDeps,
  definedOnly,
  finalizersWith,
  finalizersWithout,
  ignoreNotFound,
  isFailed,
  type Performers,
  persistentVolumeClaims,
  type Step,
  toError,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  annotationYes,
  isBoundTo,
  mayBindTo,
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeGroupSnapshotStatus,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { createOrGet } from '../create-or-get.ts';
import { saveError } from '../save-error.ts';
import { selectorLabel, selectorText } from '../selector.ts';
import type { Source } from '../source-volume.ts';
import { mergedStatus, milestones } from '../status.ts';
import { boundField } from './decide.ts';
import { groupKey, isStatic } from './group.ts';
import * as messages from './messages.ts';
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
    prepare,
    createContent: (step) => createContent(context, step),
    bind,
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
    askContent: async ({ client, caches, action: { name }, signal }) => {
      const contentAsked = await ask(() =>
        client.get(volumeGroupSnapshotContents, { name }, { signal }).catch(ignoreNotFound),
      );
      if (isFailed(contentAsked) || contentAsked.value === undefined) return { contentAsked };
      caches.groupContents.remember(contentAsked.value);
      return { contentAsked, content: contentAsked.value };
    },
    markContent,
    deleteContent,
    deleteMembers: (step) => deleteMembers(context, step),
    removeFinalizer: async (step) => {
      const removed = await attempt(() =>
        changeObject(
          depsOf(step),
          {
            resource: volumeGroupSnapshots,
            object: step.action.group,
            patch: (known) => {
              const kept = finalizersWithout(known, snapshotFinalizers.groupBound);
              return kept && { metadata: { finalizers: kept } };
            },
          },
          { signal: step.signal },
        ).catch(ignoreNotFound),
      );
      return { finalizersRemoved: removed };
    },
  };
}

/** How groups are changed. */
function depsOf({ client, clock, random, caches }: Step<GroupLoop>): ChangeObjectDeps<VolumeGroupSnapshot> {
  return { client, clock, random, cache: caches.groups };
}

/** How contents of groups are changed. */
function contentDepsOf({
  client,
  clock,
  random,
  caches,
}: Step<GroupLoop>): ChangeObjectDeps<VolumeGroupSnapshotContent> {
  return { client, clock, random, cache: caches.groupContents };
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
    const volume = claim.spec?.volumeName ?? '';
    return { claim, volume: volume === '' ? undefined : caches.volumes.get(toObjectKey(undefined, volume)) };
  });
  return { sources: { value: sources } };
}

/** A group that is being deleted gets no finalizer, and a class that came meanwhile stays. */
async function prepare(step: Step<GroupLoop, 'prepare'>): Learned {
  const { group, className } = step.action;
  const stored = await ask(() =>
    changeObject(
      depsOf(step),
      {
        resource: volumeGroupSnapshots,
        object: group,
        patch: (known) => {
          if (known.metadata?.deletionTimestamp !== undefined) return undefined;
          const finalizers = finalizersWith(known, snapshotFinalizers.groupBound);
          const needsClass = className !== undefined && known.spec?.volumeGroupSnapshotClassName === undefined;
          if (finalizers === undefined && !needsClass) return undefined;
          return {
            ...(finalizers === undefined ? {} : { metadata: { finalizers } }),
            ...(needsClass ? { spec: { volumeGroupSnapshotClassName: className } } : {}),
          };
        },
      },
      { signal: step.signal },
    ),
  );
  return isFailed(stored) ? { prepared: stored } : { prepared: 'done', group: stored.value };
}

async function createContent(
  { events }: GroupContext,
  { client, caches, action: { group, content }, signal }: Step<GroupLoop, 'createContent'>,
): Learned {
  const key = groupKey(group);
  const deps = { client, cache: caches.groupContents };
  const stored = await ask(() => createOrGet(deps, { resource: volumeGroupSnapshotContents, object: content }, signal));
  if (isFailed(stored)) {
    events.record(group, messages.contentNotCreated(key, stored.failure.message));
    return { created: stored };
  }
  if (isBoundTo(stored.value.spec?.volumeGroupSnapshotRef, group)) events.record(group, messages.creating(key));
  return { created: 'done', content: stored.value };
}

/** The finalizer comes with the binding: it is the first moment in which the content has something to protect. */
async function bind(step: Step<GroupLoop, 'bind'>): Learned {
  const { group, content } = step.action;
  const bound = await ask(() =>
    changeObject(
      contentDepsOf(step),
      {
        resource: volumeGroupSnapshotContents,
        object: content,
        patch: (known) => {
          if (!mayBindTo(known.spec?.volumeGroupSnapshotRef, group)) return undefined;
          const isDeleting = known.metadata?.deletionTimestamp !== undefined;
          const finalizers = isDeleting ? undefined : finalizersWith(known, snapshotFinalizers.groupContent);
          return {
            ...(finalizers === undefined ? {} : { metadata: { finalizers } }),
            spec: {
              volumeGroupSnapshotRef: { uid: group.metadata?.uid },
              ...definedOnly({ volumeGroupSnapshotClassName: group.spec?.volumeGroupSnapshotClassName }),
            },
          };
        },
      },
      { signal: step.signal },
    ),
  );
  return isFailed(bound) ? { bound } : { bound: 'done', content: bound.value };
}

/** Events and metrics follow from what the write changed, and only a write that succeeded. */
async function saveStatus({ events, operations }: GroupContext, step: Step<GroupLoop, 'saveStatus'>): Learned {
  const { group, content, facts } = step.action;
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  let before: VolumeGroupSnapshotStatus | undefined;
  const stored = await ask(() =>
    changeObject(
      depsOf(step),
      {
        resource: volumeGroupSnapshots,
        object: group,
        subresource: 'status',
        patch: (known) => {
          before = known.status;
          const status = mergedStatus(known.status, facts, bound);
          return status && { status };
        },
      },
      { signal: step.signal },
    ),
  );
  if (isFailed(stored)) return { statusSaved: stored };
  const key = groupKey(group);
  const uid = group.metadata?.uid ?? '';
  const driver = content.spec?.driver ?? '';
  for (const milestone of milestones(before, stored.value.status)) {
    if (milestone === 'created') {
      operations.succeed('CreateGroupSnapshot', uid, driver);
      events.record(group, messages.created(key));
    } else {
      operations.succeed('CreateGroupSnapshotAndReady', uid, driver);
      events.record(group, messages.ready(key));
    }
  }
  return { statusSaved: 'done' };
}

/** One key: the other annotations are csi-snapshotter's and users'. */
async function markContent(step: Step<GroupLoop, 'markContent'>): Learned {
  const key = snapshotAnnotations.groupBeingDeleted;
  const marked = await attempt(() =>
    changeObject(
      contentDepsOf(step),
      {
        resource: volumeGroupSnapshotContents,
        object: step.action.content,
        patch: ({ metadata }) =>
          metadata?.annotations?.[key] === undefined
            ? { metadata: { annotations: { [key]: annotationYes } } }
            : undefined,
      },
      { signal: step.signal },
    ).catch(ignoreNotFound),
  );
  return { contentMarked: marked };
}

async function deleteContent({
  client,
  caches,
  action: { content },
  signal,
}: Step<GroupLoop, 'deleteContent'>): Learned {
  const { name = '', uid } = content.metadata ?? {};
  const deleted = await attempt(async () => {
    const options = { signal, ...(uid === undefined ? {} : { preconditions: { uid } }) };
    const held = await client.delete(volumeGroupSnapshotContents, { name }, options).catch(ignoreNotFound);
    if (held !== undefined) caches.groupContents.remember(held);
  });
  return { contentDeleted: deleted };
}

async function deleteMembers(
  { events }: GroupContext,
  { client, caches, action: { group, members }, signal }: Step<GroupLoop, 'deleteMembers'>,
): Learned {
  for (const member of members) {
    const { namespace, name = '', uid } = member.metadata ?? {};
    const options = { signal, ...(uid === undefined ? {} : { preconditions: { uid } }) };
    const deleted = await ask(() => client.delete(volumeSnapshots, { namespace, name }, options).catch(ignoreNotFound));
    if (isFailed(deleted)) {
      events.record(group, messages.memberNotDeleted(groupKey(member), groupKey(group), deleted.failure.message));
      return { membersDeleted: deleted };
    }
    if (deleted.value !== undefined) caches.snapshots.remember(deleted.value);
  }
  return { membersDeleted: 'done' };
}
