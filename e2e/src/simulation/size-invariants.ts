// SPDX-License-Identifier: Apache-2.0
/**
 * Sizes and classes, once nothing happens any more: claim, PersistentVolume and storage agree, and no expansion or modification
 * is recorded as under way.
 */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import type { VolumeRecord } from '@csi-sidecars/test-driver';
import { parseQuantity } from '@csi-sidecars/volume';
import type { Stage } from './attachment-invariants.ts';

interface Trio {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
  readonly stored: VolumeRecord;
}

export function unsettledSizes(stage: Stage): readonly string[] {
  return triosOf(stage).flatMap((trio) => [...sizeBreaches(trio), ...classBreaches(stage, trio)]);
}

function triosOf({ server, driver }: Stage): readonly Trio[] {
  const volumes = new Map(server.objects.list(persistentVolumes).map((volume) => [volume.metadata?.name, volume]));
  const held = new Map(driver.volumes().map((stored) => [stored.id, stored]));
  return server.objects.list(persistentVolumeClaims).flatMap((claim) => {
    const volume = volumes.get(claim.spec?.volumeName ?? '');
    const stored = held.get(volume?.spec?.csi?.volumeHandle ?? '');
    return volume === undefined || stored === undefined ? [] : [{ claim, volume, stored }];
  });
}

function sizeBreaches({ claim: { metadata, status }, volume, stored }: Trio): readonly string[] {
  const sizes = {
    claim: bytesOf(status?.capacity?.['storage']),
    volume: bytesOf(volume.spec?.capacity?.['storage']),
    storage: stored.capacityBytes,
  };
  const breaches: string[] = [];
  if (new Set(Object.values(sizes)).size > 1) {
    const text = Object.entries(sizes).map(([whose, bytes]) => `${whose} ${bytes}`);
    breaches.push(`claim ${metadata?.name} has several sizes: ${text.join(', ')}`);
  }
  const resizing = status?.allocatedResourceStatuses?.['storage'];
  if (resizing !== undefined) breaches.push(`claim ${metadata?.name} is still ${resizing}`);
  return breaches;
}

function classBreaches({ server }: Stage, { claim: { metadata, status }, volume, stored }: Trio): readonly string[] {
  const breaches: string[] = [];
  if (status?.modifyVolumeStatus !== undefined) breaches.push(`claim ${metadata?.name} is still being modified`);
  const name = status?.currentVolumeAttributesClassName ?? '';
  if ((volume.spec?.volumeAttributesClassName ?? '') !== name) {
    breaches.push(`claim ${metadata?.name} and its volume have different classes`);
  }
  if (name === '') return breaches;
  const parameters = server.objects.get(volumeAttributesClasses, { name })?.parameters ?? {};
  if (!isSameMap(parameters, stored.mutableParameters)) {
    breaches.push(
      `claim ${metadata?.name} has class ${name}, its volume has ${JSON.stringify(stored.mutableParameters)}`,
    );
  }
  return breaches;
}

function bytesOf(size: string | undefined): bigint {
  return (parseQuantity(size ?? '0')?.nanos ?? -1n) / 1_000_000_000n;
}

function isSameMap(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => a[key] === b[key]);
}
