// SPDX-License-Identifier: Apache-2.0

export interface LeaderElectionOptions {
  readonly namespace: string;
  /** Name of the Lease; see `leaseName`. */
  readonly name: string;
  /** Unique among the candidates; see `leaseIdentity`. */
  readonly identity: string;
  /**
   * The time that other candidates wait after the last renewal that they saw, before they take over. Default 15 s. A part of a
   * second is dropped: the record holds whole seconds, and this process must not lead longer than others wait.
   */
  readonly leaseDurationMs?: number;
  /** How long the leader tries to renew before it gives up. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Between two renewals, and the shortest time between two attempts. Default 5 s. */
  readonly retryPeriodMs?: number;
  /** Set on the Lease; labels of others stay. Default none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Releases the Lease after the work has ended, so that a standby takes over at once. Default false, as upstream. */
  readonly releaseOnExit?: boolean;
  /**
   * The meaning of a record with our identity that is found by a candidate. `keep` (default): that of a process that was restarted in
   * place, so the lease is kept. `expire`: it may be another process with the same host name, so the lease is taken when the record has
   * expired; for a process that has led before.
   */
  readonly ownRecord?: 'keep' | 'expire';
  /** Label `name` of the metrics. Default empty, as in the upstream sidecars. */
  readonly metricName?: string;
}

export interface ElectionConfig extends Required<LeaderElectionOptions> {
  /** Time limit of one request. Shorter than the deadline, so that a request that hangs does not cost the lease. */
  readonly requestTimeoutMs: number;
}

/** Upstream's JitterFactor: an attempt to acquire may come up to 1.2 retry periods late. */
export const acquireJitter = 1.2;

/** Settings for which client-go panics, and durations with which a leader could not renew in time. */
export class ElectionConfigError extends Error {
  override readonly name = 'ElectionConfigError';
}

/** Fills in defaults. Throws an ElectionConfigError. */
export function toElectionConfig(options: LeaderElectionOptions): ElectionConfig {
  const { renewDeadlineMs = 10_000, retryPeriodMs = 5_000 } = options;
  const leaseDurationMs = Math.trunc((options.leaseDurationMs ?? 15_000) / 1000) * 1000;
  if (leaseDurationMs <= renewDeadlineMs)
    throw new ElectionConfigError('leaseDuration must be greater than renewDeadline');
  if (renewDeadlineMs <= acquireJitter * retryPeriodMs) {
    throw new ElectionConfigError('renewDeadline must be greater than retryPeriod*JitterFactor');
  }
  if (leaseDurationMs <= 0) throw new ElectionConfigError('leaseDuration must be greater than zero');
  if (renewDeadlineMs <= 0) throw new ElectionConfigError('renewDeadline must be greater than zero');
  if (retryPeriodMs <= 0) throw new ElectionConfigError('retryPeriod must be greater than zero');
  if (options.identity === '') throw new ElectionConfigError('Lock identity is empty');
  return {
    labels: {},
    releaseOnExit: false,
    metricName: '',
    ownRecord: 'keep',
    ...options,
    leaseDurationMs,
    renewDeadlineMs,
    retryPeriodMs,
    requestTimeoutMs: Math.max(1000, renewDeadlineMs / 2),
  };
}
