// SPDX-License-Identifier: Apache-2.0
/** `healthy`: a claim loses its health only if its volume is gone, or its driver has reported it as healthy within the last minute. */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { FakeApiServer, FaultTarget } from '@csi-sidecars/runtime/testing';

/** A process may stand still between the answer and the write. */
const lastMs = 60_000;

export interface Sick {
  /** When the driver began to report what its claim has to show, by handle. */
  readonly sinceMs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/** Of a request that arrives; undefined if it may come. */
export function lostHealth({ objects }: FakeApiServer, target: FaultTarget, sick: Sick): string | undefined {
  const { verb, subresource, namespace, name = '', request } = target;
  const isHealth =
    verb === 'patch' && subresource === 'status' && /health-mon/.test(request.headers['user-agent'] ?? '');
  if (!isHealth || !Buffer.from(request.body ?? []).includes('"healthStatus":null')) return undefined;
  const claim = objects.get(persistentVolumeClaims, { namespace, name });
  const { claimRef, csi } = objects.get(persistentVolumes, { name: claim?.spec?.volumeName ?? '' })?.spec ?? {};
  if (claimRef?.uid !== claim?.metadata?.uid) return undefined;
  const sickMs = sick.nowMs - (sick.sinceMs.get(csi?.volumeHandle ?? '') ?? sick.nowMs);
  return sickMs < lastMs
    ? undefined
    : `healthy: ${name} loses its health, and its volume has been sick for ${sickMs} ms`;
}
