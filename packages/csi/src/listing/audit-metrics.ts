// SPDX-License-Identifier: Apache-2.0
/** Families of the audits that controllers make of what a driver lists. They are registered only if one runs. */
import type { Metrics } from '@csi-sidecars/runtime';

export type PassResult = 'ok' | 'incomplete' | 'failed';

export interface AuditMetrics {
  /** The findings of a whole pass. */
  readonly found: (findings: readonly { readonly class: string }[]) => void;
  readonly ended: (result: PassResult) => void;
  readonly succeeded: (facts: { readonly atMs: number; readonly durationMs: number; readonly entries: number }) => void;
}

export function createAuditMetrics(metrics: Metrics, kind: 'volumes' | 'snapshots' | 'attachments'): AuditMetrics {
  const labels = ['kind'];
  const findings = metrics.gauge({
    name: 'csi_sidecars_audit_findings',
    help: 'Number of differences between the list of the driver and the cluster in the last whole pass of the audit, by class.',
    labels: ['kind', 'class'],
  });
  const lastSuccess = metrics.gauge({
    name: 'csi_sidecars_audit_last_success_timestamp_seconds',
    help: 'Time of the last whole pass of the audit, in seconds since 1970.',
    labels,
  });
  const duration = metrics.gauge({
    name: 'csi_sidecars_audit_duration_seconds',
    help: 'How long the last whole pass of the audit took.',
    labels,
  });
  const listed = metrics.gauge({
    name: 'csi_sidecars_audit_entries',
    help: 'Number of entries that the driver listed in the last whole pass of the audit.',
    labels,
  });
  const passes = metrics.counter({
    name: 'csi_sidecars_audit_passes_total',
    help: 'Total number of passes of the audit. Broken down by result: ok, incomplete, failed.',
    labels: ['kind', 'result'],
  });
  const known = new Set<string>();
  return {
    found: (all) => {
      const counts = new Map<string, number>();
      for (const { class: group } of all) {
        known.add(group);
        counts.set(group, (counts.get(group) ?? 0) + 1);
      }
      for (const group of known) findings.set(counts.get(group) ?? 0, { kind, class: group });
    },
    ended: (result) => passes.inc({ kind, result }),
    succeeded: ({ atMs, durationMs, entries }) => {
      lastSuccess.set(atMs / 1_000, { kind });
      duration.set(durationMs / 1_000, { kind });
      listed.set(entries, { kind });
    },
  };
}
