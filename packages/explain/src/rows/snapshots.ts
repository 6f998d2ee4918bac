// SPDX-License-Identifier: Apache-2.0
/** Rows X100 to X109, and X82 to X85 of snapshots that are being deleted. Groups are followed in the same way. */
import {
  type VolumeGroupSnapshot,
  volumeGroupSnapshotContents,
  type VolumeSnapshot,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { valueOf } from '../cluster/reader.ts';
import { retryOf } from '../facts/events.ts';
import { createdMs, isBeingDeleted, nameOf, objectName } from '../facts/objects.ts';
import type { Verdict } from '../verdict.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  recordedFailure,
  sinceCreated,
  sinceDeleted,
  verdictOf,
} from './context.ts';
import { foreignDriver, withoutSnapshotClass } from './snapshot-classes.ts';
import {
  contentVerdict,
  deletedContent,
  type Followed,
  single,
  type SnapshotKind,
  statusFailure,
} from './snapshot-contents.ts';

const group: SnapshotKind = {
  kind: 'VolumeGroupSnapshot',
  plural: 'volumegroupsnapshot',
  contentKind: 'VolumeGroupSnapshotContent',
  contentPlural: 'volumegroupsnapshotcontent',
  prefix: 'Group',
};

const startMs = 30_000;
const repaired = ['ContentMissing', 'ContentMisbound', 'ContentMismatch', 'Misbound'];
const withoutContent = [
  'SnapshotClassFailed',
  'DefaultSnapshotClassFailed',
  'SnapshotContentCreationFailed',
  'SnapshotValidationError',
  'SnapshotPVCSourceMissing',
  'GetSnapshotClassFailed',
  'SetDefaultSnapshotClassFailed',
  'GetGroupSnapshotClassFailed',
  'SetDefaultGroupSnapshotClassFailed',
  'GroupSnapshotContentCreationFailed',
  'GroupSnapshotPVCSourceMissing',
];

export async function snapshotVerdict(context: Context, snapshot: VolumeSnapshot): Promise<Verdict> {
  const name =
    snapshot.status?.boundVolumeSnapshotContentName ??
    snapshot.spec?.source?.volumeSnapshotContentName ??
    `snapcontent-${snapshot.metadata?.uid}`;
  const read = await context.reader.get(volumeSnapshotContents, { name }, 'what the driver has of it');
  return await followed(context, {
    of: single,
    snapshot,
    content: valueOf(read),
    isContentKnown: read.kind !== 'unknown',
  });
}

export async function groupVerdict(context: Context, snapshot: VolumeGroupSnapshot): Promise<Verdict> {
  const { reader } = context;
  const name =
    snapshot.status?.boundVolumeGroupSnapshotContentName ??
    snapshot.spec?.source?.volumeGroupSnapshotContentName ??
    `groupsnapcontent-${snapshot.metadata?.uid}`;
  const read = await reader.get(volumeGroupSnapshotContents, { name }, 'what the driver has of it');
  const own = await followed(context, {
    of: group,
    snapshot,
    content: valueOf(read),
    isContentKnown: read.kind !== 'unknown',
  });
  if (own.exit !== 0) return own;
  const members =
    valueOf(
      await reader.list(
        volumeSnapshots,
        {
          namespace: snapshot.metadata?.namespace,
          keep: (each) => (each.status?.volumeGroupSnapshotName === nameOf(snapshot) ? each : undefined),
        },
        'whether its members are ready',
      ),
    ) ?? [];
  for (const member of members) {
    if (member.status?.readyToUse === true) continue;
    const verdict = await snapshotVerdict(context, member);
    return {
      ...verdict,
      row: 'X109',
      stage: 'members',
      sentence: `member ${nameOf(member)} is not ready: ${verdict.sentence} (${verdict.row})`,
      related: [{ ...objectName('VolumeSnapshot', member), why: 'a member of the group' }],
    };
  }
  return own;
}

