// SPDX-License-Identifier: Apache-2.0
// For snapshot-controller, which can run it beside its own loops.
export { createDataSourceValidator } from './data-source-validator.ts';
export type { DataSourceValidatorDeps } from './data-source-validator.ts';
export { dataSourceValidatorProgram } from './flags.ts';
export { component, lockName } from './names.ts';
export { sourceOf, volumePopulators } from './populator.ts';
export type { SourceKind, VolumePopulator } from './populator.ts';
export { runDataSourceValidator } from './program.ts';
export { clusterRules } from './rbac.ts';
export { settingsOf } from './settings.ts';
export type { DataSourceValidatorSettings } from './settings.ts';
