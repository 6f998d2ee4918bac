// SPDX-License-Identifier: Apache-2.0
/** Texts that users see in events and conditions of claims, as upstream writes them, and that suites match on. */
import type { RecordedEvent } from '@csi-sidecars/runtime';

const normal = (reason: string, message: string): RecordedEvent => ({ type: 'Normal', reason, message });
const warning = (message: string): RecordedEvent => ({ type: 'Warning', reason: 'VolumeModifyFailed', message });

export const modifying = (claimName: string, className: string): RecordedEvent => ({
  ...normal('VolumeModify', `external resizer is modifying volume ${claimName} with vac ${className}`),
  isStart: true,
}); // M13
export const modified = (claimName: string, className: string): RecordedEvent =>
  normal('VolumeModifySuccessful', `external resizer modified volume ${claimName} with vac ${className} successfully`); // M19
export const cancelled: RecordedEvent = normal('VolumeModifyCanceled', 'Cancelled modify.'); // M6
export const classMissing = (className: string): RecordedEvent => warning(`VAC "${className}" does not exist.`); // M7, M9
/** Also the message of the condition. */
export const classForeign = (className: string, driverName: string, ours: string): string =>
  `VAC "${className}" belongs to driver ${driverName}, the volume to driver ${ours}.`; // M10
export const failed = (cause: string): RecordedEvent => warning(cause); // M10, M21, M22
export const stillModifying = (cause: string, className: string): RecordedEvent =>
  warning(`${cause}. Still modifying to VAC ${className}`); // M20

export const inProgressCondition = (className: string): string => `Modifying volume to "${className}" is in progress.`;
export const failedCondition = (className: string): string =>
  `Modifying volume to "${className}" failed. Waiting for retry.`;
export const openCondition = (className: string): string => `Modifying volume to "${className}" is still in progress.`;

export const noStatus = (cause: string): string => `cannot get error status from modify volume err: ${cause}`;
export const emptyHandle = 'empty volume handle';
