// SPDX-License-Identifier: Apache-2.0
/**
 * What must hold at every moment. A breach is a sentence that begins with the name of the invariant; each is reported once.
 *
 * - `one-volume`: a claim has at most one volume in the driver.
 * - `recorded`: a volume or snapshot that had an object in the API has one until it is deleted.
 * - `in-use`: nothing is deleted or detached that the API, or a node, says is in use, and no content that is to be retained.
 * - `intent`: a call is made only after the API shows that it will be.
 * - `protected`: what is attached has a VolumeAttachment and a PersistentVolume that cannot go; the claim of a snapshot that is being taken
 *   cannot go.
 * - `shown`: an attachment shows that it is attached as long as it is.
 * - `one-call`: a process has one call in flight for each volume, volume on a node, and snapshot.
 */
import {
  persistentVolumeClaims,
  persistentVolumes,
  type PersistentVolume,
  volumeAttachments,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import type { DriverModel } from '@csi-sidecars/test-driver';
import { nodeIdOf } from '../names.ts';
import { snapshotAnnotations, type VolumeSnapshotContent, volumeSnapshotContents } from '@csi-sidecars/volume';
import { deletedThoughKept, unprotectedSource } from './of-snapshots.ts';

export interface StepChecks {
  readonly beforeCall: (process: string, method: string, request: object) => void;
  readonly afterCall: (process: string, method: string, request: object) => void;
  /** A process has died. */
  readonly afterDeath: (process: string) => void;
  /**
   * Names of volumes that a process had requested and not recorded when it died. Without a finalizer from the first call on, the volume of a
   * claim that is deleted then may stay: a window that the provisioner's page documents.
   */
  readonly orphaned: ReadonlySet<string>;
  /** Handles of volumes and snapshots that an object has recorded as retained: they may outlive it. */
  readonly retained: Set<string>;
  /** Looks again if anything has changed. */
  readonly look: () => void;
  readonly breach: (text: string) => void;
  readonly breaches: readonly string[];
}

export interface Stage {
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly driverName: string;
  /** Whether a pod on the node has the volume mounted. */
  readonly isMounted: (volumeName: string, nodeId: string) => boolean;
  /** UIDs of objects of which others have replaced what our programs had written. */
  readonly overwritten: ReadonlySet<string>;
}

type Request = Readonly<Record<string, unknown>>;

export function createStepChecks(stage: Stage): StepChecks {
  const { server, driver, driverName, overwritten } = stage;
  const { objects } = server;
  const breaches = new Set<string>();
  const inFlight = new Set<string>();
  /** What a request was about when it was sent: a volume has no name any more once it is deleted. */
  const keys = new WeakMap<object, string>();
  const recordedVolumes = new Set<string>();
  const recordedSnapshots = new Set<string>();
  const requested = new Map<string, Set<string>>();
  const orphaned = new Set<string>();
  const retained = new Set<string>();
  const attachedOnce = new Set<string>();
  /** The error that a detached attachment shows, by UID. */
  const detached = new Map<string, string>();
  let seen = '';

  const breach = (text: string): void => void breaches.add(text);
  const report = (text: string | undefined): void => void (text === undefined || breach(text));
  const ownVolumes = (): readonly PersistentVolume[] =>
    objects.list(persistentVolumes).filter(({ spec }) => spec?.csi?.driver === driverName);
  const ownContents = (): readonly VolumeSnapshotContent[] =>
    objects.list(volumeSnapshotContents).filter(({ spec }) => spec?.driver === driverName);
  const volumeOf = (handle: unknown): PersistentVolume | undefined =>
    ownVolumes().find(({ spec }) => spec?.csi?.volumeHandle === handle);
  const isKept = (volume: PersistentVolume | undefined): boolean =>
    isHeld(volume) || overwritten.has(volume?.metadata?.uid ?? '');
  const attachmentOf = (volume: PersistentVolume | undefined, nodeId: unknown): VolumeAttachment | undefined =>
    objects
      .list(volumeAttachments)
      .find(
        ({ spec }) =>
          spec.source.persistentVolumeName === volume?.metadata?.name && `id-${spec.nodeName}` === String(nodeId),
      );

  const beforeMethod: Readonly<Record<string, (request: Request) => void>> = {
    DeleteVolume({ volume_id: handle }) {
      const volume = volumeOf(handle);
      const phase = volume?.status?.phase ?? '';
      if (volume !== undefined && phase !== 'Released') breach(`in-use: DeleteVolume of a volume that is ${phase}`);
      if (volume !== undefined && volume.spec?.persistentVolumeReclaimPolicy !== 'Delete') {
        breach('in-use: DeleteVolume of a volume that is retained');
      }
    },
    ControllerPublishVolume({ volume_id: handle, node_id: nodeId }) {
      const volume = volumeOf(handle);
      const attachment = attachmentOf(volume, nodeId);
      if (!isHeld(attachment)) breach('intent: ControllerPublishVolume without a VolumeAttachment that is held');
      if (!isKept(volume)) breach('intent: ControllerPublishVolume without a PersistentVolume that is held');
    },
    ControllerUnpublishVolume({ volume_id: handle, node_id: nodeId }) {
      const volume = volumeOf(handle);
      const attachment = attachmentOf(volume, nodeId);
      if (attachment !== undefined && attachment.metadata?.deletionTimestamp === undefined) {
        breach('in-use: ControllerUnpublishVolume while the VolumeAttachment is wanted');
      }
      if (stage.isMounted(volume?.metadata?.name ?? '', String(nodeId))) {
        breach('in-use: ControllerUnpublishVolume while the node has the volume mounted');
      }
    },
    ControllerExpandVolume({ volume_id: handle }) {
      const claimRef = volumeOf(handle)?.spec?.claimRef;
      const claim = objects.get(persistentVolumeClaims, { namespace: claimRef?.namespace, name: claimRef?.name ?? '' });
      const status = claim?.status?.allocatedResourceStatuses?.['storage'];
      // A claim that has gone since shows nothing.
      if (claim === undefined || claim.metadata?.uid !== claimRef?.uid) return;
      if (status === undefined) breach('intent: ControllerExpandVolume for a claim whose status does not say so');
    },
    CreateSnapshot({ name }) {
      const content = ownContents().find(({ spec }) => `snapshot-${spec?.volumeSnapshotRef?.uid}` === name);
      const { annotations, labels } = content?.metadata ?? {};
      // A writer with an old copy may have removed the annotation.
      if ({ ...labels, ...annotations }[snapshotAnnotations.beingCreated] === undefined) {
        breach('intent: CreateSnapshot without a content that says so');
      }
      report(content && unprotectedSource(objects, content));
    },
  };

  function lookAtVolumes(): void {
    const names = new Set<string>();
    const held = ownVolumes();
    const known = new Set(held.map(({ spec }) => spec?.csi?.volumeHandle ?? ''));
    for (const { id, name, phase, attachments } of driver.volumes()) {
      if (phase !== 'ready') continue;
      if (names.has(name)) breach(`one-volume: two volumes are named ${name}`);
      names.add(name);
      if (recordedVolumes.has(id) && !known.has(id) && !retained.has(id))
        breach(`recorded: volume ${name} has lost its PersistentVolume`);
      if (attachments.length === 0) continue;
      const volume = volumeOf(id);
      if (!isKept(volume)) breach(`protected: ${name} is attached and its PersistentVolume may go`);
      for (const { nodeId } of attachments) {
        if (!isHeld(attachmentOf(volume, nodeId))) breach(`protected: ${name} is on ${nodeId}, its attachment may go`);
      }
      if (attachments.length > 1) breach(`in-use: ${name} is attached to two nodes`);
    }
    for (const { spec } of held) {
      const isRetained = spec?.persistentVolumeReclaimPolicy === 'Retain';
      (isRetained ? retained : recordedVolumes).add(spec?.csi?.volumeHandle ?? '');
    }
  }

  function lookAtAttachments(): void {
    for (const { metadata, spec, status } of objects.list(volumeAttachments)) {
      const uid = metadata?.uid ?? '';
      const error = JSON.stringify(status?.detachError ?? null);
      const isDetached =
        metadata?.deletionTimestamp !== undefined && status?.attached !== true && !isHeld({ metadata });
      if (error !== 'null' && error !== (detached.get(uid) ?? error)) {
        breach(`shown: attachment ${metadata?.name} is detached and gets an error`);
      }
      if (isDetached) detached.set(uid, error);
      const handle = objects.get(persistentVolumes, { name: spec.source.persistentVolumeName ?? '' })?.spec?.csi;
      const stored = driver.volumes().find(({ id }) => id === handle?.volumeHandle);
      const isOnNode = stored?.attachments.some(({ nodeId }) => nodeId === nodeIdOf(spec.nodeName)) === true;
      // One that the driver has lost stays `attached` while it is attached again.
      if (isOnNode && status?.attached === true && status.attachError !== undefined) {
        breach(`shown: attachment ${metadata?.name} is attached and shows that it cannot be`);
      }
      const isWanted = metadata?.deletionTimestamp === undefined;
      if (attachedOnce.has(uid) && isWanted && isOnNode && status?.attached !== true) {
        breach(`shown: attachment ${metadata?.name} shows no more that it is attached`);
      }
      if (status?.attached === true) attachedOnce.add(uid);
    }
  }

  function lookAtSnapshots(): void {
    const contents = ownContents();
    const known = new Set(contents.map(({ status }) => status?.snapshotHandle ?? ''));
    for (const { id, name, phase } of driver.snapshots()) {
      if (phase === 'ready' && recordedSnapshots.has(id) && !known.has(id) && !retained.has(id)) {
        breach(`recorded: snapshot ${name} has lost its content`);
      }
    }
    for (const { spec, status } of contents) {
      const { snapshotHandle: handle } = status ?? {};
      if (handle === undefined) continue;
      // The policy of its last moment counts.
      const isRetained = spec?.deletionPolicy === 'Retain';
      (isRetained ? retained : recordedSnapshots).add(handle);
      (isRetained ? recordedSnapshots : retained).delete(handle);
    }
    report(deletedThoughKept(server));
  }

  return {
    breach,
    beforeCall(process, method, request) {
      const call = callKey(driver, method, request as Request);
      const key = `${process} ${call}`;
      keys.set(request, key);
      if (call !== '' && inFlight.has(key)) breach(`one-call: ${key} is called while such a call is in flight`);
      if (call !== '') inFlight.add(key);
      beforeMethod[method]?.(request as Request);
      if (method !== 'CreateVolume') return;
      const names = requested.get(process) ?? new Set<string>();
      requested.set(process, names.add(String((request as Request)['name'])));
    },
    afterCall(_process, _method, request) {
      inFlight.delete(keys.get(request) ?? '');
    },
    afterDeath(process) {
      for (const name of requested.get(process) ?? []) {
        if (objects.get(persistentVolumes, { name }) === undefined) orphaned.add(name);
      }
    },
    orphaned,
    retained,
    look() {
      const now = `${server.revision()} ${driver.calls.length}`;
      if (now === seen) return;
      seen = now;
      lookAtVolumes();
      lookAtAttachments();
      lookAtSnapshots();
    },
    get breaches() {
      return [...breaches];
    },
  };
}

function isHeld(object: { readonly metadata?: { readonly finalizers?: readonly string[] } } | undefined): boolean {
  return object?.metadata?.finalizers?.some((each) => each.startsWith('external-attacher/')) === true;
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
function callKey(driver: DriverModel, method: string, request: Request): string {
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
