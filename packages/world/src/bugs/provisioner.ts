// SPDX-License-Identifier: Apache-2.0
/** Known defects of csi-provisioner, to be put back. */
import type { Bug } from './bug.ts';

export const provisioner: readonly Bug[] = [
  {
    name: 'provisioner-hides-loss-of-bound-record',
    history: 'found by a story, C64: only a record that was not Bound was reported',
    effect: 'A claim whose PersistentVolume is deleted between its phase and the claim stays Pending without an event.',
    edits: [
      {
        file: 'packages/provisioner/src/volume-store/outcome.ts',
        find: 'return isWaiting && record.metadata?.deletionTimestamp !== undefined;',
        replace:
          "return isWaiting && record.metadata?.deletionTimestamp !== undefined && record.status?.phase !== 'Bound';",
      },
    ],
  },
  {
    name: 'provisioner-learns-of-loss-by-resync',
    history: 'found by a story: the end of a record woke its claim, and its deletion did not',
    effect: 'The Warning comes up to 15 minutes late.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/loop.ts',
        find: 'if (change.current !== undefined && !isDeletedNow(change)) return undefined;',
        replace: 'if (change.current !== undefined) return undefined;',
      },
    ],
  },
  {
    name: 'provisioner-leaks-volume-of-deleted-claim',
    history: 'external-provisioner#486',
    effect: 'A claim that is deleted after CreateVolume timed out is forgotten, and its volume stays.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/known.ts',
        find: "return isAsked && s.presence === 'live' && !s.isProtected;",
        replace: 'return false && isAsked;',
      },
      {
        file: 'packages/provisioner/src/claim/loop.ts',
        find: 'memory.gone(uid, clock.monotonicMs());',
        replace: 'memory.delete(uid);',
      },
    ],
  },
  {
    name: 'provisioner-forgets-open-call',
    history: 'made up: a request is pinned before the call',
    effect: 'After an answer that leaves the outcome open nothing remembers that a volume may exist.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/volume-calls.ts',
        find: '  context.memory.set(memory);\n  const options =',
        replace: '  const options =',
      },
    ],
  },
  {
    name: 'provisioner-takes-any-code-as-final',
    history: '70c7036e, external-provisioner: Internal counts as final',
    effect: 'Internal after a timeout settles the claim, although the first call has made a volume.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/outcome.ts',
        find: "  Internal: 'inconclusive',",
        replace: "  Internal: 'final',",
      },
    ],
  },
  {
    name: 'provisioner-counts-dying-record',
    history: '9a27b39d and 031db9b4, external-provisioner#1469',
    effect: 'A PersistentVolume that is being deleted counts as the record of a live claim, which then waits for ever.',
    edits: [
      {
        file: 'packages/provisioner/src/volume-store/outcome.ts',
        find: '  return isWaiting && record.metadata?.deletionTimestamp !== undefined;',
        replace: '  return isWaiting && record.metadata === undefined;',
      },
      {
        file: 'packages/provisioner/src/claim/loop.ts',
        find: 'return uidOf(claim);',
        replace: 'return spec === undefined ? uidOf(claim) : undefined;',
      },
    ],
  },
  {
    name: 'provisioner-repeats-deletion',
    history: '9651cb27',
    effect: 'DeleteVolume is repeated for a PersistentVolume that is gone, whose handle may be in use again.',
    edits: [
      {
        file: 'packages/provisioner/src/volume/steps.ts',
        find: 'await deleteObject({ client, cache: volumes }, { resource: persistentVolumes, object: volume });',
        replace:
          'await deleteObject({ client, cache: { remember: () => undefined, doubt: () => undefined } }, { resource: persistentVolumes, object: volume });',
      },
    ],
  },
  {
    name: 'provisioner-deletes-attached-volume',
    history: 'external-provisioner before its feature gate of 2.0: no look at VolumeAttachments',
    effect: 'A volume is deleted while it is attached.',
    edits: [
      {
        file: 'packages/provisioner/src/volume/flow.ts',
        find: '  if (now.attachedTo !== undefined) {',
        replace: '  if (false && now.attachedTo !== undefined) {',
      },
    ],
  },
  {
    name: 'provisioner-drops-failed-save',
    history: '75115c68',
    effect: 'A PersistentVolume whose first POST failed is not sent again.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/steps.ts',
        find: "  context.saves.wake(pinned.plan.volumeName, 'rateLimited');\n",
        replace: '',
      },
    ],
  },
  {
    name: 'provisioner-leaves-its-finalizer',
    history: 'made up: C3 of the provisioner’s page',
    effect: 'The finalizer of a claim that was provisioned after a timeout stays, and the claim with it.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/flow.ts',
        find: "    if (!(yield* unprotect(s, 'C3'))) return retryWrite('C3', s, 'remove');",
        replace: "    return conclude('C3', done);",
      },
    ],
  },
  {
    name: 'provisioner-leaves-finalizer-on-snapshot',
    history: 'external-provisioner#1507',
    effect:
      'The finalizer on the source of a restore stays, and the snapshot with it, unless the restore succeeds in one process.',
    edits: [
      {
        file: 'packages/provisioner/src/source/protection/loop.ts',
        find: '  return isInInitialList || isResync(change) || (',
        replace: '  return (isInInitialList || isResync(change)) && isInInitialList !== isInInitialList || false && (',
      },
      {
        file: 'packages/provisioner/src/source/protection/loop.ts',
        find: '        if (previous === undefined) return undefined;\n        const key',
        replace: '        if (previous === undefined || previous !== undefined) return undefined;\n        const key',
      },
      {
        file: 'packages/provisioner/src/source/references.ts',
        find: '    release: (claim, last) => {\n',
        replace: "    release: (claim, last) => {\n      if (last === 'failed') return;\n",
      },
    ],
  },
  {
    name: 'provisioner-releases-live-claim-of-absent-node',
    history: 'e9232fed',
    effect:
      'Node deployment: a Node that is away for a moment costs its claim the finalizer, and another instance makes a second volume.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/node.ts',
        find: "    if (leftMs > 0) return conclude('C57', requeueAfter(Math.min(leftMs, lookEveryMs(node))));\n",
        replace: '    void leftMs;\n    void goneForMs;\n',
      },
      {
        file: 'packages/provisioner/src/claim/node.ts',
        find: '  if (!isKept) return yield* giveUpOther(s, messages.instanceGone(facts, instance));',
        replace: '  if (node !== undefined) return yield* giveUpOther(s, messages.instanceGone(facts, instance));',
      },
    ],
  },
  {
    name: 'provisioner-provisions-gone-claim',
    history: 'found by a story: a 404 was not remembered',
    effect:
      'CreateVolume is called for a claim that an old cache shows, although a write has just found that it is gone.',
    edits: [
      {
        file: 'packages/runtime/src/api/write-object.ts',
        find: "if (isNotFound(error)) cache.doubt(object, 'notFound');\n    else if",
        replace: 'if',
      },
    ],
  },
  {
    name: 'provisioner-ends-no-wait-for-clone',
    history: 'made up after the invariants: the end of a clone wakes its source',
    effect: 'A deleted claim that was cloned stays until the resync.',
    edits: [
      {
        file: 'packages/provisioner/src/source/protection/loop.ts',
        find: "[dyingNow(change), ended && keyOfSource(ended, 'claim')]",
        replace: "[dyingNow(change), ended && false ? keyOfSource(ended, 'claim') : undefined]",
      },
    ],
  },
  {
    name: 'provisioner-misses-late-selection',
    history: 'found by a story: P11',
    effect:
      'Node deployment: the finalizer goes although another node was selected during the call, whose instance then calls as well.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/observe.ts',
        find: '  return { claim: latest };',
        replace: '  return {};',
      },
      {
        file: 'packages/provisioner/src/claim/flow.ts',
        find: "if (isFirst && s.volume.kind === 'elsewhere') return yield* finishSettled(s, stop('C10'));",
        replace: '',
      },
    ],
  },
  {
    name: 'provisioner-sweeps-nothing-after-outage',
    history: 'found by a story: 430a77f0',
    effect:
      'A process that starts while the API server is away never releases the snapshots that an earlier one protected.',
    edits: [
      {
        file: 'packages/provisioner/src/source/protection/sweeps-snapshots.ts',
        find: "if (served === 'absent') {",
        replace: "if (served !== 'served') {",
      },
    ],
  },
];
