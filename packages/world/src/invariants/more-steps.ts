// SPDX-License-Identifier: Apache-2.0
/**
 * More that must hold at every moment.
 *
 * - `in-use`: a volume that is attached is not deleted.
 * - `gone`: DeleteVolume is not repeated for a PersistentVolume that is gone, by no process: its handle may be in use again.
 * - `same-size`: while the outcome of an expansion is open, no other size is called for the volume.
 * - `one-leader`: a process whose lease another one has taken stops calling within 10 seconds.
 * - `work-first`: a lease is released when nothing is in flight any more.
 */
import { leases, persistentVolumes } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import type { DriverModel } from '@csi-sidecars/test-driver';
import { leaseNamespace } from '../names.ts';
import type { StepChecks } from './at-every-step.ts';

export interface MoreStage {
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly driverName: string;
  readonly nowMs: () => number;
  /** The lease under which a method is called, by method. */
  readonly leaseOf: ReadonlyMap<string, string>;
}

export interface Answered {
  readonly process: string;
  readonly method: string;
  readonly request: object;
  readonly code: string;
}

export interface MoreChecks extends StepChecks {
  /** The driver has answered, whether or not the caller still waits. */
  readonly answered: (answer: Answered) => void;
  /** The caller has the answer, or has given up. */
  readonly heard: (answer: Answered) => void;
  /** A controller of the process has lost its Lease, and its memory with it; the process goes on. */
  readonly afterLoss: (process: string) => void;
  /**
   * Names of snapshots that got a final error after a call that was open, or whose process had died. They may stay: csi-snapshotter takes
   * that for the end of both.
   */
  readonly denied: ReadonlySet<string>;
}

type Request = Readonly<Record<string, unknown>>;

/** After these the driver may still be working on the request. */
const open: ReadonlySet<string> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'ResourceExhausted',
  'Aborted',
]);
const graceMs = 10_000;

export function withMoreChecks(
  checks: StepChecks,
  { server, driver, driverName, nowMs, leaseOf }: MoreStage,
): MoreChecks {
  const { objects } = server;
  const deleted = new Set<string>();
  const sizes = new Map<string, string>();
  /** Since when a process goes on without its lease, by process and lease. */
  const deposed = new Map<string, number>();
  const holders = new Map<string, string>();
  const inFlight = new Map<string, Set<string>>();
  const dead = new Set<string>();
  const denied = new Set<string>();
  /** Names of snapshots with a call whose end is not known, and of those with another one after it. */
  const asked = new Set<string>();
  const repeated = new Set<string>();
  let seen = -1;

  function holderOf(lease: string): string {
    const found = objects.get(leases, { namespace: leaseNamespace, name: lease });
    return found?.spec?.holderIdentity?.split('_')[0] ?? '';
  }

  function lookAtLease(process: string, method: string): void {
    const lease = leaseOf.get(method);
    if (lease === undefined) return;
    const key = `${process} ${lease}`;
    const holder = holderOf(lease);
    if (holder === podOf(process) || holder === '') return void deposed.delete(key);
    const sinceMs = deposed.get(key) ?? nowMs();
    deposed.set(key, sinceMs);
    if (nowMs() - sinceMs > graceMs)
      checks.breach(`one-leader: ${process} calls ${method} under the lease of ${holder}`);
  }

  function lookAtReleases(): void {
    for (const lease of new Set(leaseOf.values())) {
      const holder = holderOf(lease);
      const before = holders.get(lease) ?? '';
      holders.set(lease, holder);
      if (holder !== '' || before === '') continue;
      for (const [process, calls] of inFlight) {
        for (const call of podOf(process) === before ? calls : []) {
          if (leaseOf.get(call.split(' ')[0]!) === lease)
            checks.breach(`work-first: ${before} releases ${lease} during ${call}`);
        }
      }
    }
  }

  function noteSnapshot(name: string, code: string): void {
    if (open.has(code)) return;
    if (code !== 'OK' && repeated.has(name)) denied.add(name);
    asked.delete(name);
    repeated.delete(name);
  }

  return {
    ...checks,
    afterLoss: checks.afterDeath,
    denied,
    get breaches() {
      return checks.breaches;
    },
    beforeCall(process, method, request) {
      checks.beforeCall(process, method, request);
      lookAtLease(process, method);
      // What a dead process has sent still arrives.
      if (!dead.has(process)) inFlight.set(process, (inFlight.get(process) ?? new Set()).add(callOf(method, request)));
      const { volume_id: handle = '', capacity_range: range, name } = request as Request;
      const id = String(handle);
      if (method === 'DeleteVolume') {
        const volume = driver.volumes().find((each) => each.id === id);
        if ((volume?.attachments.length ?? 0) > 0) checks.breach('in-use: DeleteVolume of a volume that is attached');
        const isKnown = objects
          .list(persistentVolumes)
          .some(({ spec }) => spec?.csi?.driver === driverName && spec.csi.volumeHandle === id);
        if (deleted.has(id) && !isKnown) checks.breach('gone: DeleteVolume for a PersistentVolume that is gone');
      }
      if (method === 'CreateSnapshot') (asked.has(String(name)) ? repeated : asked).add(String(name));
      if (method === 'ControllerExpandVolume') {
        const size = String((range as Request)['required_bytes']);
        const before = sizes.get(id) ?? size;
        sizes.set(id, before);
        if (before !== size) checks.breach(`same-size: ${size} is called while the outcome of ${before} is open`);
      }
    },
    heard({ method, request, code }) {
      if (method === 'CreateSnapshot') noteSnapshot(String((request as Request)['name']), code);
    },
    answered({ method, request, code }) {
      if (method === 'DeleteVolume' && code === 'OK') deleted.add(String((request as Request)['volume_id']));
      if (method !== 'ControllerExpandVolume' || open.has(code)) return;
      sizes.delete(String((request as Request)['volume_id']));
    },
    afterCall(process, method, request) {
      checks.afterCall(process, method, request);
      inFlight.get(process)?.delete(callOf(method, request));
    },
    afterDeath(process) {
      checks.afterDeath(process);
      dead.add(process);
      inFlight.delete(process);
    },
    look() {
      checks.look();
      if (seen === server.revision()) return;
      seen = server.revision();
      lookAtReleases();
    },
  };
}

const podOf = (process: string): string => process.split('#')[0] ?? '';

function callOf(method: string, request: object): string {
  const { volume_id: volume, snapshot_id: snapshot, name } = request as Request;
  return `${method} ${String(volume ?? snapshot ?? name)}`;
}
