// SPDX-License-Identifier: Apache-2.0
/** Watches the snapshots of one test bed and their contents, and records the times of changes (monotonic milliseconds of this process). */
import { volumeSnapshotContents, volumeSnapshots, type VolumeSnapshot } from '@csi-sidecars/volume';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { anInformer, watching, type Watching } from '../side-by-side/watching.ts';

export interface SnapshotWatch extends Watching {
  /** By snapshot. */
  readonly readyAtMs: ReadonlyMap<string, number>;
  /** By snapshot: neither it nor its content exists any more. */
  readonly goneAtMs: ReadonlyMap<string, number>;
  untilReady(names: readonly string[]): Promise<void>;
  untilGone(names: readonly string[]): Promise<void>;
}

export async function watchSnapshots({ cluster, namespace }: TestBed): Promise<SnapshotWatch> {
  const { clock } = cluster;
  const snapshots = anInformer(cluster, volumeSnapshots, namespace);
  const contents = anInformer(cluster, volumeSnapshotContents);
  const readyAtMs = new Map<string, number>();
  const goneAtMs = new Map<string, number>();
  const halfGone = new Set<string>();

  const see = ({ metadata, status }: VolumeSnapshot): void => {
    const name = metadata?.name ?? '';
    if (status?.readyToUse === true && !readyAtMs.has(name)) readyAtMs.set(name, clock.monotonicMs());
  };
  const lose = (name: string): void => {
    if (halfGone.has(name)) goneAtMs.set(name, clock.monotonicMs());
    else halfGone.add(name);
  };
  snapshots.addHandler({
    add: see,
    update: (_previous, snapshot) => see(snapshot),
    delete: ({ object }) => lose(object.metadata?.name ?? ''),
  });
  contents.addHandler({
    delete: ({ object: { spec } }) => {
      const snapshot = spec?.volumeSnapshotRef;
      if (snapshot?.namespace === namespace) lose(snapshot.name ?? '');
    },
  });

  const watch = await watching(cluster, [snapshots, contents]);
  const untilAllIn = (what: string, times: ReadonlyMap<string, number>, names: readonly string[]): Promise<void> =>
    watch.until(what, () => names.every((name) => times.has(name)));
  return {
    ...watch,
    readyAtMs,
    goneAtMs,
    untilReady: (names) => untilAllIn(`${names.length} snapshots are ready`, readyAtMs, names),
    untilGone: (names) => untilAllIn(`${names.length} snapshots are gone`, goneAtMs, names),
  };
}
