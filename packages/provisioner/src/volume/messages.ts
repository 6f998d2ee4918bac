// SPDX-License-Identifier: Apache-2.0
/** Texts that users see on PersistentVolumes. */
import type { RecordedEvent } from '@csi-sidecars/runtime';

const eventReasons = { deleteFailed: 'VolumeFailedDelete', postponed: 'VolumeDelete' } as const;

export const deleteFailed = (message: string): RecordedEvent => ({
  type: 'Warning',
  reason: eventReasons.deleteFailed,
  message,
}); // V6, V7, V8, V11

export const postponed = (message: string): RecordedEvent => ({
  type: 'Normal',
  reason: eventReasons.postponed,
  message,
}); // V10

export const notCsi = 'invalid CSI PV'; // V6

export const ofOtherDriver = (driverName: string): string => `${notCsi}: its volume is one of CSI driver ${driverName}`; // V6

export const stillAttached = (volumeName: string, nodeName: string): string =>
  `persistentvolume ${volumeName} is still attached to node ${nodeName}, waiting for detach`; // V10

export const noSecretReference = (volumeName: string, cause: string): string =>
  `failed to get secretreference for volume ${volumeName}: ${cause}`; // V8
