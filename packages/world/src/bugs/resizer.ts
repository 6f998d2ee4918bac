// SPDX-License-Identifier: Apache-2.0
/** Known defects of csi-resizer, to be put back. */
import type { Bug } from './bug.ts';

export const resizer: readonly Bug[] = [
  {
    name: 'resizer-undoes-what-kubelet-finished',
    history: '4a8a79c6',
    effect: 'NodeResizePending is written over a claim that kubelet has finished, which can never grow again.',
    edits: [
      {
        file: 'packages/resizer/src/expand/steps.ts',
        find: '    isOvertaken = !isSameAttempt(claim, known, path);\n',
        replace: '    isOvertaken = false;\n',
      },
      {
        file: 'packages/resizer/src/expand/steps.ts',
        find: '    isOvertaken = hasNodeFinished(claim, known, { size, isLegacy });\n',
        replace: '',
      },
      {
        file: 'packages/resizer/src/expand/flow.ts',
        find: "  const marked = yield* orEnd(perform('E10'",
        replace: "  const marked = isRepeated && hasCondition(claim, 'Resizing') ? claim : yield* orEnd(perform('E10'",
      },
      {
        file: 'packages/resizer/src/write-claim.ts',
        find: 'context.ownWriteFilter.record(claimKey(claim), () => client.patch(...write)),\n  };\n  return { client: recording, clock, random, cache: caches.claims };',
        replace:
          'context.ownWriteFilter.record(claimKey(claim), () => { const [target, { type, body }, options] = write as any; return client.patch(target, { type, body: { ...body, metadata: { ...body.metadata, resourceVersion: undefined } } }, options); }),\n  };\n  return { client: recording, clock, random, cache: { remember: (object) => caches.claims.remember(object), doubt: () => undefined } };',
      },
    ],
  },
  {
    name: 'resizer-calls-another-size',
    history: 'ba843eed',
    effect: 'A smaller size is called while the call of a larger one may be in flight.',
    edits: [
      {
        file: 'packages/resizer/src/expand/steps.ts',
        find: "  const begins = status === 'new' || (status === 'same' && !isUnderWay(claim));",
        replace: "  const begins = status === 'new' || (status === 'same' && isUnderWay(claim) && !isUnderWay(claim));",
      },
    ],
  },
  {
    name: 'resizer-forgets-open-call',
    history: 'external-resizer before recovery from failed expansion',
    effect: 'After a timeout the size that the user wants by now is called, whatever the driver is doing.',
    edits: [
      {
        file: 'packages/resizer/src/expand/target.ts',
        find: "      return { row: 'S4', kind: 'expand', size: isFinal ? requested : allocated };",
        replace: "      return { row: 'S4', kind: 'expand', size: isFinal ? requested : requested };",
      },
    ],
  },
  {
    name: 'resizer-shrinks-persistent-volume',
    history: '4a8a79c6',
    effect: 'The size in the PersistentVolume falls back to what an older call answered.',
    edits: [
      {
        file: 'packages/resizer/src/expand/steps.ts',
        find: '    if (!isSame(capacity, capacityOfVolume(volume)) && !isLess(capacity, size)) return undefined;\n',
        replace: '    void capacity;\n',
      },
      {
        file: 'packages/resizer/src/write-volume.ts',
        find: 'client: { patch: (...write) => client.patch(...write),',
        replace:
          'client: { patch: (target, { type, body }: any, options) => client.patch(target, { type, body: { ...body, metadata: { ...body.metadata, resourceVersion: undefined } } }, options),',
      },
    ],
  },
  {
    name: 'resizer-misses-growth-during-call',
    history: 'made up: E24 of the resizer’s page',
    effect: 'A size that was asked for while an older one was under way is never called.',
    edits: [
      {
        file: 'packages/resizer/src/expand/flow.ts',
        find: '  return conclude(row, isEnough ? done : requeueAfter(0), messages.finished);',
        replace: '  return conclude(row, isEnough ? done : done, messages.finished);',
      },
    ],
  },
  {
    name: 'resizer-calls-before-mark',
    history: 'made up: E10 of the resizer’s page',
    effect: 'ControllerExpandVolume is called before the claim says so.',
    edits: [
      {
        file: 'packages/resizer/src/expand/flow.ts',
        find: "  const marked = yield* orEnd(perform('E10'",
        replace: "  const marked = (true as boolean) ? claim : yield* orEnd(perform('E10'",
      },
    ],
  },
  {
    name: 'resizer-takes-own-write-for-foreign',
    history: 'aabc28ba and 2443449b',
    effect: 'The watch brings an own write of an error back, which starts the next attempt at once.',
    edits: [
      {
        file: 'packages/resizer/src/own-write-filter.ts',
        find: '    return isWritten === true && whatOthersWrite(previous) === whatOthersWrite(current);',
        replace: '    return false && isWritten === true;',
      },
    ],
  },
  {
    name: 'resizer-forgets-node-expansion',
    history: 'made up after the invariants: the driver asks for an expansion on the node',
    effect: 'A claim shows the new size although its node was never asked to grow the file system.',
    edits: [
      {
        file: 'packages/resizer/src/expand/steps.ts',
        find: 'return { size, needsNode: answer.node_expansion_required };',
        replace: 'return { size, needsNode: false };',
      },
    ],
  },
];
