// SPDX-License-Identifier: Apache-2.0
export { runSnapshotMetadata } from './program.ts';
export { clusterRules } from './rbac.ts';
