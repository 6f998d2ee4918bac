// SPDX-License-Identifier: Apache-2.0
/** Known defects of csi-attacher, to be put back. */
import type { Bug } from './bug.ts';

export const attacher: readonly Bug[] = [
  {
    name: 'attacher-writes-error-over-success',
    history: 'b79a1e30',
    effect: 'An error is written onto an attachment that another process, or a write without an answer, has attached.',
    edits: [
      {
        file: 'packages/attacher/src/attach/steps.ts',
        find: "    if (error.field === 'attachError') return isAttached(known);",
        replace: "    if (error.field === 'attachError') return false;",
      },
    ],
  },
  {
    name: 'attacher-writes-error-over-detached',
    history: 'b79a1e30',
    effect: 'An error of a detach is written onto an attachment that is detached and attached again.',
    edits: [
      {
        file: 'packages/attacher/src/attach/steps.ts',
        find: 'return !memory.publications.has(key) && !isAttached(known) && !finalizersOf(known).includes(finalizer);',
        replace: 'return false;',
      },
    ],
  },
  {
    name: 'attacher-publishes-unmarked',
    history: 'made up: A11 of the attacher’s page',
    effect: 'A volume is published before its attachment has the finalizer.',
    edits: [
      {
        file: 'packages/attacher/src/attach/flow.ts',
        find: '  if (!isMarked(now.attachment, nodeId, context)) {',
        replace: '  if (false && !isMarked(now.attachment, nodeId, context)) {',
      },
    ],
  },
  {
    name: 'attacher-takes-404-for-gone',
    history: '47ddff6a',
    effect: 'A 404 for an attachment that is there makes the attacher forget it.',
    edits: [
      {
        file: 'packages/attacher/src/ignore-gone.ts',
        find: '  if (found !== undefined && found.metadata?.uid === uid) throw refusal;',
        replace: '  void found;\n  void uid;',
      },
    ],
  },
  {
    name: 'attacher-adds-no-finalizer-to-volumes',
    history: 'made up: A6 of the attacher’s page',
    effect: 'A PersistentVolume can go while it is attached, and its detach then has no handle.',
    edits: [
      {
        file: 'packages/attacher/src/attach/flow.ts',
        find: '  if (volume.metadata?.finalizers?.includes(finalizer) === true) return volume;',
        replace:
          '  if (volume.metadata?.finalizers?.includes(finalizer) !== undefined || finalizer.length > 0) return volume;',
      },
    ],
  },
  {
    name: 'attacher-writes-error-after-detach',
    history: 'found by a story: 178ac20c',
    effect: 'After a detach in a forced run, an error is written onto the detached attachment.',
    edits: [
      {
        file: 'packages/attacher/src/attach/steps.ts',
        find: '    run.context.runs.noteUnpublished(run.key);\n',
        replace: '',
      },
    ],
  },
];
