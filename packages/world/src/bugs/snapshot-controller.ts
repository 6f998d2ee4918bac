// SPDX-License-Identifier: Apache-2.0
/** Known defects of snapshot-controller, to be put back. */
import type { Bug, Edit } from './bug.ts';

/** When these defects were found, nothing but the run of a snapshot released its claim. */
const withoutClaimLoop: Edit = {
  file: 'packages/snapshot-controller/src/snapshot-controller.ts',
  find: '    claimLoop(ofClaims, watched),\n',
  replace: '',
};

export const snapshotController: readonly Bug[] = [
  {
    name: 'snapshots-deleted-together-keep-claim',
    history: 'ab7880d8',
    effect: 'Of two snapshots that are deleted together each leaves the release of the claim to the other one.',
    edits: [
      withoutClaimLoop,
      {
        file: 'packages/snapshot-controller/src/snapshot/observe.ts',
        find: "    (other) => isHeld(other) && !(isDeleting(self) && releases.hasLeft(other.metadata?.uid ?? '')),",
        replace: '    (other) => isHeld(other) && releases !== undefined,',
      },
    ],
  },
  {
    name: 'snapshot-without-class-holds-claim',
    history: 'f766cc9e, external-snapshotter#1305',
    effect: 'A claim stays while a snapshot that can never be taken names it.',
    edits: [
      withoutClaimLoop,
      {
        file: 'packages/snapshot-controller/src/snapshot/observe.ts',
        find: '    (other) => isHeld(other) && !(',
        replace: '    (other) => !(',
      },
    ],
  },
  {
    name: 'claim-finalizer-left-after-lost-answer',
    history: '7a5602aa, dbffd0d3 and cb0e7c52',
    effect: 'A claim that was protected by a write without an answer is not released.',
    edits: [
      withoutClaimLoop,
      {
        file: 'packages/snapshot-controller/src/snapshot/claim-finalizer.ts',
        find: 'return await writeObject(claims, known, () => client.update(persistentVolumeClaims, changed, { signal }));',
        replace:
          'const stored = await client.update(persistentVolumeClaims, changed, { signal }); claims.remember(stored); return stored;',
      },
      {
        file: 'packages/snapshot-controller/src/snapshot/claim-finalizer.ts',
        find: '        if (!mayHaveHappened(error)) throw error;',
        replace: '        if (mayHaveHappened(error) || true) throw error;',
      },
    ],
  },
  {
    name: 'claim-protected-for-gone-snapshot',
    history: '8300d35c',
    effect: 'A claim is protected for a snapshot that the cache shows and that is gone.',
    edits: [
      withoutClaimLoop,
      {
        file: 'packages/snapshot-controller/src/snapshot/flow.ts',
        find: "  const run = { ...first, ...(yield* binding.confirm(first, 'S12')) };",
        replace: '  const run = first;',
      },
    ],
  },
  {
    name: 'content-for-gone-snapshot',
    history: '81720c8a',
    effect: 'A content is made for a snapshot that the cache shows and that is gone.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/binding/flow.ts',
        find: '  const there = yield* confirm(run, rows.create);',
        replace: '  const there = run;',
      },
    ],
  },
  {
    name: 'lost-mark-wakes-nothing',
    history: '4df64906',
    effect: 'A content that another writer robs of its mark is not marked again, and stays.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/handlers.ts',
        find: '    hasLost(mark, previous, current) ||\n',
        replace: '    (hasLost(mark, previous, current) && false) ||\n',
      },
    ],
  },
  {
    name: 'content-deleted-after-it-became-retained',
    history: 'eb57f439',
    effect: 'A content that became Retain a moment before is deleted.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/writes.ts',
        find: 'const preconditions = definedOnly({ uid, resourceVersion });',
        replace: 'const preconditions = definedOnly({ uid, resourceVersion: resourceVersion && undefined });',
      },
    ],
  },
  {
    name: 'claim-release-races-with-protection',
    history: 'made up: a claim that is being released counts as unprotected',
    effect: 'A snapshot relies on a finalizer that another run takes off at that moment.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/snapshot/steps.ts',
        find: '  await releases.during(key, async () => {',
        replace: '  await ((_key: unknown, work: () => Promise<void>) => work())(key, async () => {',
      },
      {
        file: 'packages/snapshot-controller/src/snapshot/steps.ts',
        find: '  const isInUse = (): boolean => isClaimInUse({ releases, snapshots: caches.snapshots }, key, snapshot);',
        replace:
          '  const isInUse = (): boolean => releases === undefined && isClaimInUse({ releases, snapshots: caches.snapshots }, key, snapshot);',
      },
    ],
  },
  {
    name: 'unseen-content-left-behind',
    history: '18f258f7',
    effect: 'A snapshot goes although its content was made by a write without an answer.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/snapshot/removal.ts',
        find: "  if (contentNameFor(snapshot) === '') return false;",
        replace: "  if (contentNameFor(snapshot) !== 'never') return false;",
      },
    ],
  },
  {
    name: 'snapshot-goes-before-its-content',
    history: 'made up: D9 of the snapshot-controller’s page',
    effect: 'The finalizers of a snapshot go before its content is deleted.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/snapshot/removal.ts',
        find: '  const content = found && (yield* binding.removeContent(run, found));',
        replace: '  const content = undefined as typeof found;',
      },
    ],
  },
  {
    name: 'snapshot-goes-while-restored',
    history: 'made up after the invariants: a pending claim keeps the snapshot that it restores',
    effect: 'The content of a snapshot is deleted while a claim is being restored from it.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/snapshot/removal.ts',
        find: '  if (found !== undefined) yield* waitForRestores(run, found);\n',
        replace: '',
      },
    ],
  },
];
