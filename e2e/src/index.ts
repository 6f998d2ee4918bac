// SPDX-License-Identifier: Apache-2.0
// The parts of the suite that benches use: control planes, permissions, processes, pictures.
export { kubeconfigOf } from './accounts/kubeconfig-of.ts';
export { isServiceAccount, requestsPerVolume, rightOf, tally } from './audit/analyse.ts';
export type { AuditedRequest } from './audit/read-audit.ts';
export type { ControlPlane, ServiceAccountRef } from './control-planes/control-plane.ts';
export { loadArgs } from './control-planes/local/components.ts';
export { startSimControlPlane } from './control-planes/sim/start-sim.ts';
export { startLocal } from './control-planes/local/start-local.ts';
export { describe } from './describe.ts';
export { startDriver } from './driver/driver.ts';
export type { DriverInstance } from './driver/driver.ts';
export { Interrupted, onInterrupt } from './interruption.ts';
export { logTail, startProcess } from './processes/child-process.ts';
export type { ChildProcess } from './processes/child-process.ts';
export { findProgram, repositoryRoot } from './processes/program.ts';
export type { ControllerName, Program } from './processes/program.ts';
export { applyRbac } from './rbac/apply.ts';
export { accountOf, combinedRbac, extraRules, rbacObjects } from './rbac/profiles.ts';
export type { RbacSubject } from './rbac/profiles.ts';
export { eventually } from './eventually.ts';
export type { Patience } from './eventually.ts';
export { aClaim, anAttachment, aStorageClass, aVolume } from './scenarios/objects.ts';
export { combinedSubjects, subjects } from './scenarios/sidecars.ts';
export type { StartableName } from './scenarios/sidecars.ts';
export { underHostName } from './scenarios/test-run.ts';
export { installSnapshotApi } from './snapshot-api/definitions.ts';
export { svgElement, svgPicture } from './svg.ts';
export type { Environment } from './tools/locate.ts';
