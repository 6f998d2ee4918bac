// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants that must hold at every step, and others that must hold once nothing happens any more. Each violation is reported as a sentence.
 *
 * At every step: a claim has at most one volume in the driver; a volume that has a PersistentVolume has one until it is
 * deleted; DeleteVolume is called for volumes that are Released, or that were never recorded.
 *
 * When quiet: every volume in the driver has its PersistentVolume and the other way round; every claim is Bound to a
 * PersistentVolume that is Bound to it; nothing is being deleted; no provisioning finalizer is left; sizes and classes agree
 * (size-invariants.ts).
 */
import { persistentVolumeClaims, persistentVolumes, type KubeObject } from '@csi-sidecars/runtime';
import { defaultSettings } from '@csi-sidecars/test-driver';
import { unprotectedAttachments, unsettledAttachments, type Stage } from './attachment-invariants.ts';
import { unsettledSizes } from './size-invariants.ts';
import { leakedSnapshots, unsettledSnapshots } from './snapshot-invariants.ts';

export interface StepChecks {
  afterStep(): void;
  beforeDeleteVolume(handle: string): void;
  readonly breaches: readonly string[];
}

export function createStepChecks({ server, driver }: Stage): StepChecks {
  const recorded = new Set<string>();
  const breaches = new Set<string>();
  const handles = (): ReadonlySet<string> =>
    new Set(
      server.objects
        .list(persistentVolumes)
        // The others outlive their objects.
        .filter(({ spec }) => spec?.persistentVolumeReclaimPolicy !== 'Retain')
        .map(({ spec }) => spec?.csi?.volumeHandle ?? ''),
    );
  return {
    afterStep() {
      const known = handles();
      const names = new Set<string>();
      for (const { id, name, phase } of driver.volumes()) {
        if (phase !== 'ready') continue;
        if (names.has(name)) breaches.add(`two volumes are named ${name}`);
        names.add(name);
        if (recorded.has(id) && !known.has(id)) breaches.add(`volume ${name} exists, its PersistentVolume is gone`);
      }
      for (const handle of known) recorded.add(handle);
      for (const breach of unprotectedAttachments({ server, driver })) breaches.add(breach);
    },
    beforeDeleteVolume(handle) {
      const volume = server.objects.list(persistentVolumes).find(({ spec }) => spec?.csi?.volumeHandle === handle);
      const phase = volume?.status?.phase ?? '';
      if (volume !== undefined && phase !== 'Released') breaches.add(`DeleteVolume of a volume that is ${phase}`);
    },
    get breaches() {
      return [...breaches];
    },
  };
}

export interface QuietState {
  /** Volumes and snapshots in the driver without an object in the API. */
  readonly leaked: readonly string[];
  readonly breaches: readonly string[];
}

export function checkWhenQuiet({ server, driver }: Stage): QuietState {
  const claims = server.objects.list(persistentVolumeClaims);
  const volumes = server.objects.list(persistentVolumes);
  const breaches: string[] = [];
  for (const claim of claims) {
    const { name = '' } = claim.metadata ?? {};
    const volume = volumes.find(({ metadata }) => metadata?.name === claim.spec?.volumeName);
    if (claim.status?.phase !== 'Bound') breaches.push(`claim ${name} is ${claim.status?.phase ?? 'new'}`);
    else if (volume?.spec?.claimRef?.uid !== claim.metadata?.uid) breaches.push(`claim ${name} has lost its volume`);
    if (isProtected(claim)) breaches.push(`claim ${name} still has the provisioning finalizer`);
    if (isDeleting(claim)) breaches.push(`claim ${name} is still being deleted`);
  }
  const held = new Set(driver.volumes().map(({ id }) => id));
  const recorded = new Set<string>();
  for (const volume of volumes) {
    const { name = '' } = volume.metadata ?? {};
    const handle = volume.spec?.csi?.volumeHandle ?? '';
    if (recorded.has(handle)) breaches.push(`two PersistentVolumes record ${handle}`);
    recorded.add(handle);
    const wanted = volume.spec?.claimRef === undefined ? 'Available' : 'Bound';
    if (volume.status?.phase !== wanted) breaches.push(`PersistentVolume ${name} is ${volume.status?.phase ?? 'new'}`);
    if (isDeleting(volume)) breaches.push(`PersistentVolume ${name} is still being deleted`);
    if (!held.has(handle)) breaches.push(`PersistentVolume ${name} has no volume`);
  }
  const leaked = driver
    .volumes()
    .filter(({ id }) => !recorded.has(id))
    .map(({ name }) => name);
  const stage = { server, driver };
  return {
    leaked: [...leaked, ...leakedSnapshots(stage)],
    breaches: [...breaches, ...unsettledAttachments(stage), ...unsettledSizes(stage), ...unsettledSnapshots(stage)],
  };
}

/** A volume may exist for the claim that no PersistentVolume records. */
export function isProtected({ metadata }: KubeObject): boolean {
  return (
    metadata?.finalizers?.includes(
      `provisioning-protection.provisioner.storage.kubernetes.io/${defaultSettings.name}`,
    ) === true
  );
}

function isDeleting({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}
