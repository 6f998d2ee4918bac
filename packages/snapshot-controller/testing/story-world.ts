// SPDX-License-Identifier: Apache-2.0
/**
 * The cluster in which a random story happens: users, an administrator and csi-snapshotter act on it, and the controller dies and is started
 * again. The controller sees what they did when the time advances.
 */
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import {
  contentNameOf,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { isMarked, singleMark } from '../src/content-mark.ts';
import {
  aClaim,
  aClass,
  aDefaultClass,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  aVolume,
  withoutClass,
} from './builders.ts';
import { aController, type Fixture } from './controller-fixture.ts';

export interface PlannedSnapshot {
  readonly name: string;
  readonly uid: string;
  /** The claim; of a static snapshot, an administrator makes the content. */
  readonly source: 'data' | 'data2' | 'static';
  /** Undefined: the default class. */
  readonly className: 'gold' | 'retain' | undefined;
  readonly policy: 'Delete' | 'Retain';
  readonly isDeleted: boolean;
}

export type Report = 'failed' | 'cut' | 'ready';

export interface StoryWorld {
  readonly objects: Fixture['server']['objects'];
  readonly faults: FaultRule[];
  /** Snapshots in the storage, by the names of their contents. */
  readonly stored: ReadonlySet<string>;
  /** Snapshots whose content vanished, and whether they had been cut by then. */
  readonly vanished: ReadonlyMap<string, 'cut' | 'uncut'>;
  /** Snapshots that were ready, and were not any more after a write, although their content was there. */
  readonly flaps: ReadonlySet<string>;
  /** The process that runs now. */
  process(): Fixture;
  snapshot(plan: PlannedSnapshot): VolumeSnapshot | undefined;
  content(plan: PlannedSnapshot): VolumeSnapshotContent | undefined;
  /** Creates the snapshot as soon as its name is free. */
  create(plan: PlannedSnapshot): void;
  /** As an administrator: the content of a static snapshot. */
  createContent(plan: PlannedSnapshot): void;
  /** A snapshot that was not created yet is not created any more. */
  deleteSnapshot(plan: PlannedSnapshot): void;
  /**
   * As a user: the content waits for its snapshot. A content without our finalizer is left alone, because it would be gone at once, and its
   * snapshot in the storage would stay.
   */
  deleteContent(plan: PlannedSnapshot): void;
  /** By force, together with the snapshot in the storage. */
  vanishContent(plan: PlannedSnapshot): void;
  touch(plan: PlannedSnapshot): void;
  /** csi-snapshotter lets go of what is deleted, and reports on the contents that are not ready yet. */
  sidecar(report: Report): void;
  /** The process has a crash point before and after each write. It dies at the one that follows so many others. */
  crashAfter(points: number): void;
  /** Starts the next process. */
  restart(): Promise<void>;
  advance(ms: number): Promise<void>;
}

export function contentNameFor({ source, uid }: PlannedSnapshot): string {
  return source === 'static' ? `content-${uid}` : contentNameOf(uid);
}

const cut = { creationTime: 1_700_000_000_123_456_789n, restoreSize: 0, snapshotHandle: 'handle' };
const reported = {
  failed: { readyToUse: false, error: { message: 'no space', time: '2026-01-01T00:00:00Z' } },
  cut: { ...cut, readyToUse: false },
  ready: { ...cut, restoreSize: 9_007_199_254_740_993n, readyToUse: true },
} as const satisfies Record<Report, VolumeSnapshotContent['status']>;

export async function aStoryWorld(faults: readonly FaultRule[]): Promise<StoryWorld> {
  const other = aClaim({ name: 'data2', spec: { volumeName: 'pv2' } });
  const waiting = new Set<PlannedSnapshot>();
  const stored = new Set<string>();
  const vanished = new Map<string, 'cut' | 'uncut'>();
  const ready = new Set<string>();
  const flaps = new Set<string>();
  let pointsLeft = Infinity;

  const noteReadiness = (): void => {
    for (const { metadata, status } of objects.list(volumeSnapshots)) {
      const { uid = '' } = metadata ?? {};
      if (status?.readyToUse === true) ready.add(uid);
      else if (ready.has(uid) && !vanished.has(uid)) flaps.add(uid);
    }
  };
  const interrupt = (_operation: string, moment: 'before' | 'after'): 'crash' | undefined => {
    if (moment === 'after') noteReadiness();
    return pointsLeft-- === 0 ? 'crash' : undefined;
  };
  let process = await aController({
    seed: [
      aClaim(),
      aVolume(),
      other,
      aVolume({ name: 'pv2', claim: other, handle: 'handle-2' }),
      aClass(),
      aDefaultClass('usual'),
      aClass('retain', { deletionPolicy: 'Retain' }),
    ],
    faults,
    interrupt,
  });
  const { objects } = process.server;

  const refOf = ({ name }: PlannedSnapshot) => ({ namespace: 'team', name });
  const contentRefOf = (plan: PlannedSnapshot) => ({ name: contentNameFor(plan) });
  const snapshot: StoryWorld['snapshot'] = (plan) => {
    const found = objects.get(volumeSnapshots, refOf(plan));
    return found?.metadata?.uid === plan.uid ? found : undefined;
  };
  const content: StoryWorld['content'] = (plan) => objects.get(volumeSnapshotContents, contentRefOf(plan));
  const createWaiting = (): void => {
    for (const plan of waiting) {
      if (objects.get(volumeSnapshots, refOf(plan)) !== undefined) continue;
      objects.seed(toSnapshot(plan));
      waiting.delete(plan);
    }
  };
  const letGo = ({ metadata, spec }: VolumeSnapshotContent): void => {
    const { name = '', finalizers = [] } = metadata ?? {};
    if (spec?.deletionPolicy === 'Delete') stored.delete(name);
    const kept = finalizers.filter((each) => each !== snapshotFinalizers.content);
    if (kept.length === 0) objects.remove(volumeSnapshotContents, { name });
    else
      objects.change(volumeSnapshotContents, { name }, (it) => ({
        ...it,
        metadata: { ...it.metadata, finalizers: kept },
      }));
  };
  const reportOn = ({ metadata, status }: VolumeSnapshotContent, report: Report): void => {
    const { name = '' } = metadata ?? {};
    if (report !== 'failed') stored.add(name);
    const { error: _, ...known } = status ?? {};
    objects.change(volumeSnapshotContents, { name }, (it) => ({ ...it, status: { ...known, ...reported[report] } }));
  };

  return {
    objects,
    faults: process.faults,
    stored,
    vanished,
    flaps,
    process: () => process,
    snapshot,
    content,
    create: (plan) => void waiting.add(plan),
    createContent(plan) {
      stored.add(contentNameFor(plan));
      const volumeSnapshotRef = { name: plan.name, namespace: 'team' };
      objects.seed(aStaticContent({ ...contentRefOf(plan), spec: { volumeSnapshotRef, deletionPolicy: plan.policy } }));
    },
    deleteSnapshot(plan) {
      waiting.delete(plan);
      if (snapshot(plan) !== undefined) objects.delete(volumeSnapshots, refOf(plan));
    },
    deleteContent(plan) {
      const isProtected = content(plan)?.metadata?.finalizers?.includes(snapshotFinalizers.content) === true;
      if (isProtected) objects.delete(volumeSnapshotContents, contentRefOf(plan));
    },
    vanishContent(plan) {
      if (content(plan) === undefined) return;
      const { creationTime, readyToUse } = snapshot(plan)?.status ?? {};
      vanished.set(plan.uid, creationTime !== undefined || readyToUse === true ? 'cut' : 'uncut');
      stored.delete(contentNameFor(plan));
      objects.remove(volumeSnapshotContents, contentRefOf(plan));
    },
    touch(plan) {
      if (snapshot(plan) === undefined) return;
      const labels = { touched: 'yes' };
      objects.change(volumeSnapshots, refOf(plan), (it) => ({ ...it, metadata: { ...it.metadata, labels } }));
    },
    sidecar(report) {
      for (const each of objects.list(volumeSnapshotContents)) {
        const { metadata, spec, status } = each;
        if (metadata?.deletionTimestamp !== undefined) {
          if (isMarked(each, singleMark)) letGo(each);
        } else if ((spec?.volumeSnapshotRef?.uid ?? '') !== '' && status?.readyToUse !== true) reportOn(each, report);
      }
    },
    crashAfter: (points) => void (pointsLeft = points),
    async restart() {
      pointsLeft = Infinity;
      process = await aController({ cluster: process.crash(), interrupt });
    },
    async advance(ms) {
      createWaiting();
      await process.settle();
      await process.clock.advance(ms);
      await process.settle();
    },
  };
}

function toSnapshot({ name, uid, source, className }: PlannedSnapshot): VolumeSnapshot {
  if (source === 'static')
    return aStaticSnapshot({ name, uid, spec: { source: { volumeSnapshotContentName: `content-${uid}` } } });
  const snapshot = aSnapshot({ name, uid, spec: { source: { persistentVolumeClaimName: source } } });
  if (className === undefined) return withoutClass(snapshot);
  return { ...snapshot, spec: { ...snapshot.spec, volumeSnapshotClassName: className } };
}
