// SPDX-License-Identifier: Apache-2.0
// For benchmarks and demonstrations: real control planes, drivers and programs as processes.
export type { ControlPlane } from './control-planes/control-plane.ts';
export { startControlPlane } from './control-planes/start-control-plane.ts';
export type { ControlPlaneName, StartOptions } from './control-planes/start-control-plane.ts';
export { kubeconfigOf } from './accounts/kubeconfig-of.ts';
export { isServiceAccount, requestsPerVolume, shapes, tally } from './audit/analyse.ts';
export type { AuditedRequest, AuditSource } from './audit/read-audit.ts';
export { findProgram } from './processes/program.ts';
export { memoryOf } from './processes/memory.ts';
export { startProcess } from './processes/child-process.ts';
export { supervise } from './processes/supervised-process.ts';
export { applyRbac } from './rbac/apply.ts';
export { accountOf, rbacObjects } from './rbac/profiles.ts';
export { ensureTools } from './tools/ensure-tools.ts';
