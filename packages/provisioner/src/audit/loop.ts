// SPDX-License-Identifier: Apache-2.0
/**
 * The periodic audit: the volumes that the driver lists, compared with the caches. The rules are those of the command,
 * docs/behaviour/audit.md; here is only what they are fed with.
 */
import { type AuditBoard, type AuditDeps, auditPass, type CsiChannel, type DriverInfo } from '@csi-sidecars/csi';
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
  auditGraceMs,
  createDaily,
  type DriverList,
  type Earlier,
  keysOf,
  type ListedVolume,
  type OpenWork,
  type RecordedVolume,
  recordedVolumeOf,
  replacesPlugin,
  type Slices,
  volumeCollector,
  type VolumesComparison,
  volumesCompared,
} from '@csi-sidecars/volume';
import type { ProvisionerSettings } from '../settings.ts';
import { isElsewhere } from '../volume/volume.ts';
import { isWorkedOn, type Watched } from '../watched.ts';
import { messages } from './messages.ts';
import { recordEvents } from './report.ts';

export interface AuditContext extends AuditDeps {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  /** Where a person may ask for it. Default: nowhere. */
  readonly board?: AuditBoard | undefined;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly settings: AuditDeps['settings'] & Pick<ProvisionerSettings, 'node'>;
}

interface AuditWatches {
  readonly volumes: PersistentVolume;
  readonly claims: PersistentVolumeClaim;
}

/** kubelet's handle of a volume inside a pod, which no PersistentVolume names. */
const insidePod = /^csi-[0-9a-f]{64}$/;

export function auditLoop(context: AuditContext, { volumes, claims }: Pick<Watched, 'volumes' | 'claims'>): Loop {
  const { driver, channel, events, settings } = context;
  const { auditIntervalMs } = settings;
  const isPeriodic = auditIntervalMs > 0;
  const desk = context.board?.open({ listed: 'volumes', isPeriodic });
  const daily = createDaily();
  let earlier: Earlier = new Set();
  return definePeriodicLoop<AuditWatches>({
    name: 'audit',
    watches: { volumes, claims },
    pauseMs: isPeriodic ? auditIntervalMs : Infinity,
    begin: 'afterPause',
    ...(desk !== undefined && { pause: desk.pause }),
    pass: async (pass) => {
      const { caches, clock } = pass;
      const { compared, isWhole } = await auditPass(
        pass,
        { ...context, desk },
        {
          listed: 'volumes',
          page: (request, options) => channel.call('/csi.v1.Controller/ListVolumes', request, options),
          collector: volumeCollector('none'),
          compare: (list) => compare(context, pass, { list, earlier }),
          compared: messages.compared,
          object: 'PV',
        },
      );
      earlier = keysOf(compared.findings);
      if (!isWhole || !isPeriodic) return;
      const volumeOf = (name: string): PersistentVolume | undefined => caches.volumes.get(toObjectKey(undefined, name));
      const { isDue } = daily(clock.nowMs());
      recordEvents({ events, driverName: driver.name, volumeOf, isDue }, compared.findings);
    },
    failed: messages.failed,
  });
}

function compare(
  { driver, settings }: AuditContext,
  { caches }: Pick<Pass<AuditWatches>, 'caches'>,
  { list, earlier }: { readonly list: DriverList<ListedVolume>; readonly earlier: Earlier },
): Slices<VolumesComparison> {
  const options = {
    // Bound claims are not cached. While they grow, the driver lists more than the PersistentVolume, which is for information.
    isClaimResizing: () => false,
    isElsewhere: (volume: PersistentVolume) => isElsewhere(volume, settings.node),
  };
  // One at a time: all of them would need more memory than the list.
  const volumes = caches.volumes.list();
  const recorded: Iterable<RecordedVolume> = {
    *[Symbol.iterator]() {
      for (const volume of volumes) {
        const record = recordedVolumeOf(volume, driver.name, options);
        if (record !== undefined) yield record;
      }
    },
  };
  return volumesCompared({
    list,
    recorded,
    otherwiseNamed: { has: (handle) => insidePod.test(handle) },
    openWork: openWorkOf(driver.name, caches.claims.list()),
    snapshotSources: new Set(),
    recentlyRecorded: new Set(),
    answers: new Map(),
    rules: { graceMs: auditGraceMs, handlePrefix: '' },
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