async function followed(context: Context, all: Followed): Promise<Verdict> {
  const { of, snapshot, content, isContentKnown } = all;
  const { reader } = context;
  const next = describe(of.plural, nameOf(snapshot), snapshot.metadata?.namespace);
  const since = sinceCreated(snapshot);
  if (isBeingDeleted(snapshot)) return await leaving(context, all);
  const { status } = snapshot;
  const failure =
    (await recordedFailure(context, objectName(of.kind, snapshot), problemReasons(of))) ?? statusFailure(of, snapshot);
  if (failure?.reason !== undefined && repaired.some((reason) => failure.reason?.endsWith(reason))) {
    return verdictOf(
      ['X106', 4, 'user', 'content'],
      'the snapshot and its content do not belong together: that is never repaired, a new snapshot has to be taken',
      {
        failure,
        since,
        next,
        changes: [
          change('take a new snapshot, or name the right content', objectName(of.kind, snapshot), 'spec.source'),
        ],
        retry: { will: 'no', because: 'it is never repaired' },
      },
    );
  }
  if (content === undefined) {
    if (!isContentKnown)
      return verdictOf(
        ['X101', 5, 'snapshot-controller', 'content'],
        'it is not known whether the snapshot has its content',
        { since, next },
      );
    const missing = await withoutSnapshotClass(context, all);
    if (missing !== undefined)
      return { ...missing, failure: failure ?? missing.failure, since: missing.since ?? since };
    if (failure !== undefined) {
      return verdictOf(['X102', 4, 'user', 'class'], 'no content can be made for the snapshot', {
        failure,
        since,
        next,
        changes: [change('what the message names')],
        retry: retryOf(failure),
      });
    }
    const ageMs = reader.nowMs() - (createdMs(snapshot) ?? reader.nowMs());
    const sentence = ageMs > startMs ? 'snapshot-controller has not begun' : 'snapshot-controller makes its content';
    return verdictOf(['X101', 3, 'snapshot-controller', 'content'], sentence, {
      since,
      next,
      retry: byItself('snapshot-controller goes on by itself'),
    });
  }
  const foreign = await foreignDriver(context, all, content);
  if (foreign !== undefined) return foreign;
  const inContent = contentVerdict(
    content,
    of,
    (await recordedFailure(context, objectName(of.contentKind, content), contentReasons)) ?? undefined,
  );
  if (inContent.exit !== 0) return inContent;
  if (status?.readyToUse !== true) {
    return verdictOf(
      ['X107', 3, 'snapshot-controller', 'status'],
      'its content is ready, and its status is not written yet',
      { since, next, retry: byItself('snapshot-controller goes on by itself') },
    );
  }
  return verdictOf(['X108', 0, 'nobody', undefined], 'the snapshot is ready');
}

function problemReasons({ prefix }: SnapshotKind): readonly string[] {
  const repairedReasons = repaired.map((reason) =>
    reason === 'Misbound' ? `${prefix}SnapshotMisbound` : `${prefix}Snapshot${reason}`,
  );
  return [...repairedReasons, ...withoutContent];
}

const contentReasons = [
  'SnapshotCreationFailed',
  'SnapshotContentCheckandUpdateFailed',
  'GroupSnapshotCreationFailed',
  'GroupSnapshotContentCheckandUpdateFailed',
  'SnapshotDeleteError',
  'GroupSnapshotDeleteError',
];

/** Rows X82 and X83. */
async function leaving(context: Context, { of, snapshot, content }: Followed): Promise<Verdict> {
  const since = sinceDeleted(snapshot);
  const next = describe(of.plural, nameOf(snapshot), snapshot.metadata?.namespace);
  const pending = await recordedFailure(context, objectName(of.kind, snapshot), [
    'SnapshotDeletePending',
    'GroupSnapshotDeletePending',
  ]);
  if (pending !== undefined) {
    return verdictOf(
      ['X82', 4, 'user', 'source free'],
      'the snapshot is still needed (rows D4 and D5 of snapshot-controller)',
      {
        since,
        failure: pending,
        next,
        changes: [change('delete what the message names: a claim that is made from it, or its group')],
        retry: retryOf(pending),
      },
    );
  }
  if (content !== undefined && !isBeingDeleted(content)) {
    const what = content.spec?.deletionPolicy === 'Delete' ? 'deletes' : 'keeps';
    return verdictOf(
      ['X83', 3, 'snapshot-controller', 'content gone'],
      `snapshot-controller ${what} its content ${nameOf(content)}, and takes the finalizers off (rows D6 to D9 of snapshot-controller)`,
      { since, next, retry: byItself('snapshot-controller goes on by itself') },
    );
  }
  if (content !== undefined) {
    const verdict = await deletedContent(context, content, of);
    return {
      ...verdict,
      row: 'X83',
      stage: 'content gone',
      since,
      sentence: `waits for its content ${nameOf(content)}: ${verdict.sentence} (${verdict.row}; row D10 of snapshot-controller)`,
    };
  }
  return verdictOf(
    ['X82', 3, 'snapshot-controller', 'finalizer'],
    'its content is gone: snapshot-controller takes the finalizers off',
    { since, next, retry: byItself('snapshot-controller goes on by itself') },
  );
}
