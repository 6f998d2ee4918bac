// SPDX-License-Identifier: Apache-2.0
export { createSnapshotter } from './snapshotter.ts';
export type { SnapshotterDeps, SnapshotterOptions } from './snapshotter.ts';
export { clusterRules } from './rbac.ts';
export type { SnapshotterSettings } from './settings.ts';
export { snapshotterProgram } from './flags.ts';
export { snapshotterSidecar } from './program.ts';
