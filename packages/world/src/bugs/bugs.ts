// SPDX-License-Identifier: Apache-2.0
/**
 * Defects that the code once had, or that upstream has, as edits that put them back. The world is worth what it finds of them; the table of
 * how many seeds each took is in docs/world.md.
 */

export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface Bug {
  readonly name: string;
  /** Where it comes from: a commit that mended it, an issue of upstream, or that it was made up. */
  readonly history: string;
  readonly effect: string;
  readonly edits: readonly Edit[];
}

const provisioner: readonly Bug[] = [
  {
    name: 'provisioner-hides-loss-of-bound-record',
    history: 'found by a story, C64: only a record that was not Bound was reported',
    effect: 'A claim whose PersistentVolume is deleted between its phase and the claim stays Pending without an event.',
    edits: [
      {
        file: 'packages/provisioner/src/saving/outcome.ts',
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
    name: 'provisioner-deletes-what-old-list-shows',
    history: 'upstream: the first list is at version 0',
    effect: 'A new leader calls DeleteVolume for a PersistentVolume that the leader before has deleted.',
    edits: [{ file: 'packages/provisioner/src/watched.ts', find: "    firstList: 'current',\n", replace: '' }],
  },
  {
    name: 'provisioner-leaks-volume-of-deleted-claim',
    history: 'external-provisioner#486',
    effect: 'A claim that is deleted after CreateVolume timed out is forgotten, and its volume stays.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/protection.ts',
        find: "return isWanted && s.presence === 'live' && !s.isProtected;",
        replace: 'return false && isWanted;',
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
        find: '  deps.memory.set(memory);\n  const { timeoutMs } = deps.settings;',
        replace: '  const { timeoutMs } = deps.settings;',
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
        file: 'packages/provisioner/src/saving/outcome.ts',
        find: '  return isWaiting && record.metadata?.deletionTimestamp !== undefined;',
        replace: '  return isWaiting && record.metadata === undefined;',
      },
      {
        file: 'packages/provisioner/src/claim/loop.ts',
        find: "return caches.claims.byIndex('uid', spec?.claimRef?.uid ?? '').map(uidOf);",
        replace: 'return spec === undefined ? [] : undefined;',
      },
    ],
  },
  {
    name: 'provisioner-repeats-deletion',
    history: '9651cb27',
    effect: 'DeleteVolume is repeated for a PersistentVolume that is gone, whose handle may be in use again.',
    edits: [
      {
        file: 'packages/provisioner/src/volume/perform.ts',
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
        file: 'packages/provisioner/src/volume/decide.ts',
        find: '  if (s.attachedTo !== undefined) {',
        replace: '  if (false && s.attachedTo !== undefined) {',
      },
    ],
  },
  {
    name: 'provisioner-drops-failed-save',
    history: '75115c68',
    effect: 'A PersistentVolume whose first POST failed is not sent again.',
    edits: [
      {
        file: 'packages/provisioner/src/claim/perform.ts',
        find: "  deps.saves.wake(pinned.plan.volumeName, 'rateLimited');\n",
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
        file: 'packages/provisioner/src/claim/decide.ts',
        find: "    return s.unprotecting === 'untried' ? { row: 'C3', kind: 'unprotect' } : retryWrite('C3', s, 'remove');",
        replace: "    return conclude('C3', done);",
      },
    ],
  },
];

