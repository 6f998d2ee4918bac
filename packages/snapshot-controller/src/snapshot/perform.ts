// SPDX-License-Identifier: Apache-2.0
/** What each action of the VolumeSnapshot loop does. No decisions: those are in `decide`. */
import {
  ask,
  attempt,
  changeObject,
  definedOnly,
  isFailed,
  isNotFound,
  type Performers,
  type Step,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  isBoundTo,
  isDnsSubdomain,
  snapshotFinalizers,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { singleMark } from '../content-mark.ts';
import { hasAffinity } from '../managed-by.ts';
import { reportStatus } from './report-status.ts';
import { isBeingRestored, readRestores } from '../restores.ts';
import { saveError } from '../save-error.ts';
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
import { type ClaimDeps, protectClaim, readSnapshotsOf, releaseClaim } from './claim-finalizer.ts';
import { boundField } from './decide.ts';
import { isContentOf } from './decide-deletion.ts';
import * as messages from './messages.ts';
import { isClaimInUse, mayBeInUse } from './observe.ts';
import { originOf, snapshotKey } from './snapshot.ts';
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
    prepare: async (step) => {
      const { snapshot, preparation } = step.action;
      const spec = { volumeSnapshotClassName: preparation.className };
      const wanted = { finalizers: preparation.finalizers, spec };
      const stored = await prepareObject(snapshots(step), snapshot, wanted);
      return isFailed(stored) ? { prepared: stored } : { prepared: 'done', snapshot: stored.value };
    },
    protectClaim: async (step) => {
      const { action, signal } = step;
      const stored = await ask(() => protectClaim(claims(context, step), action.claim, signal));
      return isFailed(stored) ? { claimProtected: stored } : { claimProtected: 'done', claim: stored.value };
    },
    confirm: async (step) => {
      const read = await readAgain(snapshots(step), step.action.object);
      return isFailed(read) ? { confirmed: read } : { confirmed: 'done', snapshot: read.value };
    },
    createContent: (step) => create(context, step),
    bind: async (step) => {
      const { snapshot, content } = step.action;
      const bound = await bindContent(contents(step), content, {
        owner: snapshot,
        referenceOf: ({ spec }) => spec?.volumeSnapshotRef,
        finalizer: snapshotFinalizers.content,
        spec: {
          volumeSnapshotRef: { uid: snapshot.metadata?.uid },
          ...definedOnly({ volumeSnapshotClassName: snapshot.spec?.volumeSnapshotClassName }),
        },
      });
      return isFailed(bound) ? { bound } : { bound: 'done', content: bound.value };
    },
    saveStatus: (step) => saveStatus(context, step),
    saveError: async ({ caches, action: { object, problem }, signal, ...ports }) => {
      const deps = { ...ports, events: context.events, cache: caches.snapshots };
      return { errorSaved: await saveError(deps, { resource: volumeSnapshots, object, problem }, signal) };
    },
    leaveClaim: ({ caches, action: { snapshot } }) => {
      const { uid = '' } = snapshot.metadata ?? {};
      // What is gone already would not be forgotten any more.
      if (caches.snapshots.get(snapshotKey(snapshot))?.metadata?.uid === uid) context.releases.leave(uid);
      return { hasLeftClaim: true };
    },
    releaseClaim: (step) => release(context, step),
    adopt,
    askContent: async (step) => {
      const contentAsked = await readObject(contents(step), { name: step.action.name });
      return isFailed(contentAsked) ? { contentAsked } : { contentAsked, content: contentAsked.value };
    },
    listRestores: async ({ client, caches: { claims }, action: { snapshot }, signal }) => {
      const read = (): Promise<void> => readRestores({ client, claims, signal }, snapshot.metadata?.namespace);
      const restoresListed = await attempt(read);
      return { restoresListed, isBeingRestored: isBeingRestored(claims, snapshotKey(snapshot)) };
    },
    askGroup: async ({ client, action: { namespace, name }, signal }) => {
      if (!isDnsSubdomain(name)) return { groupAsked: { value: false } };
      const found = await ask(() => client.get(volumeGroupSnapshots, { namespace, name }, { signal }));
      if (!isFailed(found)) return { groupAsked: { value: true } };
      // A cluster without the kind answers the same.
      return { groupAsked: isNotFound(found.failure) ? { value: false } : found };
    },
    markContent: async (step) => {
      const { snapshot, content } = step.action;
      const isIts = (known: VolumeSnapshotContent): boolean => isContentOf(snapshot, known);
      const marked = await markContent(contents(step), content, { mark: singleMark, isIts });
      return isFailed(marked) ? { contentMarked: marked } : { contentMarked: 'done', content: marked.value };
    },
    deleteContent: async (step) => {
      const { snapshot, content } = step.action;
      const mayGo = (known: VolumeSnapshotContent): boolean =>
        isContentOf(snapshot, known) && known.spec?.deletionPolicy === 'Delete';
      const deleted = await deleteObject(contents(step), content, mayGo);
      if (isFailed(deleted)) return { contentDeleted: deleted };
      return { contentDeleted: 'done', content: deleted.value ?? content };
    },
    removeFinalizers: async (step) => {
      const { snapshot, finalizers } = step.action;
      return { finalizersRemoved: await removeFinalizers(snapshots(step), snapshot, finalizers) };
    },
  };
}

