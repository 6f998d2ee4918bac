// SPDX-License-Identifier: Apache-2.0
/** Known defects of csi-snapshotter, to be put back. */
import type { Bug } from './bug.ts';

export const snapshotter: readonly Bug[] = [
  {
    name: 'snapshotter-deletes-open-content',
    history: 'external-snapshotter before its being-created annotation',
    effect: 'A content goes while CreateSnapshot is under way, and its snapshot stays.',
    edits: [
      {
        file: 'packages/snapshotter/src/content-object.ts',
        find: '  return !isMarked(content, kind.annotations) && isAgreed(content, kind.annotations);',
        replace: '  return isAgreed(content, kind.annotations);',
      },
    ],
  },
  {
    name: 'snapshotter-takes-for-gone-content',
    history: '53213eb6',
    effect: 'A process that has just started takes a snapshot for a content that is gone.',
    edits: [
      {
        file: 'packages/snapshotter/src/creation.ts',
        find: '  else if (!isConfirmed) run = yield* confirm(run);',
        replace: '  else if (!isConfirmed) run = { ...run };',
      },
    ],
  },
  {
    name: 'snapshotter-loses-intent-to-stale-writer',
    history: '062b542d, 3de168dc and 45a84893',
    effect:
      'A writer that replaces all annotations removes the intent of an open call, and the content goes without its snapshot.',
    edits: [
      {
        file: 'packages/snapshotter/src/content-object.ts',
        find: '  const isThere = hasAnnotation(content, beingCreated) || markLabelOf(content, annotations) !== undefined;',
        replace: '  const isThere = hasAnnotation(content, beingCreated);',
      },
      {
        file: 'packages/snapshotter/src/creation.ts',
        find: '    if (!isWhole) restored =',
        replace: '    if (!isWhole && isWhole) restored =',
      },
    ],
  },
  {
    name: 'snapshotter-takes-timeout-for-final',
    history: 'made up: the table of codes',
    effect: 'After a timeout the intent goes, although the driver may still take the snapshot.',
    edits: [
      {
        file: 'packages/snapshotter/src/call-outcome.ts',
        find: "  DeadlineExceeded: 'open',",
        replace: "  DeadlineExceeded: 'final',",
      },
    ],
  },
  {
    name: 'snapshotter-releases-with-snapshot',
    history: 'a2741fa7',
    effect: 'The finalizer of a content goes by a copy that does not show its handle, and the snapshot stays.',
    edits: [
      {
        file: 'packages/snapshotter/src/steps.ts',
        find: '    if (!isToBeDeleted(current, kind) || kind.takesSnapshotAlong(current)) return undefined;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'snapshotter-marks-ready-content',
    history: 'd2ef6e2a',
    effect: 'An intent is written onto a content that another replica has made ready, and keeps it from being deleted.',
    edits: [
      {
        file: 'packages/snapshotter/src/steps.ts',
        find: '  if (isReady(current)) return undefined;\n  if (isFullyMarked',
        replace: '  if (isFullyMarked',
      },
    ],
  },
  {
    name: 'snapshotter-asks-only-once',
    history: 'made up after the invariants: C18 of the csi-snapshotter’s page',
    effect: 'A snapshot that is not ready at once never becomes ready.',
    edits: [
      {
        file: 'packages/snapshotter/src/run.ts',
        find: "conclude(rows.notReady, postpone('the snapshot is not ready'))",
        replace: 'conclude(rows.notReady, done)',
      },
    ],
  },
  {
    name: 'snapshotter-restores-withdrawn-intent',
    history: 'found by a story: csi-snapshotter#147',
    effect: 'Half an intent of a late list is written again although it was withdrawn, and a second snapshot is cut.',
    edits: [
      {
        file: 'packages/snapshotter/src/creation.ts',
        find: '    run = yield* mark(run);\n    isConfirmed = true;',
        replace:
          '    run = { ...run, content: yield* perform(rows.mark, step.restoreMark<T>, run.content) };\n    isConfirmed = true;',
      },
    ],
  },
];
