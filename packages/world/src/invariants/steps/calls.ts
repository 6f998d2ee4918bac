// SPDX-License-Identifier: Apache-2.0
/**
 * - `one-call`: a process has one call in flight for each volume, volume on a node, and snapshot.
 * - `one-leader`: a process whose lease another one has taken stops calling within 10 seconds.
 * - `work-first`: a lease is released when nothing is in flight any more.
 */
import type { DriverModel } from '@csi-sidecars/test-driver';
import { holderOf } from '../../leases.ts';
import { type Call, type Check, type Findings, podOf, type Stage } from './stage.ts';

const graceMs = 10_000;

export function callChecks({ server, driver, nowMs, leaseOf }: Stage, { breach }: Findings): Check {
  const calls = new Set<Call>();
  /** Their process has died, or lost its connection. */
  const abandoned = new WeakSet<Call>();
  /** What a call was about when it was sent: a volume has no name any more once it is deleted. */
  const subjects = new WeakMap<object, string>();
  /** Since when a process goes on without its lease, by process and lease. */
  const deposed = new Map<string, number>();
  const holders = new Map<string, string>();

  function lookAtHolder({ process, method }: Call): void {
    const lease = leaseOf.get(method);
    if (lease === undefined) return;
    const key = `${process} ${lease}`;
    const holder = holderOf(server, lease);
    if (holder === podOf(process) || holder === '') return void deposed.delete(key);
    const sinceMs = deposed.get(key) ?? nowMs();
    deposed.set(key, sinceMs);
    if (nowMs() - sinceMs > graceMs) breach(`one-leader: ${process} calls ${method} under the lease of ${holder}`);
  }

  function lookAtOthers(call: Call): void {
    const subject = subjectOf(driver, call);
    const isDouble = [...calls].some(
      (other) => other.process === call.process && subject !== '' && subjects.get(other.request) === subject,
    );
    if (isDouble) breach(`one-call: ${call.process} ${subject} is called while such a call is in flight`);
    subjects.set(call.request, subject);
  }

  function lookAtReleases(): void {
    for (const lease of new Set(leaseOf.values())) {
      const holder = holderOf(server, lease);
      const before = holders.get(lease) ?? '';
      holders.set(lease, holder);
      if (holder !== '' || before === '') continue;
      for (const call of calls) {
        const isOfLease = podOf(call.process) === before && leaseOf.get(call.method) === lease;
        if (isOfLease && !abandoned.has(call)) breach(`work-first: ${before} releases ${lease} during ${call.method}`);
      }
    }
  }

  return {
    beforeCall(call) {
      lookAtOthers(call);
      lookAtHolder(call);
      calls.add(call);
    },
    afterCall({ request }) {
      for (const call of calls) if (call.request === request) calls.delete(call);
    },
    afterDeath(process) {
      for (const call of calls) if (call.process === process) abandoned.add(call);
    },
    lookAtLeases: lookAtReleases,
  };
}

/** Calls of one kind: no two of a process about one object may be in flight. */
const families: readonly (readonly string[])[] = [
  ['CreateVolume', 'DeleteVolume'],
  ['ControllerPublishVolume', 'ControllerUnpublishVolume'],
  ['ControllerExpandVolume', 'ControllerModifyVolume'],
  ['CreateSnapshot', 'DeleteSnapshot'],
  ['CreateVolumeGroupSnapshot', 'DeleteVolumeGroupSnapshot'],
];

/** Empty for calls that may overlap. */
function subjectOf(driver: DriverModel, { method, request }: Call): string {
  const family = families.find((each) => each.includes(method))?.[0];
  if (family === undefined) return '';
  const { volume_id: volume, snapshot_id: snapshot, group_snapshot_id: group, name, node_id: node = '' } = request;
  const [handle, records] =
    typeof volume === 'string'
      ? [volume, driver.volumes()]
      : typeof snapshot === 'string'
        ? [snapshot, driver.snapshots()]
        : [group, driver.groups()];
  const known = records.find(({ id }) => id === handle)?.name;
  return `${family} ${String(known ?? handle ?? name)} ${String(node)}`.trimEnd();
}
