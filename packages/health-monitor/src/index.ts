// SPDX-License-Identifier: Apache-2.0
export { createHealthMonitor, modeOf } from './monitor.ts';
export type { HealthMonitorDeps, HealthMonitorOptions } from './monitor.ts';
export { clusterRules } from './rbac.ts';
export type { HealthMonitorSettings } from './settings.ts';
