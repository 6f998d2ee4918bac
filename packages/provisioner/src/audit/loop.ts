// SPDX-License-Identifier: Apache-2.0
/**
 * The periodic audit: what the driver lists, compared with the caches. It reads nothing from the API server, and its calls are those of a
 * list. The rules are those of the command, docs/behaviour/audit.md; here is only what they are fed with.
 */
import { type AuditMetrics, type CsiChannel, type DriverInfo, listPages, whenQuiet } from '@csi-sidecars/csi';
import {
  definePeriodicLoop,
  type EventRecorder,
  type Loop,
  type Pass,
  type PersistentVolume,
  type PersistentVolumeClaim,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  compareVolumes,
  createDaily,
  type DriverList,
  type Earlier,
  keysOf,
  type ListedVolume,
  type OpenWork,
  type RecordedVolume,
  recordedVolumeOf,
  replacesPlugin,
  volumeCollector,
  type VolumesComparison,
} from '@csi-sidecars/volume';
import type { ProvisionerSettings } from '../settings.ts';
import { isElsewhere } from '../volume/volume.ts';
import { isWorkedOn, type Watched } from '../watched.ts';
import { messages } from './messages.ts';
import { recordEvents } from './report.ts';

export interface AuditContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  /** Calls of the other loops that are under way. */
  readonly underWay: () => number;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: AuditMetrics;
  readonly settings: Pick<ProvisionerSettings, 'auditIntervalMs' | 'timeoutMs' | 'workerThreads' | 'node'>;
}

interface AuditWatches {
  readonly volumes: PersistentVolume;
  readonly claims: PersistentVolumeClaim;
}

const graceMs = 10 * 60_000;
const pageSize = 500;
/** Instances that start together do not list together. */
const spread = 0.1;
/** kubelet's handle of a volume inside a pod, which no PersistentVolume names. */
const insidePod = /^csi-[0-9a-f]{64}$/;

export function auditLoop(context: AuditContext, { volumes, claims }: Pick<Watched, 'volumes' | 'claims'>): Loop {
  const { settings, metrics } = context;
  const daily = createDaily();
  let earlier: Earlier = new Set();
  return definePeriodicLoop<AuditWatches>({
    name: 'audit',
    watches: { volumes, claims },
    pauseMs: settings.auditIntervalMs,
    begin: 'afterPause',
    pass: async (pass) => {
      const { clock, random, signal, caches, logger } = pass;
      await clock.sleep(random.next() * spread * settings.auditIntervalMs, signal);
      const startedMs = clock.monotonicMs();
      try {
        const { list, incomplete } = await listed(context, pass);
        const compared = compare(context, pass, { list, earlier });
        // The leadership may have ended with the last page.
        signal.throwIfAborted();
        earlier = keysOf(compared.findings);
        const durationMs = clock.monotonicMs() - startedMs;
        const because =
          incomplete ?? (compared.isSuspicious ? 'the driver seems to list a part of its volumes' : undefined);
        metrics.ended(because === undefined ? 'ok' : 'incomplete');
        if (because !== undefined) {
          logger.warn(messages.incomplete, { reason: because });
          return;
        }
        metrics.found(compared.findings);
        metrics.succeeded({ atMs: clock.nowMs(), durationMs, entries: list.entries.size });
        report(pass, compared, { entries: list.entries.size, durationMs });
        const volumeOf = (name: string): PersistentVolume | undefined =>
          caches.volumes.get(toObjectKey(undefined, name));
        const { isDue } = daily(clock.nowMs());
        recordEvents({ events: context.events, driverName: context.driver.name, volumeOf, isDue }, compared.findings);
      } catch (error) {
        if (!signal.aborted) metrics.ended('failed');
        throw error;
      }
    },
    failed: messages.failed,
  });
}

interface Listed {
  readonly list: DriverList<ListedVolume>;
  /** Undefined: it is whole. */
  readonly incomplete: string | undefined;
}

async function listed(
  { channel, underWay, settings }: AuditContext,
  { clock, signal }: Pass<AuditWatches>,
): Promise<Listed> {
  const { begin, take, listOf } = volumeCollector('none');
  const { timeoutMs, workerThreads } = settings;
  let startedMs = clock.nowMs();
  const quiet = whenQuiet(clock, { underWay, workers: workerThreads });
  const end = await listPages(
    async (token) => {
      await quiet(signal);
      const request = { max_entries: pageSize, starting_token: token };
      return await channel.call('/csi.v1.Controller/ListVolumes', request, { timeoutMs, signal });
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
  { driver, settings }: AuditContext,
  { caches }: Pass<AuditWatches>,
  { list, earlier }: { readonly list: DriverList<ListedVolume>; readonly earlier: Earlier },
): VolumesComparison {
  const options = {
    // Bound claims are not cached. While they grow, the driver lists more than the PersistentVolume, which is for information.
    isClaimResizing: () => false,
    isElsewhere: (volume: PersistentVolume) => isElsewhere(volume, settings.node),
  };
  const recorded = caches.volumes.list().flatMap((volume): readonly RecordedVolume[] => {
    const record = recordedVolumeOf(volume, driver.name, options);
    return record === undefined ? [] : [record];
  });
  const inPods = [...list.entries.keys()].filter((handle) => insidePod.test(handle));
  return compareVolumes({
    list,
    recorded,
    otherwiseNamed: new Set(inPods),
    openWork: openWorkOf(driver.name, caches.claims.list()),
    snapshotSources: new Set(),
    recentlyRecorded: new Set(),
    answers: new Map(),
    rules: { graceMs, handlePrefix: '' },
    earlier,
  });
}

function openWorkOf(driverName: string, claims: readonly PersistentVolumeClaim[]): OpenWork {
  const open = claims.find((claim) => isWorkedOn(claim, driverName));
  if (open !== undefined) {
    return { kind: 'open', what: `claim ${open.metadata?.namespace}/${open.metadata?.name} may have a call under way` };
  }
  // Pods may name volumes of the in-tree plugin, and pods are not cached.
  return replacesPlugin(driverName) ? { kind: 'unknown' } : { kind: 'none' };
}

function report(
  { logger }: Pick<Pass<AuditWatches>, 'logger'>,
  { findings }: VolumesComparison,
  { entries, durationMs }: { readonly entries: number; readonly durationMs: number },
): void {
  const differences = findings.filter(({ level }) => level === 'difference').length;
  const open = findings.filter(({ level }) => level === 'mayBeWork').length;
  logger.info(2, messages.compared, { entries, differences, mayBeWork: open, seconds: durationMs / 1_000 });
  if (!logger.enabled(4)) return;
  for (const { row, class: group, handle, object, sentence } of findings) {
    logger.info(4, messages.found, { row, class: group, handle, PV: object?.name ?? '', reason: sentence });
  }
}
