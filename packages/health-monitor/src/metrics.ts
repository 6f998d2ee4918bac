// SPDX-License-Identifier: Apache-2.0
/** The metrics of the health monitor. Those without `csi_sidecars_` are upstream's. */
import type { Metrics, Sample } from '@csi-sidecars/runtime';

export type HealthMethod = 'ControllerListVolumeHealth' | 'ControllerGetVolumeHealth';

export interface HealthMetrics {
  readonly asked: (method: HealthMethod, result: 'success' | 'error', durationMs: number) => void;
  readonly dropped: () => void;
  readonly unknown: (status: string) => void;
  readonly doubles: (count: number) => void;
  /** `reason`: forbidden, invalid. */
  readonly refused: (reason: 'forbidden' | 'invalid') => void;
  /** All volumes have been looked at once. */
  readonly cycled: (facts: { readonly atMs: number; readonly durationMs: number }) => void;
}

/** A driver may report any number. Each is a series. */
const mostStatuses = 100;
const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];

/** `conditions`: what is reported of unhealthy volumes now. */
export function createHealthMetrics(metrics: Metrics, conditions: () => Iterable<Sample>): HealthMetrics {
  const durations = metrics.histogram({
    name: 'csi_volume_health_probe_duration_seconds',
    help: '[ALPHA] Histogram of controller-side volume health probe RPC latency in seconds, broken down by CSI method.',
    labels: ['method'],
    buckets,
  });
  const probes = metrics.counter({
    name: 'csi_volume_health_probe_total',
    help: '[ALPHA] Cumulative count of controller-side volume health probes, broken down by CSI method and result.',
    labels: ['method', 'result'],
  });
  metrics.gauge({
    name: 'csi_controller_volume_health_status',
    help: '[ALPHA] Controller-reported health for every unhealthy volume. Value is 1 while a condition with the given status is present on the PVC.',
    labels: ['namespace', 'persistentvolumeclaim', 'status'],
    collect: conditions,
  });
  const dropped = metrics.counter({
    name: 'csi_volume_health_status_writes_dropped_total',
    help: '[ALPHA] Cumulative count of PVC status patches whose healthStatus was dropped by the API server, which indicates the CSIVolumeHealth feature gate is disabled.',
  });
  const unknown = metrics.counter({
    name: 'csi_volume_health_unknown_condition_total',
    help: '[ALPHA] Cumulative count of volume health entries observed with a CSI error type unknown to this monitor, broken down by the raw CSI status value.',
    labels: ['status'],
  });
  const known = new Set<string>();
  return { ...ownMetrics(metrics), asked, dropped: () => dropped.inc(), unknown: countUnknown };

  function countUnknown(status: string): void {
    if (known.size < mostStatuses) known.add(status);
    unknown.inc({ status: known.has(status) ? status : 'other' });
  }

  function asked(method: HealthMethod, result: 'success' | 'error', durationMs: number): void {
    durations.observe(durationMs / 1_000, { method });
    probes.inc({ method, result });
  }
}

function ownMetrics(metrics: Metrics): Pick<HealthMetrics, 'doubles' | 'refused' | 'cycled'> {
  const doubles = metrics.counter({
    name: 'csi_sidecars_health_duplicate_conditions_total',
    help: 'Total number of reported conditions that were dropped because another one of the volume has the same status and reason.',
  });
  const refused = metrics.counter({
    name: 'csi_sidecars_health_refused_writes_total',
    help: 'Total number of status patches that the API server refused. Broken down by reason: forbidden, invalid.',
    labels: ['reason'],
  });
  const lastCycle = metrics.gauge({
    name: 'csi_sidecars_health_last_cycle_timestamp_seconds',
    help: 'Time at which the driver had last reported about all volumes, in seconds since 1970.',
  });
  const duration = metrics.gauge({
    name: 'csi_sidecars_health_cycle_seconds',
    help: 'How long it last took until the driver had reported about all volumes once.',
  });
  return {
    doubles: (count) => doubles.inc({}, count),
    refused: (reason) => refused.inc({ reason }),
    cycled: ({ atMs, durationMs }) => {
      lastCycle.set(atMs / 1_000);
      duration.set(durationMs / 1_000);
    },
  };
}
