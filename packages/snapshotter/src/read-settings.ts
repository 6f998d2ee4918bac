// SPDX-License-Identifier: Apache-2.0
/** From flags to settings: what is refused here ends the program before anything is connected. */
import type { SnapshotterValues } from './flags.ts';
import type { SnapshotterSettings } from './settings.ts';

/** Why this command line cannot be run; undefined when it can. Upstream crashes or stands still later with most of these. */
export function refusedFlags(values: SnapshotterValues): string | undefined {
  if (values['node-deployment'] && values['leader-election']) {
    return '--node-deployment and --leader-election exclude each other';
  }
  if (values['worker-threads'] <= 0) return '--worker-threads must be at least 1';
  if (values.timeout <= 0) return '--timeout must be greater than 0';
  const audit = values['audit-interval'];
  if (audit !== 0 && audit < leastAuditMs) return '--audit-interval must be 0 or at least 10m';
  return refusedNames(values, 'snapshot');
}

const leastAuditMs = 10 * 60_000;

/** Refuses values of flags that matter only while group snapshots are on. */
export function refusedGroupFlags(values: SnapshotterValues): string | undefined {
  return refusedNames(values, 'groupsnapshot');
}

/** Digits of a UID without dashes. */
const uidLength = 32;

function refusedNames(values: SnapshotterValues, what: 'snapshot' | 'groupsnapshot'): string | undefined {
  if (values[`${what}-name-prefix`] === '') return `--${what}-name-prefix cannot be empty`;
  const length = values[`${what}-name-uuid-length`];
  // With 0 all snapshots would have one name, and the second would be the first.
  const isPossible = length === -1 || (length >= 1 && length <= uidLength);
  return isPossible ? undefined : `--${what}-name-uuid-length must be -1, or from 1 to ${uidLength}`;
}

export interface SettingsContext {
  /** Undefined without `--node-deployment`. */
  readonly nodeName: string | undefined;
  readonly groupSnapshots: boolean;
  readonly snapshotTopology: boolean;
}

export function toSettings(
  values: SnapshotterValues,
  { nodeName, groupSnapshots, snapshotTopology }: SettingsContext,
): SnapshotterSettings {
  return {
    workerThreads: values['worker-threads'],
    retryIntervalStartMs: values['retry-interval-start'],
    retryIntervalMaxMs: values['retry-interval-max'],
    resyncMs: values['resync-period'],
    auditIntervalMs: values['audit-interval'],
    timeoutMs: values.timeout,
    extraCreateMetadata: values['extra-create-metadata'],
    snapshotNames: {
      prefix: values['snapshot-name-prefix'],
      uuidLength: values['snapshot-name-uuid-length'],
    },
    groupSnapshotNames: {
      prefix: values['groupsnapshot-name-prefix'],
      uuidLength: values['groupsnapshot-name-uuid-length'],
    },
    nodeName,
    groupSnapshots,
    snapshotTopology,
  };
}
