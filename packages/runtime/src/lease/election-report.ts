// SPDX-License-Identifier: Apache-2.0
/** Reports the election: log lines (texts and levels of client-go and csi-lib-utils), metrics, events on the Lease. */
import type { Clock } from '../clock/clock.ts';
import { type GrowingPace, growingPace } from '../clock/growing-pace.ts';
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
  readonly clock: Pick<Clock, 'monotonicMs'>;
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

const hourMs = 3_600_000;
const standbyHint = 'the holder renews the lease, so there is nothing to do while its work is done';
const failingHint =
  'without the lease nothing is done: can the API server be reached, and may this account get and write leases?';

export function createReporter(deps: ReportDeps, config: ElectionConfig): (notice: Notice) => void {
  const { clock, metrics, events } = deps;
  const { metricName, identity } = config;
  const lock: Facts = { lock: `${config.namespace}/${config.name}` };
  const logger = deps.logger.with(lock);
  metrics?.setLeading(metricName, 0);
  const record = (regarding: Parameters<EventRecorder['record']>[0], message: string): void =>
    events?.record(regarding, { type: 'Normal', reason: 'LeaderElection', message: `${identity} ${message}` });

  let isLeading = false;
  let standing: GrowingPace | undefined;
  let failing: GrowingPace | undefined;

  /** A candidate tries for ever; upstream logs each attempt, every 5 to 11 s. What a leader fails at is logged each time. */
  function failed(error: unknown, text: string): void {
    const isFirst = failing === undefined;
    failing ??= growingPace(clock, { firstMs: 10_000 });
    const forSeconds = failing.forSeconds();
    if (isLeading || isFirst) logger.error(error, text);
    else if (failing.isDue()) logger.error(error, text, { forSeconds, hint: failingHint });
    else logger.info(2, text, { err: error, forSeconds });
  }

  return (notice) => {
    switch (notice.kind) {
      case 'attempting':
        logger.info(0, 'Attempting to acquire leader lease...');
        return;
      case 'newLeader':
        logger.info(3, 'New leader detected', { leader: notice.identity });
        return;
      case 'held':
        failing = undefined;
        standing ??= growingPace(clock, { firstMs: 60_000, longestMs: hourMs });
        if (standing.isDue()) {
          logger.info(0, 'Standing by', { holder: notice.by, forSeconds: standing.forSeconds(), hint: standbyHint });
        } else {
          logger.info(4, 'Lease is held by and has not yet expired', { holder: notice.by });
        }
        return;
      case 'failed':
        if (notice.purpose === 'renew') logger.info(2, failureTexts.renew, { err: notice.error });
        else failed(notice.error, failureTexts[notice.purpose]);
        return;
      case 'slowPath':
        metrics?.countSlowPath(metricName);
        return;
      case 'notWatching':
        logger.info(2, 'Cannot watch the lease, polling instead', { err: notice.error });
        return;
      case 'acquired':
        [isLeading, standing, failing] = [true, undefined, undefined];
        logger.info(0, 'Successfully acquired lease');
        metrics?.setLeading(metricName, 1);
        record(notice.lease, 'became leader');
        logger.info(2, 'became leader, starting');
        return;
      case 'stoppedLeading':
        isLeading = false;
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