const attacher: readonly Bug[] = [
  {
    name: 'attacher-publishes-unconfirmed',
    history: 'ff96b3dd',
    effect: 'A process that has just started publishes for an attachment that is gone.',
    edits: [
      {
        file: 'packages/attacher/src/attach/observe.ts',
        find: 'isConfirmed: memory.confirmed.has(key) && memory.confirmed.get(key) === uid,',
        replace: 'isConfirmed: true,',
      },
    ],
  },
  {
    name: 'attacher-releases-attached-volume',
    history: '14b6ad93',
    effect: 'A process that has just started takes the finalizer off a PersistentVolume that is attached.',
    edits: [
      {
        file: 'packages/attacher/src/pv-finalizer/loop.ts',
        find: 'isConfirmed: memory.isConfirmed,',
        replace: 'isConfirmed: true,',
      },
    ],
  },
  {
    name: 'attacher-writes-error-over-success',
    history: 'b79a1e30',
    effect: 'An error is written onto an attachment that another process, or a write without an answer, has attached.',
    edits: [
      {
        file: 'packages/attacher/src/attach/write-attachment.ts',
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
        file: 'packages/attacher/src/attach/write-attachment.ts',
        find: '    return state.publication === undefined && !isAttached(known) && !finalizersOf(known).includes(context.finalizer);',
        replace: '    return false;',
      },
    ],
  },
  {
    name: 'attacher-publishes-unmarked',
    history: 'made up: A11 of the attacher’s page',
    effect: 'A volume is published before its attachment has the finalizer.',
    edits: [
      {
        file: 'packages/attacher/src/attach/decide.ts',
        find: "  if (!isMarked && s.marked === 'unasked') return { row: 'A11', kind: 'mark', attachment, nodeId };",
        replace: '  void isMarked;',
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
        file: 'packages/attacher/src/attach/decide.ts',
        find: "  if (hasFinalizer || s.volumeFinalizer === 'done') return undefined;",
        replace: "  if (hasFinalizer || s.volumeFinalizer !== 'never') return undefined;",
      },
    ],
  },
];

