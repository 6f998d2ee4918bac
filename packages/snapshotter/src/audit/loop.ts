// SPDX-License-Identifier: Apache-2.0
/**
 * The periodic audit: the snapshots that the driver lists, compared with the caches. The rules are those of the command,
 * docs/behaviour/audit.md; here is only what they are fed with.
 */
import { type AuditBoard, type AuditDeps, auditPass, type CsiChannel, type DriverInfo } from '@csi-sidecars/csi';
import {
  definePeriodicLoop,
  type EventRecorder,
  type InformerOptions,
  type Loop,
  type Pass,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  auditGraceMs,
  createDaily,
  type DailyPass,
  type DriverList,
  type Earlier,
  isBeingCreated,
  keysOf,
  type ListedSnapshot,
  memberHandlesOf,
  type OpenWork,
  type RecordedSnapshot,
  recordedSnapshotOf,
  type Slices,
  snapshotCollector,
  type SnapshotsComparison,
  snapshotsCompared,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';

export interface AuditContext extends AuditDeps {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  /** Where a person may ask for it. Default: nowhere. */
  readonly board?: AuditBoard | undefined;
  readonly events: Pick<EventRecorder, 'record'>;
}

interface AuditWatches {
  readonly contents: VolumeSnapshotContent;
  readonly groups: VolumeGroupSnapshotContent;
}

export interface AuditWatched {
  readonly contents: InformerOptions<VolumeSnapshotContent>;
  /** Undefined: groups are off. Their members have contents of their own. */
  readonly groups: InformerOptions<VolumeGroupSnapshotContent> | undefined;
}

export const messages = {
  missing: (handle: string): string =>
    `the CSI driver does not list snapshot ${handle} in two audits, one after the other`,
  compared: 'Compared the snapshots of the driver with VolumeSnapshotContents',
  failed: 'Comparing the snapshots of the driver with VolumeSnapshotContents failed',
} as const;

export function auditLoop(context: AuditContext, watches: AuditWatched): Loop {
  const { driver, channel, settings } = context;
  const { auditIntervalMs } = settings;
  const isPeriodic = auditIntervalMs > 0;
  const desk = context.board?.open({ listed: 'snapshots', isPeriodic });
  const daily = createDaily();
  let earlier: Earlier = new Set();
  return definePeriodicLoop<AuditWatches>({
    name: 'audit',
    watches,
    pauseMs: isPeriodic ? auditIntervalMs : Infinity,
    begin: 'afterPause',
    ...(desk !== undefined && { pause: desk.pause }),
    pass: async (pass) => {
      const { compared, isWhole } = await auditPass(
        pass,
        { ...context, desk },
        {
          listed: 'snapshots',
          page: (request, options) => channel.call('/csi.v1.Controller/ListSnapshots', request, options),
          collector: snapshotCollector(),
          compare: (list) => compare(driver.name, pass, { list, earlier }),
          compared: messages.compared,
          object: 'content',
        },
      );
      earlier = keysOf(compared.findings);
      if (isWhole && isPeriodic) recordEvents(context, pass, { compared, ...daily(pass.clock.nowMs()) });
    },
    failed: messages.failed,
  });
}

function compare(
  driverName: string,
  { caches }: Pick<Pass<AuditWatches>, 'caches'>,
  { list, earlier }: { readonly list: DriverList<ListedSnapshot>; readonly earlier: Earlier },
): Slices<SnapshotsComparison> {
  const contents = caches.contents.list();
  const groups = caches.groups.list();
  const open = [...contents, ...groups].find((content) => isBeingCreated(content));
  const openWork: OpenWork =
    open === undefined ? { kind: 'none' } : { kind: 'open', what: `content ${open.metadata?.name} is being created` };
  return snapshotsCompared({
    list,
    recorded: recordedOf(contents, driverName),
    members: new Set(groups.flatMap((group) => memberHandlesOf(group))),
    openWork,
    // Volumes are compared by csi-provisioner.
    hasVolume: undefined,
    answers: new Map(),
    rules: { graceMs: auditGraceMs },
    earlier,
  });
}

/** One at a time: all of them at once would stop everything else. */
function* recordedOf(contents: readonly VolumeSnapshotContent[], driverName: string): Generator<RecordedSnapshot> {
  for (const content of contents) {
    const record = recordedSnapshotOf(content, driverName);
    if (record !== undefined) yield record;
  }
}

function recordEvents(
  { events }: Pick<AuditContext, 'events'>,
  { caches }: Pick<Pass<AuditWatches>, 'caches'>,
  { compared, isDue }: DailyPass & { readonly compared: SnapshotsComparison },
): void {
  for (const { class: group, handle, object } of compared.findings) {
    if (group !== 'missingSnapshot' || object === undefined) continue;
    const content = caches.contents.get(toObjectKey(undefined, object.name));
    if (content === undefined || !isDue(handle)) continue;
    events.record(content, { type: 'Warning', reason: 'BackendSnapshotMissing', message: messages.missing(handle) });
  }
}
