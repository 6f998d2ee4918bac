// SPDX-License-Identifier: Apache-2.0
/**
 * - `intent`: a snapshot is cut only once its content says so, and no content says so again that is ready or is to be deleted.
 * - `protected`: the claim of a snapshot that is being cut cannot go.
 * - `recorded`: a snapshot that had an object in the API has one until it is deleted.
 * - `in-use`: no content is deleted that is to be retained.
 */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { type Check, type Findings, open, ownContents, type Stage } from './stage.ts';

/** How long after its arrival a request has had its effect. */
const sameMomentMs = 100;
const cuts: ReadonlySet<string> = new Set(['CreateSnapshot', 'CreateVolumeGroupSnapshot']);

export function snapshotChecks(stage: Stage, { breach, retained, denied, bornLate }: Findings): Check {
  const { server, driver, nowMs, lateUntilMs } = stage;
  const { objects } = server;
  const recorded = new Set<string>();
  /** Names of snapshots with a call whose end is not known, and of those with another one after it. */
  const asked = new Set<string>();
  const repeated = new Set<string>();
  /** Process and name of each call whose outcome its process does not know. */
  const underWay = new Set<string>();
  /** Processes of snapshot-controller that have died. */
  const dead = new Set<string>();
  /** UIDs of contents that were seen. */
  const born = new Set<string>();
  /** UIDs of snapshots whose content was being deleted. */
  const ending = new Set<string>();
  /** How much of an intent is shown by contents that need none any more, by UID. */
  const finished = new Map<string, number>();

  function beforeSnapshot(name: unknown): void {
    const content = ownContents(stage).find(({ spec }) => `snapshot-${spec?.volumeSnapshotRef?.uid}` === name);
    const { annotations, labels } = content?.metadata ?? {};
    // A writer with an old copy may have removed the annotation.
    if ({ ...labels, ...annotations }[snapshotAnnotations.beingCreated] === undefined) {
      breach('intent: CreateSnapshot without a content that says so');
    }
    if (content !== undefined) lookAtSource(content);
  }

  /** Until the snapshot is ready or is being deleted, its claim cannot go. */
  function lookAtSource({ spec }: VolumeSnapshotContent): void {
    const { namespace, name = '', uid } = spec?.volumeSnapshotRef ?? {};
    const snapshot = objects.get(volumeSnapshots, { namespace, name });
    const isWanted = snapshot?.metadata?.uid === uid && snapshot?.metadata?.deletionTimestamp === undefined;
    if (!isWanted || snapshot?.status?.readyToUse === true) return;
    const source = snapshot?.spec?.source?.persistentVolumeClaimName ?? '';
    const claim = objects.get(persistentVolumeClaims, { namespace, name: source });
    const isHeld = claim?.metadata?.finalizers?.includes(snapshotFinalizers.claim) === true;
    if (!isHeld) breach(`protected: a snapshot is taken of claim ${source}, which may go`);
  }

  function isRecorded(name: string): boolean {
    const id = [...driver.snapshots(), ...driver.groups()].find((each) => each.name === name)?.id;
    const handles = [
      ...objects.list(volumeSnapshotContents).map(({ status }) => status?.snapshotHandle),
      ...objects.list(volumeGroupSnapshotContents).map(({ status }) => status?.volumeGroupSnapshotHandle),
    ];
    return id !== undefined && handles.includes(id);
  }

  function noteEnd(name: string, code: string): void {
    // What was made is not recorded yet.
    if (code === 'OK' || open.has(code)) return;
    if (repeated.has(name) && !isRecorded(name)) denied.add(name);
    asked.delete(name);
    repeated.delete(name);
  }

  function lookAtRecords(): void {
    const contents = ownContents(stage);
    const known = new Set(contents.map(({ status }) => status?.snapshotHandle ?? ''));
    for (const { id, name, phase } of driver.snapshots()) {
      if (phase === 'ready' && recorded.has(id) && !known.has(id) && !retained.has(id)) {
        breach(`recorded: snapshot ${name} has lost its content`);
      }
    }
    for (const { spec, status } of contents) {
      const { snapshotHandle: handle } = status ?? {};
      if (handle === undefined) continue;
      // The policy of its last moment counts.
      const isRetained = spec?.deletionPolicy === 'Retain';
      (isRetained ? retained : recorded).add(handle);
      (isRetained ? recorded : retained).delete(handle);
    }
  }

  /** Only of what csi-snapshotter writes: others put old annotations back. The intent of a call that is open may be written again. */
  function lookAtIntent({ metadata, spec, status }: VolumeSnapshotContent): void {
    const { uid = '', name, labels, annotations, deletionTimestamp } = metadata ?? {};
    const { beingCreated, beingDeleted } = snapshotAnnotations;
    const marks = [labels, annotations].filter((each) => each?.[beingCreated] !== undefined).length;
    const isByProgram = /^csi-(snapshotter|sidecars)/.test(server.requests.at(-1)?.userAgent ?? '');
    if (isByProgram && marks > (finished.get(uid) ?? marks))
      breach(`intent: content ${name} says again that it is being created`);
    const isToGo = deletionTimestamp !== undefined && annotations?.[beingDeleted] !== undefined && marks === 0;
    const isOpen = [...underWay].some((each) => each.endsWith(` snapshot-${spec?.volumeSnapshotRef?.uid}`));
    if (status?.readyToUse === true || (isToGo && !isOpen)) finished.set(uid, marks);
    else finished.delete(uid);
  }

  function lookAtLastRequest(): void {
    const { verb, resource, name = '', code, userAgent } = server.requests.at(-1) ?? {};
    if (verb !== 'delete' || resource !== volumeSnapshotContents.plural || code !== 200) return;
    const isKept = objects.get(volumeSnapshotContents, { name })?.spec?.deletionPolicy === 'Retain';
    const isByProgram = userAgent?.startsWith('snapshot-controller') === true;
    if (isKept && isByProgram) breach(`in-use: content ${name} is deleted, and is to be retained`);
  }

  /** Only what a process had sent before it died: one that lives makes nothing for a snapshot that is gone. */
  function lookAtBirths(): void {
    for (const content of objects.list(volumeSnapshotContents)) {
      if (content.metadata?.deletionTimestamp !== undefined) ending.add(ownerOf(content) ?? '');
    }
    for (const content of [...objects.list(volumeSnapshotContents), ...objects.list(volumeGroupSnapshotContents)]) {
      const { uid = '' } = content.metadata ?? {};
      if (born.has(uid)) continue;
      born.add(uid);
      const isLate = [...dead].some((process) => lateUntilMs(process) >= nowMs() - sameMomentMs);
      if (isLate && !isWaitedFor(content)) bornLate.add(uid);
    }
  }

  /** Its snapshot or group is there. A snapshot that is being deleted looks for no other content when it has let one go (D3, D10). */
  function isWaitedFor(content: VolumeSnapshotContent | VolumeGroupSnapshotContent): boolean {
    const owners = [...objects.list(volumeSnapshots), ...objects.list(volumeGroupSnapshots)];
    const metadata = owners.find((owner) => owner.metadata?.uid === ownerOf(content))?.metadata;
    return metadata !== undefined && !(metadata.deletionTimestamp !== undefined && ending.has(metadata.uid ?? ''));
  }

  return {
    afterDeath(process) {
      if (process.startsWith('snapshot-controller')) dead.add(process);
      for (const each of underWay) if (each.startsWith(`${process} `)) underWay.delete(each);
    },
    beforeCall({ process, method, request: { name } }) {
      if (method === 'CreateSnapshot') beforeSnapshot(name);
      if (!cuts.has(method)) return;
      (asked.has(String(name)) ? repeated : asked).add(String(name));
      underWay.add(`${process} ${String(name)}`);
    },
    heard({ process, method, request: { name }, code }) {
      if (!open.has(code)) underWay.delete(`${process} ${String(name)}`);
      if (cuts.has(method)) noteEnd(String(name), code);
    },
    look() {
      lookAtRecords();
      for (const content of ownContents(stage)) lookAtIntent(content);
      lookAtLastRequest();
      lookAtBirths();
    },
  };
}

function ownerOf({ spec = {} }: VolumeSnapshotContent | VolumeGroupSnapshotContent): string | undefined {
  return 'volumeGroupSnapshotRef' in spec
    ? spec.volumeGroupSnapshotRef?.uid
    : (spec as VolumeSnapshotContent['spec'])?.volumeSnapshotRef?.uid;
}
