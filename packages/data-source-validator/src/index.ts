// SPDX-License-Identifier: Apache-2.0
// For snapshot-controller, which can run it beside its own loops.
export { createDataSourceValidator } from './data-source-validator.ts';
export type { DataSourceValidatorDeps } from './data-source-validator.ts';
export { component, lockName } from './names.ts';
export { runDataSourceValidator } from './program.ts';
export { clusterRules } from './rbac.ts';
export { settingsOf } from './settings.ts';
export type { DataSourceValidatorSettings } from './settings.ts';
