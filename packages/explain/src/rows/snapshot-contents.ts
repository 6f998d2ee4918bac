// SPDX-License-Identifier: Apache-2.0
/** Rows X103 to X105, X84 and X85: what csi-snapshotter does with a content. Groups are followed in the same way. */
import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { codeIn, retryOf } from '../facts/events.ts';
import { nameOf, objectName, timeOf } from '../facts/objects.ts';
import type { Failure, Risk, Verdict } from '../verdict.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  getYaml,
  recordedFailure,
  sinceCreated,
  sinceDeleted,
  verdictOf,
} from './context.ts';

export type Snapshot = VolumeSnapshot | VolumeGroupSnapshot;

export type Content = VolumeSnapshotContent | VolumeGroupSnapshotContent;

/** What single snapshots and groups differ in. */
export interface SnapshotKind {
  readonly kind: 'VolumeSnapshot' | 'VolumeGroupSnapshot';
  readonly plural: string;
  readonly contentKind: string;
  readonly contentPlural: string;
  readonly prefix: '' | 'Group';
}

export const single: SnapshotKind = {
  kind: 'VolumeSnapshot',
  plural: 'volumesnapshot',
  contentKind: 'VolumeSnapshotContent',
  contentPlural: 'volumesnapshotcontent',
  prefix: '',
};

export function statusFailure({ kind }: SnapshotKind, object: Snapshot | Content): Failure | undefined {
  const { error } = object.status ?? {};
  if (error === undefined) return undefined;
  const text = error.message ?? '';
  return {
    text,
    code: codeIn(text),
    atMs: timeOf(error.time),
    firstMs: undefined,
    count: 1,
    reason: undefined,
    source: undefined,
    object: objectName(kind, object),
  };
}

/** A content by itself: rows X103 to X105, or X108. */
export function contentVerdict(content: Content, of: SnapshotKind = single, recorded?: Failure): Verdict {
  const { status } = content;
  const next = describe(of.contentPlural, nameOf(content));
  const since = sinceCreated(content);
  const failure =
    status?.error === undefined
      ? undefined
      : (recorded ?? statusFailure({ ...of, kind: of.contentKind as SnapshotKind['kind'] }, content));
  if (failure !== undefined) {
    const isFinal = failure.count >= 10 || finalCodes.has(failure.code);
    return verdictOf(
      ['X104', isFinal ? 4 : 3, isFinal ? 'administrator' : 'driver', 'create'],
      `the driver cannot take the snapshot${isFinal ? ', and says that it will not' : ''}`,
      {
        failure,
        since,
        next,
        retry: retryOf(failure),
        changes: isFinal ? [change('what the message names in the storage system, or the class')] : [],
      },
    );
  }
  if (status?.readyToUse === true) return verdictOf(['X108', 0, 'nobody', undefined], 'the content is ready');
  const hasHandle = status !== undefined && ('snapshotHandle' in status || 'volumeGroupSnapshotHandle' in status);
  if (hasHandle) {
    return verdictOf(
      ['X105', 3, 'storage', 'ready'],
      'the storage system still works on the snapshot (row C25 of csi-snapshotter)',
      { since, next, retry: byItself('csi-snapshotter looks again') },
    );
  }
  return verdictOf(['X103', 3, 'csi-snapshotter', 'create'], 'csi-snapshotter has not reported anything yet', {
    since,
    next,
    retry: byItself('csi-snapshotter goes on by itself'),
  });
}

export const finalCodes: ReadonlySet<number | undefined> = new Set([3, 5, 7, 9, 11, 12, 16]);

/** Rows X84 and X85: a content that is being deleted. */
export async function deletedContent(context: Context, content: Content, of: SnapshotKind = single): Promise<Verdict> {
  const since = sinceDeleted(content);
  const next = getYaml(of.contentPlural, nameOf(content));
  const policy = content.spec?.deletionPolicy ?? 'Retain';
  const risk: Risk =
    policy === 'Delete'
      ? {
          level: 'certain',
          of: 'leak',
          ifYou: 'removeFinalizer',
          sentence: 'Removing the finalizer leaves the snapshot in the backend',
        }
      : { level: 'none', of: undefined, ifYou: undefined, sentence: 'none' };
  if (policy === 'Retain') {
    return verdictOf(
      ['X85', 3, 'csi-snapshotter', 'finalizer'],
      'the policy keeps the snapshot: csi-snapshotter takes the finalizer off (row C7 of csi-snapshotter)',
      { since, risk, next, retry: byItself('csi-snapshotter goes on by itself') },
    );
  }
  const failure = await recordedFailure(context, objectName(of.contentKind, content), [
    'SnapshotDeleteError',
    'GroupSnapshotDeleteError',
  ]);
  const isLong = (failure?.count ?? 0) >= 10;
  const sentence =
    failure === undefined
      ? 'csi-snapshotter deletes the snapshot (rows C4, C5 and C12 of csi-snapshotter)'
      : `DeleteSnapshot has failed ${failure.count === 1 ? 'once' : `${failure.count} times`} (row C5 of csi-snapshotter)`;
  return verdictOf(
    ['X84', isLong ? 4 : 3, failure === undefined ? 'csi-snapshotter' : isLong ? 'administrator' : 'driver', 'delete'],
    sentence,
    {
      since,
      risk,
      next,
      failure,
      retry: failure === undefined ? byItself('csi-snapshotter goes on by itself') : retryOf(failure),
      changes: isLong ? [change('what the message names in the storage system')] : [],
    },
  );
}

/** A snapshot and what is known of its content. */
export interface Followed {
  readonly of: SnapshotKind;
  readonly snapshot: Snapshot;
  readonly content: Content | undefined;
  readonly isContentKnown: boolean;
}
