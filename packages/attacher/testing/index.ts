// SPDX-License-Identifier: Apache-2.0
export { aDriver, anAttachment, aCsiNode, aVolume, driverName, someSettings } from './builders.ts';
export type { AttachmentFacts, VolumeFacts } from './builders.ts';