const resizer: readonly Bug[] = [
  {
    name: 'resizer-undoes-what-kubelet-finished',
    history: '4a8a79c6',
    effect: 'NodeResizePending is written over a claim that kubelet has finished, which can never grow again.',
    edits: [
      {
        file: 'packages/resizer/src/expand/write-claim-status.ts',
        find: '    isOvertaken = !isSameAttempt(claim, known, result.path);\n',
        replace: '    isOvertaken = false;\n',
      },
      {
        file: 'packages/resizer/src/expand/write-claim-status.ts',
        find: '    isOvertaken = hasNodeFinished(claim, known, result);\n',
        replace: '',
      },
      {
        file: 'packages/resizer/src/expand/decide.ts',
        find: "  if (s.marked === 'untried') return",
        replace: "  if (s.marked === 'untried' && !(isRepeated && hasCondition(claim, 'Resizing'))) return",
      },
      {
        file: 'packages/resizer/src/write-claim.ts',
        find: 'ownWrites.record(claimKey(claim), () => client.patch(...write)),\n  };\n  return { client: recording, clock, random, cache: claims };',
        replace:
          'ownWrites.record(claimKey(claim), () => { const [target, { type, body }, options] = write as any; return client.patch(target, { type, body: { ...body, metadata: { ...body.metadata, resourceVersion: undefined } } }, options); }),\n  };\n  return { client: recording, clock, random, cache: { remember: (object) => claims.remember(object), doubt: () => undefined } };',
      },
    ],
  },
  {
    name: 'resizer-calls-another-size',
    history: 'ba843eed',
    effect: 'A smaller size is called while the call of a larger one may be in flight.',
    edits: [
      {
        file: 'packages/resizer/src/expand/write-claim-status.ts',
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
    name: 'resizer-repeats-old-modification',
    history: 'b2282f52',
    effect:
      'A process that has just started asks for the class of a modification that has ended, and the volume falls back to it.',
    edits: [
      {
        file: 'packages/resizer/src/modify/decide.ts',
        find: "  if (s.confirmed === 'untried') return { row: 'M8', kind: 'confirm', claim };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'resizer-shrinks-persistent-volume',
    history: '4a8a79c6',
    effect: 'The size in the PersistentVolume falls back to what an older call answered.',
    edits: [
      {
        file: 'packages/resizer/src/expand/perform.ts',
        find: '    if (!isSame(capacity, capacityOfVolume(volume)) && !isLess(capacity, size)) return undefined;\n',
        replace: '    void capacity;\n',
      },
    ],
  },
  {
    name: 'resizer-misses-growth-during-call',
    history: 'made up: E24 of the resizer’s page',
    effect: 'A size that was asked for while an older one was under way is never called.',
    edits: [
      {
        file: 'packages/resizer/src/expand/decide-answer.ts',
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
        file: 'packages/resizer/src/expand/decide.ts',
        find: "  if (s.marked === 'untried') return { row: 'E10', kind: 'mark', claim, target, status };",
        replace: '  void status;',
      },
    ],
  },
  {
    name: 'resizer-takes-own-write-for-foreign',
    history: 'aabc28ba and 2443449b',
    effect: 'The watch brings an own write of an error back, which starts the next attempt at once.',
    edits: [
      {
        file: 'packages/resizer/src/own-writes.ts',
        find: '    return isWritten === true && whatOthersWrite(previous) === whatOthersWrite(current);',
        replace: '    return false && isWritten === true;',
      },
    ],
  },
];

const snapshotController: readonly Bug[] = [
  {
    name: 'snapshots-deleted-together-keep-claim',
    history: 'ab7880d8',
    effect: 'Of two snapshots that are deleted together each leaves the release of the claim to the other one.',
    edits: [
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
      {
        file: 'packages/snapshot-controller/src/snapshot/decide.ts',
        find: "    return confirm(s, 'S12', snapshot) ?? { row: 'S12', kind: 'protectClaim', claim };",
        replace: "    return { row: 'S12', kind: 'protectClaim', claim };",
      },
    ],
  },
  {
    name: 'content-for-gone-snapshot',
    history: '81720c8a',
    effect: 'A content is made for a snapshot that the cache shows and that is gone.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/snapshot/decide.ts',
        find: "  return confirm(s, 'S12', snapshot) ?? { row: 'S12', kind: 'createContent', snapshot, content: content.value };",
        replace: "  return { row: 'S12', kind: 'createContent', snapshot, content: content.value };",
      },
    ],
  },
  {
    name: 'lost-mark-wakes-nothing',
    history: '4df64906',
    effect: 'A content that another writer robs of its mark is not marked again, and stays.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/wakes.ts',
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
        file: 'packages/snapshot-controller/src/snapshot/perform.ts',
        find: 'return { claimReleased: await attempt(() => releases.during(key, run)) };',
        replace: 'return { claimReleased: await attempt(run) };',
      },
      {
        file: 'packages/snapshot-controller/src/snapshot/perform.ts',
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
        file: 'packages/snapshot-controller/src/snapshot/decide-deletion.ts',
        find: "  if (contentAsked !== 'unasked' || contentNameFor(snapshot) === '') return false;",
        replace: "  if (contentAsked !== 'never' || contentNameFor(snapshot) === '') return false;",
      },
    ],
  },
  {
    name: 'snapshot-goes-before-its-content',
    history: 'made up: D9 of the snapshot-controller’s page',
    effect: 'The finalizers of a snapshot go before its content is deleted.',
    edits: [
      {
        file: 'packages/snapshot-controller/src/snapshot/decide-deletion.ts',
        find: '  if (handled !== undefined) return handled;\n',
        replace:
          "  if (handled !== undefined && handled.kind !== 'markContent' && handled.kind !== 'deleteContent') return handled;\n",
      },
    ],
  },
];

const snapshotter: readonly Bug[] = [
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
        file: 'packages/snapshotter/src/decide-creation.ts',
        find: "  if (intent === 'untried' && state.confirmed === 'untried') return",
        replace: "  if (intent === 'done' && state.confirmed === 'done') return",
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
        file: 'packages/snapshotter/src/decide-creation.ts',
        find: "  return state.restored === 'untried' && !isFullyMarked",
        replace: "  return state.restored === 'done' && !isFullyMarked",
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
        file: 'packages/snapshotter/src/write-content.ts',
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
        file: 'packages/snapshotter/src/write-content.ts',
        find: '  if (isReady(current)) return undefined;\n  if (isFullyMarked',
        replace: '  if (isFullyMarked',
      },
    ],
  },
];

const runtime: readonly Bug[] = [
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
        find: '    if (mayHaveHappened(error)) cache.doubt(object);\n',
        replace: '    mayHaveHappened(error);\n',
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
];

export const bugs: readonly Bug[] = [
  ...provisioner,
  ...attacher,
  ...resizer,
  ...snapshotController,
  ...snapshotter,
  ...runtime,
];
