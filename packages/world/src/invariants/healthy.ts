// SPDX-License-Identifier: Apache-2.0
/**
 * `healthy`: a claim loses its health only if its volume is gone, or its driver has reported it as healthy within the last minute. A claim gets
 * health only if it has a volume of the driver that was once reported as sick.
 */
import { healthOf } from '@csi-sidecars/health-monitor';
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { FakeApiServer, FaultTarget, ObjectAccess } from '@csi-sidecars/runtime/testing';
import { driverName } from '../names.ts';
import { byHand } from '../sicknesses.ts';

/** A process may stand still between the answer and the write. */
export const lastMs = 60_000;

/** Since when the driver reports what a claim has to show, by handle. Undefined: it has done so before. */
export type SickVolumes = ReadonlyMap<string, number | undefined>;

export interface Sick {
  readonly handles: SickVolumes;
  readonly nowMs: number;
}

/** Of a request that arrives; undefined if it may come. */
export function lostHealth({ objects }: FakeApiServer, target: FaultTarget, sick: Sick): string | undefined {
  const { verb, subresource, namespace, name = '', request } = target;
  const isHealth =
    verb === 'patch' && subresource === 'status' && /health-mon/.test(request.headers['user-agent'] ?? '');
  const body = Buffer.from(request.body ?? []).toString();
  if (!isHealth || !body.includes('"healthStatus":null')) return undefined;
  const claim = objects.get(persistentVolumeClaims, { namespace, name });
  const { claimRef, csi } = objects.get(persistentVolumes, { name: claim?.spec?.volumeName ?? '' })?.spec ?? {};
  if (claimRef?.uid !== claim?.metadata?.uid) return undefined;
  // The API server refuses a patch with the UID of an earlier claim.
  const { uid = claimRef?.uid } = (JSON.parse(body) as PersistentVolumeClaim).metadata ?? {};
  if (uid !== claimRef?.uid) return undefined;
  const sickMs = sick.nowMs - (sick.handles.get(csi?.volumeHandle ?? '') ?? sick.nowMs);
  return sickMs < lastMs
    ? undefined
    : `healthy: ${name} loses its health, and its volume has been sick for ${sickMs} ms`;
}

/** Claims that show what cannot be theirs. */
export function strangeHealth(objects: ObjectAccess, handles: SickVolumes): readonly string[] {
  return objects.list(persistentVolumeClaims).flatMap((claim) => {
    const { healthConditions = [] } = healthOf(claim) ?? {};
    if (healthConditions.length === 0 || JSON.stringify(healthConditions) === JSON.stringify(byHand)) return [];
    const { volumeName = '' } = claim.spec ?? {};
    const volume = objects.get(persistentVolumes, { name: volumeName });
    // The PersistentVolume was deleted before its claim.
    if (volumeName !== '' && volume === undefined) return [];
    const { driver, volumeHandle = '' } = volume?.spec?.csi ?? {};
    if (driver === driverName && handles.has(volumeHandle)) return [];
    return [`healthy: ${claim.metadata?.name} shows the health of another volume`];
  });
}
