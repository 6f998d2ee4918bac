// SPDX-License-Identifier: Apache-2.0
export { livenessprobeProgram } from './flags.ts';
export type { LivenessprobeValues } from './flags.ts';
export { runLivenessprobe } from './livenessprobe.ts';
export type { LivenessprobeDeps } from './livenessprobe.ts';
export { readSettings } from './settings.ts';
export type { LivenessprobeSettings } from './settings.ts';
