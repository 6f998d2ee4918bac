// SPDX-License-Identifier: Apache-2.0
export { createAttacher } from './attacher.ts';
export type { AttacherDeps, AttacherOptions } from './attacher.ts';
export { clusterRules } from './rbac.ts';
export type { AttacherSettings } from './settings.ts';
export { attacherProgram } from './flags.ts';
export { attacherSidecar } from './program.ts';
