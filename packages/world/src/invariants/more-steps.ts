// SPDX-License-Identifier: Apache-2.0
/**
 * More that must hold at every moment.
 *
 * - `in-use`: a volume that is attached is not deleted.
 * - `gone`: DeleteVolume is not repeated for a PersistentVolume that is gone, by no process: its handle may be in use again.
 * - `one-volume`: in node deployment no instance asks for the volume of a claim while another one may have made it.
 * - `same-size`: while the outcome of an expansion is open, no other size is called for the volume.
 * - `one-leader`: a process whose lease another one has taken stops calling within 10 seconds.
 * - `work-first`: a lease is released when nothing is in flight any more.
 */
import { leases, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import type { DriverModel } from '@csi-sidecars/test-driver';
import { volumeGroupSnapshotContents, volumeSnapshotContents } from '@csi-sidecars/volume';
import { leaseNamespace } from '../names.ts';
import type { StepChecks } from './at-every-step.ts';
import { createPace, type PaceStage } from './pace.ts';

export interface MoreStage extends Pick<PaceStage, 'lateUntilMs'> {
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly driverName: string;
  readonly nowMs: () => number;
  /** The lease under which a method is called, by method. */
  readonly leaseOf: ReadonlyMap<string, string>;
  /** The program that calls a method, by method. */
  readonly programOf: ReadonlyMap<string, string>;
  /** Each node has volumes of its own, and a claim shows from the first call on whose it is. */
  readonly isOnNodes: boolean;
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
  /**
   * Names of snapshots and groups that got a final error after a call that was open, whose process had died, or whose snapshot is not recorded. They may
   * stay: csi-snapshotter takes the error for the end of all.
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
const cuts: ReadonlySet<string> = new Set(['CreateSnapshot', 'CreateVolumeGroupSnapshot']);
/** A run of the others may make two calls, and what has come during the first is new to the second. */
const paced: ReadonlySet<string> = new Set(['ControllerExpandVolume', 'ControllerModifyVolume']);

export function withMoreChecks(
  checks: StepChecks,
  { server, driver, driverName, nowMs, lateUntilMs, leaseOf, programOf, isOnNodes }: MoreStage,
): MoreChecks {
  const { objects } = server;
  const deleted = new Set<string>();
  const sizes = new Map<string, string>();
  /** Since when a process goes on without its lease, by process and lease. */
  const deposed = new Map<string, number>();
  const holders = new Map<string, string>();
  const provisioners = new Set<string>();
  let term = '';
  const inFlight = new Map<string, Set<string>>();
  const denied = new Set<string>();
  /** Answers to CreateVolume since its claim is leaving, by the name of the volume. */
  const leaving = new Map<string, number>();
  /** Names of snapshots with a call whose end is not known, and of those with another one after it. */
  const asked = new Set<string>();
  const repeated = new Set<string>();
  /** Who may have made a volume, by its name. */
  const makers = new Map<string, string>();
  const pace = createPace({ server, nowMs, lateUntilMs, breach: checks.breach });
  let seen = -1;

  function holderOf(lease: string): string {
    const found = objects.get(leases, { namespace: leaseNamespace, name: lease });
    return found?.spec?.holderIdentity ?? '';
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

  /** P6 of the provisioner's page: the call of a claim that is leaving ends with a final code once three answers came. */
  function noteVolume(name: string, code: string): void {
    const claim = objects.list(persistentVolumeClaims).find(({ metadata }) => name === `pvc-${metadata?.uid}`);
    const answers = (leaving.get(name) ?? 0) + 1;
    if (claim !== undefined && claim.metadata?.deletionTimestamp === undefined) return;
    leaving.set(name, answers);
    if (answers >= 3 && code !== 'OK' && !open.has(code)) denied.add(name);
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

  function isRecorded(name: string): boolean {
    const id = [...driver.snapshots(), ...driver.groups()].find((each) => each.name === name)?.id;
    const handles = [
      ...objects.list(volumeSnapshotContents).map(({ status }) => status?.snapshotHandle),
      ...objects.list(volumeGroupSnapshotContents).map(({ status }) => status?.volumeGroupSnapshotHandle),
    ];
    return id !== undefined && handles.includes(id);
  }

  /** A leader whose term is over has lost its memory, also where its process goes on. */
  function lookAtTerm(): void {
    const name = leaseOf.get('CreateVolume') ?? '';
    const { holderIdentity, acquireTime } = objects.get(leases, { namespace: leaseNamespace, name })?.spec ?? {};
    const now = `${holderIdentity} ${acquireTime}`;
    if (now === term) return;
    const [leader] = term.split(' ');
    for (const process of provisioners) {
      if (podOf(process) === leader) checks.afterDeath(process);
    }
    term = now;
  }

  function noteSnapshot(name: string, code: string): void {
    // What was made is not recorded yet.
    if (code === 'OK' || open.has(code)) return;
    if (repeated.has(name) && !isRecorded(name)) denied.add(name);
    asked.delete(name);
    repeated.delete(name);
  }

  function lookAtMaker(process: string, name: string): void {
    const other = makers.get(name) ?? podOf(process);
    makers.set(name, podOf(process));
    if (!isOnNodes || other === podOf(process)) return;
    checks.breach(`one-volume: ${podOf(process)} asks for ${name}, which ${other} may have made`);
  }

  return {
    ...checks,
    denied,
    get breaches() {
      return checks.breaches;
    },
    beforeCall(process, method, request) {
      checks.beforeCall(process, method, request);
      lookAtLease(process, method);
      if (paced.has(method)) pace.before(process, programOf.get(method) ?? '', request);
      inFlight.set(process, (inFlight.get(process) ?? new Set()).add(callOf(method, request)));
      const { volume_id: handle = '', capacity_range: range, name } = request as Request;
      const id = String(handle);
      if (method === 'CreateVolume') provisioners.add(process);
      if (method === 'DeleteVolume') {
        const volume = driver.volumes().find((each) => each.id === id);
        if ((volume?.attachments.length ?? 0) > 0) checks.breach('in-use: DeleteVolume of a volume that is attached');
        const isKnown = objects
          .list(persistentVolumes)
          .some(({ spec }) => spec?.csi?.driver === driverName && spec.csi.volumeHandle === id);
        if (deleted.has(id) && !isKnown) checks.breach('gone: DeleteVolume for a PersistentVolume that is gone');
      }
      if (method === 'CreateVolume') lookAtMaker(process, String(name));
      if (cuts.has(method)) (asked.has(String(name)) ? repeated : asked).add(String(name));
      if (method === 'ControllerExpandVolume') {
        const size = String((range as Request)['required_bytes']);
        const before = sizes.get(id) ?? size;
        sizes.set(id, before);
        if (before !== size) checks.breach(`same-size: ${size} is called while the outcome of ${before} is open`);
      }
    },
    heard({ method, request, code }) {
      if (cuts.has(method)) noteSnapshot(String((request as Request)['name']), code);
    },
    answered({ process, method, request, code }) {
      pace.answered(process, request, code);
      const { name, volume_id: handle } = request as Request;
      if (method === 'CreateVolume' && code === 'ResourceExhausted') makers.delete(String(name));
      if (method === 'DeleteVolume' && code === 'OK') deleted.add(String(handle));
      if (method === 'CreateVolume') noteVolume(String(name), code);
      if (method !== 'ControllerExpandVolume' || open.has(code)) return;
      sizes.delete(String((request as Request)['volume_id']));
    },
    afterCall(process, method, request) {
      checks.afterCall(process, method, request);
      inFlight.get(process)?.delete(callOf(method, request));
    },
    afterDeath(process) {
      checks.afterDeath(process);
      pace.forget(process);
      inFlight.delete(process);
    },
    look() {
      checks.look();
      pace.look();
      if (seen === server.revision()) return;
      seen = server.revision();
      lookAtReleases();
      lookAtTerm();
    },
  };
}

const podOf = (process: string): string => process.split('#')[0] ?? '';

function callOf(method: string, request: object): string {
  const { volume_id: volume, snapshot_id: snapshot, name } = request as Request;
  return `${method} ${String(volume ?? snapshot ?? name)}`;
}
