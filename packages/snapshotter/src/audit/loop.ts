// SPDX-License-Identifier: Apache-2.0
/**
 * The periodic audit: the snapshots that the driver lists, compared with the caches. It reads nothing from the API server, and its calls are
 * those of a list. The rules are those of the command, docs/behaviour/audit.md; here is only what they are fed with.
 */
import { type AuditMetrics, type CsiChannel, type DriverInfo, listPages, whenQuiet } from '@csi-sidecars/csi';
import {
  definePeriodicLoop,
  type EventRecorder,
  type InformerOptions,
  type Loop,
  type Pass,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  compareSnapshots,
  createDaily,
  type DailyPass,
  type DriverList,
  type Earlier,
  isBeingCreated,
  keysOf,
  type ListedSnapshot,
  memberHandlesOf,
  type OpenWork,
  recordedSnapshotOf,
  snapshotCollector,
  type SnapshotsComparison,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { SnapshotterSettings } from '../settings.ts';

export interface AuditContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  /** Calls of the other loops that are under way. */
  readonly underWay: () => number;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: AuditMetrics;
  readonly settings: Pick<SnapshotterSettings, 'auditIntervalMs' | 'timeoutMs' | 'workerThreads'>;
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

const graceMs = 10 * 60_000;
const pageSize = 500;
/** Instances that start together do not list together. */
const spread = 0.1;

export const messages = {
  missing: (handle: string): string =>
    `the CSI driver does not list snapshot ${handle} in two audits, one after the other`,
  compared: 'Compared the snapshots of the driver with VolumeSnapshotContents',
  found: 'The driver and the cluster differ',
  incomplete: 'The audit is not whole, nothing is concluded from what the driver does not list',
  failed: 'Comparing the snapshots of the driver with VolumeSnapshotContents failed',
} as const;

export function auditLoop(context: AuditContext, watches: AuditWatched): Loop {
  const { settings, metrics } = context;
  const daily = createDaily();
  let earlier: Earlier = new Set();
  return definePeriodicLoop<AuditWatches>({
    name: 'audit',
    watches,
    pauseMs: settings.auditIntervalMs,
    begin: 'afterPause',
    pass: async (pass) => {
      const { clock, random, signal, logger } = pass;
      await clock.sleep(random.next() * spread * settings.auditIntervalMs, signal);
      const startedMs = clock.monotonicMs();
      try {
        const { list, incomplete } = await listed(context, pass);
        const compared = compare(context.driver.name, pass, { list, earlier });
        // The leadership may have ended with the last page.
        signal.throwIfAborted();
        earlier = keysOf(compared.findings);
        const because =
          incomplete ?? (compared.isSuspicious ? 'the driver seems to list a part of its snapshots' : undefined);
        metrics.ended(because === undefined ? 'ok' : 'incomplete');
        if (because !== undefined) {
          logger.warn(messages.incomplete, { reason: because });
          return;
        }
        const durationMs = clock.monotonicMs() - startedMs;
        metrics.found(compared.findings);
        metrics.succeeded({ atMs: clock.nowMs(), durationMs, entries: list.entries.size });
        report(pass, compared, { entries: list.entries.size, durationMs });
        recordEvents(context, pass, { compared, ...daily(clock.nowMs()) });
      } catch (error) {
        if (!signal.aborted) metrics.ended('failed');
        throw error;
      }
    },
    failed: messages.failed,
  });
}

interface Listed {
  readonly list: DriverList<ListedSnapshot>;
  /** Undefined: it is whole. */
  readonly incomplete: string | undefined;
}

async function listed(
  { channel, underWay, settings }: AuditContext,
  { clock, signal }: Pass<AuditWatches>,
): Promise<Listed> {
  const { begin, take, listOf } = snapshotCollector();
  const { timeoutMs, workerThreads } = settings;
  const quiet = whenQuiet(clock, { underWay, workers: workerThreads });
  let startedMs = clock.nowMs();
  const end = await listPages(
    async (token) => {
      await quiet(signal);
      const request = { max_entries: pageSize, starting_token: token };
      return await channel.call('/csi.v1.Controller/ListSnapshots', request, { timeoutMs, signal });
    },
    {
      begin: () => {
        begin();
        startedMs = clock.nowMs();
      },
      take,
      signal,
    },
  );
  const isComplete = end.kind === 'complete';
  return { list: listOf({ startedMs, isComplete }), incomplete: isComplete ? undefined : end.because };
}

function compare(
  driverName: string,
  { caches }: Pick<Pass<AuditWatches>, 'caches'>,
  { list, earlier }: { readonly list: DriverList<ListedSnapshot>; readonly earlier: Earlier },
): SnapshotsComparison {
  const contents = caches.contents.list();
  const groups = caches.groups.list();
  const open = [...contents, ...groups].find((content) => isBeingCreated(content));
  const openWork: OpenWork =
    open === undefined ? { kind: 'none' } : { kind: 'open', what: `content ${open.metadata?.name} is being created` };
  return compareSnapshots({
    list,
    recorded: contents.flatMap((content) => recordedSnapshotOf(content, driverName) ?? []),
    members: new Set(groups.flatMap((group) => memberHandlesOf(group))),
    openWork,
    // Volumes are compared by csi-provisioner.
    hasVolume: undefined,
    answers: new Map(),
    rules: { graceMs },
    earlier,
  });
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

function report(
  { logger }: Pick<Pass<AuditWatches>, 'logger'>,
  { findings }: SnapshotsComparison,
  { entries, durationMs }: { readonly entries: number; readonly durationMs: number },
): void {
  const differences = findings.filter(({ level }) => level === 'difference').length;
  const open = findings.filter(({ level }) => level === 'mayBeWork').length;
  logger.info(2, messages.compared, { entries, differences, mayBeWork: open, seconds: durationMs / 1_000 });
  if (!logger.enabled(4)) return;
  for (const { row, class: group, handle, object, sentence } of findings) {
    logger.info(4, messages.found, { row, class: group, handle, content: object?.name ?? '', reason: sentence });
  }
}