/** How snapshots are written. */
function snapshots({ client, clock, random, caches, signal }: Step<SnapshotLoop>): Writing<VolumeSnapshot> {
  return { client, clock, random, signal, resource: volumeSnapshots, cache: caches.snapshots };
}

/** How contents are written. */
function contents({ client, clock, random, caches, signal }: Step<SnapshotLoop>): Writing<VolumeSnapshotContent> {
  return { client, clock, random, signal, resource: volumeSnapshotContents, cache: caches.contents };
}

/** How the finalizers of claims are written. */
function claims(
  { claimTurns, releases }: SnapshotContext,
  { client, clock, random, caches }: Step<SnapshotLoop>,
): ClaimDeps {
  return { client, clock, random, claims: caches.claims, turns: claimTurns, releases };
}

/** A content that belongs to another snapshot is learned as well: the decision is made again with it. */
async function create({ events, settings }: SnapshotContext, step: Step<SnapshotLoop, 'createContent'>): Learned {
  const { action, state } = step;
  const { snapshot, content } = action;
  const key = snapshotKey(snapshot);
  const stored = await createContent(contents(step), content);
  if (isFailed(stored)) {
    events.record(snapshot, messages.contentNotCreated(key, stored.failure.message));
    return { created: stored };
  }
  if (isBoundTo(stored.value.spec?.volumeSnapshotRef, snapshot)) {
    events.record(snapshot, messages.creating(key));
    const isOfNone = state.node === '' && state.volume !== undefined && hasAffinity([state.volume]);
    if (settings.distributed && isOfNone) events.record(snapshot, messages.noNode(content.metadata?.name ?? ''));
  }
  return { created: 'done', content: stored.value };
}

async function saveStatus(context: SnapshotContext, step: Step<SnapshotLoop, 'saveStatus'>): Learned {
  const { snapshot, content, facts } = step.action;
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  const stored = await saveStatusOf(snapshots(step), snapshot, { facts, bound });
  if (isFailed(stored)) return { statusSaved: stored };
  reportStatus(context, stored.value, content);
  return { statusSaved: 'done' };
}

async function release(context: SnapshotContext, step: Step<SnapshotLoop, 'releaseClaim'>): Learned {
  const { releases } = context;
  const { caches, action, signal } = step;
  const { claim, snapshot } = action;
  const key = toObjectKey(claim.metadata?.namespace, claim.metadata?.name ?? '');
  const isInUse = (): boolean => isClaimInUse({ releases, snapshots: caches.snapshots }, key, snapshot);
  const run = async (): Promise<void> => {
    const isCacheCurrent = releases.hasGiven(claim.metadata?.uid ?? '');
    if (!isCacheCurrent || mayBeInUse(caches.snapshots, key, snapshot)) await readSnapshotsOf(key, step);
    await releaseClaim(claims(context, step), { claim, isInUse }, signal);
  };
  return { claimReleased: await attempt(() => releases.during(key, run)) };
}

async function adopt(step: Step<SnapshotLoop, 'adopt'>): Learned {
  const { snapshot, group } = step.action;
  // The garbage collector deletes a snapshot whose only owner is gone.
  const known = await readAgain(
    { ...snapshots(step), resource: volumeGroupSnapshots, cache: step.caches.groups },
    group,
  );
  if (isFailed(known)) return { adopted: known };
  if (known.value === undefined) return { adopted: { failure: new Error(`group ${snapshotKey(group)} is gone`) } };
  const owner = {
    apiVersion: `${volumeGroupSnapshots.group}/${volumeGroupSnapshots.version}`,
    kind: volumeGroupSnapshots.kind,
    name: group.metadata?.name ?? '',
    uid: group.metadata?.uid ?? '',
  };
  const { resource, signal, ...deps } = snapshots(step);
  const adopted = await attempt(() =>
    changeObject(
      deps,
      {
        resource,
        object: snapshot,
        patch: ({ metadata }) => {
          const owners = metadata?.ownerReferences ?? [];
          return owners.some(({ uid }) => uid === owner.uid)
            ? undefined
            : { metadata: { ownerReferences: [...owners, owner] } };
        },
      },
      { signal },
    ),
  );
  return { adopted };
}
