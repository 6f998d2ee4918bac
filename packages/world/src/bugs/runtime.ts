// SPDX-License-Identifier: Apache-2.0
/** Known defects of the runtime, to be put back. */
import type { Bug } from './bug.ts';

export const runtime: readonly Bug[] = [
  {
    name: 'runtime-unguarded-change',
    history: 'made up: changes carry the resource version',
    effect: 'A list of finalizers is patched as a whole from an old copy.',
    edits: [
      {
        file: 'packages/runtime/src/api/change-object.ts',
        find: 'const metadata = { ...body.metadata, uid, resourceVersion };',
        replace: 'const metadata = { ...body.metadata, uid, ...(resourceVersion === undefined ? {} : {}) };',
      },
    ],
  },
  {
    name: 'runtime-relist-misses-deletions',
    history: 'made up: an informer after 410 Gone',
    effect: 'Objects that were deleted between two lists stay in the cache.',
    edits: [
      {
        file: 'packages/runtime/src/informer/difference.ts',
        find: '    if (current === undefined || !isSameObject(previous, current)) deleted.push([key, previous]);',
        replace: '    if (current !== undefined && !isSameObject(previous, current)) deleted.push([key, previous]);',
      },
    ],
  },
  {
    name: 'runtime-relist-notifies-nothing',
    history: 'made up: an informer after 410 Gone',
    effect: 'What changed between two lists is in the cache, and no handler is called.',
    edits: [
      {
        file: 'packages/runtime/src/informer/content.ts',
        find: '      notifyChange(previous, current);\n      await budget.spend();',
        replace: '      if (!hasSynced) notifyChange(previous, current);\n      await budget.spend();',
      },
    ],
  },
  {
    name: 'runtime-queue-runs-key-twice',
    history: 'made up: one worker for each key',
    effect: 'A key that is added while it is worked on is handed to a second worker.',
    edits: [
      {
        file: 'packages/runtime/src/workqueue/keyed-queue.ts',
        find: '    const run = this.#processing.get(key);\n    if (run === undefined) {\n',
        replace: '    const run = this.#processing.get(key);\n    if (run === undefined || true) {\n',
      },
    ],
  },
  {
    name: 'runtime-queue-forgets-key',
    history: 'made up: no lost wake-up',
    effect: 'A key that is added while it is worked on is not worked on again.',
    edits: [
      {
        file: 'packages/runtime/src/workqueue/keyed-queue.ts',
        find: '      run.dirtyMs = this.#clock.monotonicMs();\n      this.#dirtyRuns += 1;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'runtime-lease-kept-too-long',
    history: 'made up: a leader that cannot renew stops',
    effect: 'A leader goes on for minutes after another one has taken its lease.',
    edits: [
      {
        file: 'packages/runtime/src/lease/leading.ts',
        find: '  return nowMs - renewedAtMs > config.leaseDurationMs;',
        replace: '  return nowMs - renewedAtMs > 100 * config.leaseDurationMs;',
      },
      {
        file: 'packages/runtime/src/lease/leading.ts',
        find: 'deadlineMs: Math.min(nowMs + config.renewDeadlineMs, renewedAtMs + config.leaseDurationMs),',
        replace: 'deadlineMs: nowMs + 10 * config.renewDeadlineMs + 0 * renewedAtMs,',
      },
    ],
  },
  {
    name: 'runtime-lease-released-during-work',
    history: 'made up: a lease is released after the work',
    effect: 'The lease is released while calls are in flight.',
    edits: [
      {
        file: 'packages/runtime/src/controller/workers.ts',
        find: '    await pool.onIdle();\n',
        replace: '',
      },
    ],
  },
  {
    name: 'runtime-lost-write-is-certain',
    history: '8b1d1d69',
    effect: 'After a write without an answer the cache counts as current.',
    edits: [
      {
        file: 'packages/runtime/src/api/write-object.ts',
        find: 'else if (mayHaveHappened(error)) cache.doubt(object);',
        replace: '',
      },
    ],
  },
  {
    name: 'runtime-5xx-is-certain',
    history: 'cb0e7c52',
    effect: 'A write that was answered with 504 counts as one that has not happened.',
    edits: [
      {
        file: 'packages/runtime/src/api/may-have-happened.ts',
        find: 'return error.status < 400 || error.status >= 500 || error.status === 408;',
        replace: 'return error.status < 400 || error.status === 408;',
      },
    ],
  },
  {
    name: 'runtime-own-writes-unseen',
    history: 'made up: a cache shows own writes at once',
    effect: 'The next run works on what was there before the own write.',
    edits: [
      {
        file: 'packages/runtime/src/api/write-object.ts',
        find: '    cache.remember(stored ?? atItsEnd(object));\n',
        replace: '    void atItsEnd;\n',
      },
    ],
  },
  {
    name: 'runtime-retry-forgotten',
    history: 'made up: a failed run is repeated',
    effect: 'A run that failed is not repeated.',
    edits: [
      {
        file: 'packages/runtime/src/controller/workers.ts',
        find: "      case 'retry':\n        queue.addRateLimited(key);\n",
        replace: "      case 'retry':\n",
      },
    ],
  },
  {
    name: 'runtime-lease-taken-without-version',
    history: 'made up after the invariants: a Lease is written with its resource version',
    effect: 'Two candidates take a Lease that has expired, and both lead.',
    edits: [
      {
        file: 'packages/runtime/src/lease/lease-client.ts',
        find: 'return client.update(leases, request.lease, options);',
        replace:
          "return client.patch({ resource: leases, ref: { namespace, name } }, { type: 'merge', body: { spec: request.lease.spec } }, options);",
      },
    ],
  },
  {
    name: 'runtime-expired-watch-goes-on',
    history: 'made up after the invariants: 410 Expired is followed by a list',
    effect: 'After a compaction an informer asks for the same version for ever.',
    edits: [
      {
        file: 'packages/runtime/src/informer/reflector/refusal.ts',
        find: "  if (isExpired(error)) return 'expired';",
        replace: "  if (isExpired(error)) return 'busy';",
      },
    ],
  },
  {
    name: 'runtime-writes-after-lost-lease',
    history: 'found by a story: 7443d4b0',
    effect: 'A leader that has stood still for longer than its lease finishes the writes that it was about to make.',
    edits: [
      {
        file: 'packages/runtime/src/program/with-caches.ts',
        find: 'fenced(deps.client, () => gate.held)',
        replace: 'fenced(deps.client, () => true)',
      },
    ],
  },
];
