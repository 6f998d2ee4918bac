// SPDX-License-Identifier: Apache-2.0
/** Log messages. The comparison writes no text to an object. */

export const passFailed =
  'Failed to compare VolumeAttachments with the volumes of the driver; the next pass will try again';
export const repeatedToken = 'ListVolumes answered with the token of the page that it was asked for';
export const skipped = 'A VolumeAttachment cannot be compared with the driver';
export const disagrees =
  'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing'; // R4
