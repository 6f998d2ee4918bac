// SPDX-License-Identifier: Apache-2.0
/**
 * Reads and writes the record in a Lease, as pure functions. The fields and their meaning are client-go's, so that replicas of
 * both implementations elect one leader among them. Fields that are not ours (other labels, `strategy`, `preferredHolder`) pass
 * through untouched, and `acquireTime` keeps every digit it was written with.
 */
import type { Lease } from '../api/objects.ts';
import { apiVersionOf, leases } from '../api/resource.ts';
import { compareResourceVersions } from '../informer/resource-version.ts';
import type { ElectionConfig } from './election-config.ts';

/** A Lease as it was seen, and when (monotonic) its record last changed. Times inside a Lease are never compared with a clock. */
export interface Observed {
  readonly lease: Lease;
  readonly atMs: number;
}

/** Empty if the Lease has no holder. */
export function holderOf(lease: Lease): string {
  return lease.spec?.holderIdentity ?? '';
}

/** When the record ends if it does not change; the duration is the holder's, as the record says, not ours. */
export function expiryOf({ lease, atMs }: Observed): number {
  return atMs + (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
}

/**
 * Returns the observation after a Lease was seen. Its time moves only when the record has changed. Answers and events may arrive in any order:
 * an older Lease is ignored.
 */
export function observe(before: Observed | undefined, lease: Lease, nowMs: number): Observed {
  if (before === undefined) return { lease, atMs: nowMs };
  const { resourceVersion: known = '' } = before.lease.metadata ?? {};
  const { resourceVersion: seen = '' } = lease.metadata ?? {};
  if ((compareResourceVersions(seen, known) ?? 1) < 0) return before;
  return replaced(before, lease, nowMs);
}

/**
 * The answer to a read, and what was known when it was sent. If nothing has been seen since, the answer counts even if it is older: then the
 * server has gone back, as after the restore of a backup, and no later version may ever come.
 */
export function observeRead(
  before: Observed | undefined,
  { lease, known }: { readonly lease: Lease; readonly known: Observed | undefined },
  nowMs: number,
): Observed {
  return before !== undefined && known === before ? replaced(before, lease, nowMs) : observe(before, lease, nowMs);
}

function replaced(before: Observed, lease: Lease, nowMs: number): Observed {
  return { lease, atMs: isSameRecord(before.lease, lease) ? before.atMs : nowMs };
}

/** Only the record: an edit of labels must not keep a dead leader alive. */
function isSameRecord(a: Lease, b: Lease): boolean {
  return (
    holderOf(a) === holderOf(b) &&
    a.spec?.renewTime === b.spec?.renewTime &&
    a.spec?.acquireTime === b.spec?.acquireTime &&
    a.spec?.leaseDurationSeconds === b.spec?.leaseDurationSeconds &&
    a.spec?.leaseTransitions === b.spec?.leaseTransitions
  );
}

export function newLease(config: ElectionConfig, wallMs: number): Lease {
  const now = microTime(wallMs);
  return {
    apiVersion: apiVersionOf(leases),
    kind: leases.kind,
    metadata: {
      name: config.name,
      namespace: config.namespace,
      ...(Object.keys(config.labels).length === 0 ? {} : { labels: config.labels }),
    },
    spec: { ...ownFields(config), acquireTime: now, renewTime: now, leaseTransitions: 0 },
  };
}

/** Mine already: `acquireTime` and `leaseTransitions` stay. */
export function renewed(config: ElectionConfig, lease: Lease, wallMs: number): Lease {
  return withSpec(config, lease, { renewTime: microTime(wallMs) });
}

/** Without a holder, or expired. */
export function taken(config: ElectionConfig, lease: Lease, wallMs: number): Lease {
  const now = microTime(wallMs);
  const leaseTransitions = (lease.spec?.leaseTransitions ?? 0) + 1;
  return withSpec(config, lease, { acquireTime: now, renewTime: now, leaseTransitions });
}

/** Releases the Lease: without a holder, any candidate takes it at once. */
export function released(lease: Lease, wallMs: number): Lease {
  const now = microTime(wallMs);
  const { spec } = lease;
  return { ...lease, spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now } };
}

function withSpec(config: ElectionConfig, lease: Lease, fields: Partial<NonNullable<Lease['spec']>>): Lease {
  const labels =
    Object.keys(config.labels).length === 0 ? {} : { labels: { ...lease.metadata?.labels, ...config.labels } };
  return {
    ...lease,
    metadata: { ...lease.metadata, ...labels },
    spec: { leaseTransitions: 0, ...lease.spec, ...ownFields(config), ...fields },
  };
}

function ownFields({ identity, leaseDurationMs }: ElectionConfig) {
  return { holderIdentity: identity, leaseDurationSeconds: leaseDurationMs / 1000 };
}

/** metav1.MicroTime: exactly six fractional digits, or the API server refuses it. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
