// SPDX-License-Identifier: Apache-2.0
export { createSnapshotController } from './snapshot-controller.ts';
export type { SnapshotControllerDeps } from './snapshot-controller.ts';
export { runSnapshotController } from './program.ts';
export { snapshotControllerProgram } from './flags.ts';
export { clusterRules } from './rbac.ts';
export type { SnapshotControllerSettings } from './settings.ts';
