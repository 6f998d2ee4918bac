// SPDX-License-Identifier: Apache-2.0
/** Texts that users see in events and conditions of claims, as upstream writes them, and that suites match on. */
import { type RecordedEvent, splitKey } from '@csi-sidecars/runtime';
import type { ClaimKey } from '../claim.ts';

const normal = (reason: string, message: string): RecordedEvent => ({ type: 'Normal', reason, message });

export const resizing = (volumeName: string): RecordedEvent => ({
  ...normal('Resizing', `External resizer is resizing volume ${volumeName}`),
  isStart: true,
}); // E12
export const needsNode: RecordedEvent = normal(
  'FileSystemResizeRequired',
  'Require file system resize of volume on node',
); // E23
export const finished: RecordedEvent = normal('VolumeResizeSuccessful', 'Resize volume succeeded'); // E24
export const failed = (message: string): RecordedEvent => ({ type: 'Warning', reason: 'VolumeResizeFailed', message });

/** A log message. Only an API server without resize statuses leaves a claim in this state. */
export const oldServer =
  'external-resizer may be running with older version of kubernetes api-server, please upgrade to k8s version 1.32'; // S10

export const pendingOnNode = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.';

export interface Names {
  readonly volumeName: string;
  readonly driverName: string;
}

export const notExpanded = ({ volumeName, driverName }: Names, cause: string): string =>
  `resize volume "${volumeName}" by resizer "${driverName}" failed: ${cause}`;
/** `capacity` could not be written. */
export const volumeNotSaved = (volumeName: string, capacity: string, cause: string): string =>
  `error updating pv "${volumeName}" by resizer: updating capacity of PV "${volumeName}" to ${capacity} failed: ` +
  `update capacity of PV ${volumeName} failed: ${cause}`;
export const pendingNotSaved = (key: ClaimKey, cause: string): string =>
  `mark PVC "${named(key)}" as node expansion required failed: ${notPatched(key, cause)}`;
export const finishNotSaved = (key: ClaimKey, cause: string): string =>
  `mark PVC "${named(key)}" as resize finished failed: ${notPatched(key, cause)}`;
export const failureNotSaved = (key: ClaimKey, cause: string, notWritten: string): string =>
  `resizing failed in controller with ${cause} but failed to update PVC ${named(key)} with: ` +
  `mark PVC "${named(key)}" as controller expansion failed, errored with: ${notPatched(key, notWritten)}`;
export const notMarked = (key: ClaimKey, cause: string): string =>
  `marking pvc "${named(key)}" as resizing failed: ${notPatched(key, cause)}`;
export const inUse = (key: ClaimKey, driverName: string): string =>
  `Unable to expand ${named(key)} because CSI driver ${driverName} only supports offline expansion and volume is currently in-use`;
export const failedCondition = (cause: string): string => `failed to expand pvc with ${cause}`;
export const notMigrated = (volumeName: string): string => `volume ${volumeName} is not migrated to CSI`;
export const notTranslated = (cause: string): string => `failed to translate persistent volume: ${cause}`;
export const emptyHandle = 'empty volume handle';
export const noCapability = (volumeName: string, cause: string): string =>
  `failed to get capabilities of volume ${volumeName} with ${cause}`;
export const tooSmall = (answer: string, requested: string): string =>
  `the driver answered with a capacity of ${answer}, which is less than the requested ${requested}`;

/** The two spaces are upstream's. */
function notPatched(key: ClaimKey, cause: string): string {
  return `can't patch status of  PVC ${named(key)} with ${cause}`;
}

function named(key: ClaimKey): string {
  const { namespace = '', name } = splitKey(key);
  return `${namespace}/${name}`;
}
