// SPDX-License-Identifier: Apache-2.0
export { createResizer } from './resizer.ts';
export type { ResizerDeps, ResizerOptions } from './resizer.ts';
export type { ResizerDriver } from './driver.ts';
export { clusterRules } from './rbac.ts';
export type { ResizerSettings } from './settings.ts';
export { resizerProgram } from './flags.ts';
export { resizerSidecar } from './program.ts';
