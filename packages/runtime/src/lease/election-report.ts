// SPDX-License-Identifier: Apache-2.0
/** Reports the election: log lines (texts and levels of client-go and csi-lib-utils), metrics, events on the Lease. */
import type { EventRecorder } from '../event-recorder/recorder.ts';
import type { Facts, Logger } from '../log/logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ElectionConfig } from './election-config.ts';
import type { Notice, Purpose, StopCause } from './election-state.ts';

export interface ElectionMetrics {
  setLeading(name: string, value: 0 | 1): void;
  countSlowPath(name: string): void;
}

/** Registers the families. Once per registry, for every election of the process. */
export function createElectionMetrics(metrics: Metrics): ElectionMetrics {
  const master = metrics.gauge({
    name: 'leader_election_master_status',
    help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    labels: ['name'],
  });
  const slowPath = metrics.counter({
    name: 'leader_election_slowpath_total',
    help: "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    labels: ['name'],
  });
  return {
    setLeading: (name, value) => master.set(value, { name }),
    countSlowPath: (name) => slowPath.inc({ name }),
  };
}

export interface ReportDeps {
  readonly logger: Logger;
  readonly metrics?: ElectionMetrics;
  /** Recorder of the election's own client, with `<lock name>/<host name>` as component. */
  readonly events?: EventRecorder;
}

const failureTexts: Readonly<Record<Purpose, string>> = {
  get: 'Error retrieving lease lock',
  create: 'Error initially creating lease lock',
  renew: 'Failed to update lease optimistically, falling back to slow path',
  keep: 'Failed to update lease',
  take: 'Failed to update lease',
  release: 'Failed to release lease',
};

const notReleasedTexts = { notMine: 'not the holder', tooLate: 'no time left' } as const;

const stopTexts: Readonly<Record<StopCause, string>> = {
  workEnded: 'Work ended',
  renewDeadline: 'Failed to renew lease',
  otherHolder: 'Another candidate holds the lease',
  sameIdentity: 'Another process holds the lease under the same identity: probably a second container of this pod',
  stalled: 'The lease ended while this process was not running',
};

export function createReporter(deps: ReportDeps, config: ElectionConfig): (notice: Notice) => void {
  const { metrics, events } = deps;
  const { metricName, identity } = config;
  const lock: Facts = { lock: `${config.namespace}/${config.name}` };
  const logger = deps.logger.with(lock);
  metrics?.setLeading(metricName, 0);
  const record = (regarding: Parameters<EventRecorder['record']>[0], message: string): void =>
    events?.record(regarding, { type: 'Normal', reason: 'LeaderElection', message: `${identity} ${message}` });

  return (notice) => {
    switch (notice.kind) {
      case 'attempting':
        logger.info(0, 'Attempting to acquire leader lease...');
        return;
      case 'newLeader':
        logger.info(3, 'New leader detected', { leader: notice.identity });
        return;
      case 'held':
        logger.info(4, 'Lease is held by and has not yet expired', { holder: notice.by });
        return;
      case 'failed':
        if (notice.purpose === 'renew') logger.info(2, failureTexts.renew, { err: notice.error });
        else logger.error(notice.error, failureTexts[notice.purpose]);
        return;
      case 'slowPath':
        metrics?.countSlowPath(metricName);
        return;
      case 'notWatching':
        logger.info(2, 'Cannot watch the lease, polling instead', { err: notice.error });
        return;
      case 'acquired':
        logger.info(0, 'Successfully acquired lease');
        metrics?.setLeading(metricName, 1);
        record(notice.lease, 'became leader');
        logger.info(2, 'became leader, starting');
        return;
      case 'stoppedLeading':
        metrics?.setLeading(metricName, 0);
        if (notice.because === 'sameIdentity' || notice.because === 'stalled')
          logger.error(undefined, stopTexts[notice.because]);
        else logger.info(0, stopTexts[notice.because]);
        record(notice.lease, 'stopped leading');
        return;
      case 'notReleased':
        logger.info(0, 'The lease is not released', { reason: notReleasedTexts[notice.because] });
        return;
      case 'ended':
        // Upstream logs an error in both cases.
        if (notice.how === 'asked') logger.info(0, 'Stopped leading');
        else logger.error(undefined, 'Stopped leading');
    }
  };
}
