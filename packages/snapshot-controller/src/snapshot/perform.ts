// SPDX-License-Identifier: Apache-2.0
/** What each action of the VolumeSnapshot loop does. No decisions: those are in `decide`. */
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
  isNotFound,
  type Performers,
  type Step,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  annotationYes,
  isBoundTo,
  mayBindTo,
  snapshotAnnotations,
  snapshotFinalizers,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
  type VolumeSnapshotStatus,
} from '@csi-sidecars/volume';
import { createOrGet } from '../create-or-get.ts';
import { saveError } from '../save-error.ts';
import { mergedStatus, milestones } from '../status.ts';
import { protectClaim, releaseClaim } from './claim-finalizer.ts';
import { boundField } from './decide.ts';
import * as messages from './messages.ts';
import { isClaimInUse } from './observe.ts';
import { isDeleting, originOf, snapshotKey } from './snapshot.ts';
import type { SnapshotContext, SnapshotLoop, SnapshotState } from './state.ts';

type Learned = Promise<Partial<SnapshotState>>;

export function performers(context: SnapshotContext): Performers<SnapshotLoop> {
  return {
    begin: ({ action, state }) => {
      const { snapshot } = state;
      const type = snapshot !== undefined && originOf(snapshot) === 'static' ? 'pre-provisioned' : 'dynamic';
      const facts = { driver: action.driver, type } as const;
      for (const name of action.operations) context.operations.start(name, snapshot?.metadata?.uid ?? '', facts);
      return { isBegun: true };
    },
    prepare,
    protectClaim: async ({ client, clock, random, caches, action, signal }) => {
      const deps = { client, clock, random, claims: caches.claims };
      const stored = await ask(() => protectClaim(deps, action.claim, signal));
      return isFailed(stored) ? { claimProtected: stored } : { claimProtected: 'done', claim: stored.value };
    },
    createContent: (step) => createContent(context, step),
    bind,
    saveStatus: (step) => saveStatus(context, step),
    saveError: async ({ caches, action: { object, problem }, signal, ...ports }) => {
      const deps = { ...ports, events: context.events, cache: caches.snapshots };
      return { errorSaved: await saveError(deps, { resource: volumeSnapshots, object, problem }, signal) };
    },
    releaseClaim: (step) => release(context, step),
    adopt,
    askContent: async ({ client, caches, action: { name }, signal }) => {
      const contentAsked = await ask(() =>
        client.get(volumeSnapshotContents, { name }, { signal }).catch(ignoreNotFound),
      );
      if (isFailed(contentAsked) || contentAsked.value === undefined) return { contentAsked };
      caches.contents.remember(contentAsked.value);
      return { contentAsked, content: contentAsked.value };
    },
    askGroup: async ({ client, action: { namespace, name }, signal }) => {
      const found = await ask(() => client.get(volumeGroupSnapshots, { namespace, name }, { signal }));
      if (!isFailed(found)) return { groupAsked: { value: true } };
      // A cluster without the kind answers the same.
      return { groupAsked: isNotFound(found.failure) ? { value: false } : found };
    },
    markContent,
    deleteContent,
    removeFinalizers: async (step) => {
      const { snapshot, finalizers } = step.action;
      const removed = await attempt(() =>
        changeObject(
          depsOf(step),
          {
            resource: volumeSnapshots,
            object: snapshot,
            patch: (known) => {
              const kept = finalizersWithout(known, ...finalizers);
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

/** How snapshots are changed. */
function depsOf({ client, clock, random, caches }: Step<SnapshotLoop>): ChangeObjectDeps<VolumeSnapshot> {
  return { client, clock, random, cache: caches.snapshots };
}

/** How contents are changed. */
function contentDepsOf({ client, clock, random, caches }: Step<SnapshotLoop>): ChangeObjectDeps<VolumeSnapshotContent> {
  return { client, clock, random, cache: caches.contents };
}

/** A snapshot that is being deleted gets no finalizers, and a class that came meanwhile stays. */
async function prepare(step: Step<SnapshotLoop, 'prepare'>): Learned {
  const { snapshot, preparation } = step.action;
  const stored = await ask(() =>
    changeObject(
      depsOf(step),
      {
        resource: volumeSnapshots,
        object: snapshot,
        patch: (known) => {
          if (isDeleting(known)) return undefined;
          const finalizers = finalizersWith(known, ...preparation.finalizers);
          const needsClass = preparation.className !== undefined && known.spec?.volumeSnapshotClassName === undefined;
          if (finalizers === undefined && !needsClass) return undefined;
          return {
            ...(finalizers === undefined ? {} : { metadata: { finalizers } }),
            ...(needsClass ? { spec: { volumeSnapshotClassName: preparation.className } } : {}),
          };
        },
      },
      { signal: step.signal },
    ),
  );
  return isFailed(stored) ? { prepared: stored } : { prepared: 'done', snapshot: stored.value };
}

/** A content that belongs to another snapshot is learned as well: the decision is made again with it. */
async function createContent(
  { events }: SnapshotContext,
  { client, caches, action: { snapshot, content }, signal }: Step<SnapshotLoop, 'createContent'>,
): Learned {
  const key = snapshotKey(snapshot);
  const deps = { client, cache: caches.contents };
  const stored = await ask(() => createOrGet(deps, { resource: volumeSnapshotContents, object: content }, signal));
  if (isFailed(stored)) {
    events.record(snapshot, messages.contentNotCreated(key, stored.failure.message));
    return { created: stored };
  }
  if (isBoundTo(stored.value.spec?.volumeSnapshotRef, snapshot)) events.record(snapshot, messages.creating(key));
  return { created: 'done', content: stored.value };
}

/** The finalizer comes with the binding: it is the first moment in which the content has something to protect. */
async function bind(step: Step<SnapshotLoop, 'bind'>): Learned {
  const { snapshot, content } = step.action;
  const bound = await ask(() =>
    changeObject(
      contentDepsOf(step),
      {
        resource: volumeSnapshotContents,
        object: content,
        patch: (known) => {
          if (!mayBindTo(known.spec?.volumeSnapshotRef, snapshot)) return undefined;
          const finalizers = isDeleting(known) ? undefined : finalizersWith(known, snapshotFinalizers.content);
          return {
            ...(finalizers === undefined ? {} : { metadata: { finalizers } }),
            spec: {
              volumeSnapshotRef: { uid: snapshot.metadata?.uid },
              ...definedOnly({ volumeSnapshotClassName: snapshot.spec?.volumeSnapshotClassName }),
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
async function saveStatus({ events, operations }: SnapshotContext, step: Step<SnapshotLoop, 'saveStatus'>): Learned {
  const { snapshot, content, facts } = step.action;
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  let before: VolumeSnapshotStatus | undefined;
  const stored = await ask(() =>
    changeObject(
      depsOf(step),
      {
        resource: volumeSnapshots,
        object: snapshot,
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
  const key = snapshotKey(snapshot);
  const uid = snapshot.metadata?.uid ?? '';
  const driver = content.spec?.driver ?? '';
  for (const milestone of milestones(before, stored.value.status)) {
    if (milestone === 'created') {
      operations.succeed('CreateSnapshot', uid, driver);
      events.record(snapshot, messages.created(key));
    } else {
      operations.succeed('CreateSnapshotAndReady', uid, driver);
      events.record(snapshot, messages.ready(key));
    }
  }
  return { statusSaved: 'done' };
}

async function release(
  { releases }: SnapshotContext,
  { client, clock, random, caches, action: { claim, snapshot }, signal }: Step<SnapshotLoop, 'releaseClaim'>,
): Learned {
  const deps = { client, clock, random, claims: caches.claims };
  const key = toObjectKey(claim.metadata?.namespace, claim.metadata?.name ?? '');
  const isInUse = (): boolean => isClaimInUse(caches, key, snapshot);
  return {
    claimReleased: await attempt(() => releases.during(key, () => releaseClaim(deps, { claim, isInUse }, signal))),
  };
}

async function adopt(step: Step<SnapshotLoop, 'adopt'>): Learned {
  const { snapshot, group } = step.action;
  const owner = {
    apiVersion: `${volumeGroupSnapshots.group}/${volumeGroupSnapshots.version}`,
    kind: volumeGroupSnapshots.kind,
    name: group.metadata?.name ?? '',
    uid: group.metadata?.uid ?? '',
  };
  const adopted = await attempt(() =>
    changeObject(
      depsOf(step),
      {
        resource: volumeSnapshots,
        object: snapshot,
        patch: ({ metadata }) => {
          const owners = metadata?.ownerReferences ?? [];
          return owners.some(({ uid }) => uid === owner.uid)
            ? undefined
            : { metadata: { ownerReferences: [...owners, owner] } };
        },
      },
      { signal: step.signal },
    ),
  );
  return { adopted };
}

/** One key: the other annotations are csi-snapshotter's and users'. */
async function markContent(step: Step<SnapshotLoop, 'markContent'>): Learned {
  const key = snapshotAnnotations.beingDeleted;
  const marked = await attempt(() =>
    changeObject(
      contentDepsOf(step),
      {
        resource: volumeSnapshotContents,
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
}: Step<SnapshotLoop, 'deleteContent'>): Learned {
  const { name = '', uid } = content.metadata ?? {};
  const deleted = await attempt(async () => {
    const options = { signal, ...(uid === undefined ? {} : { preconditions: { uid } }) };
    const held = await client.delete(volumeSnapshotContents, { name }, options).catch(ignoreNotFound);
    if (held !== undefined) caches.contents.remember(held);
  });
  return { contentDeleted: deleted };
}
