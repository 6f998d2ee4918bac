// SPDX-License-Identifier: Apache-2.0
export { createHealthMonitor, modeOf } from './health-monitor.ts';
export type { HealthMonitorDeps, HealthMonitorOptions } from './health-monitor.ts';
export { clusterRules } from './rbac.ts';
export type { HealthMonitorSettings } from './settings.ts';
export { healthMonitorProgram } from './flags.ts';
export { healthMonitorSidecar } from './program.ts';
export { healthOf } from './report/health-status.ts';
export type { HealthCondition } from './report/health-status.ts';
