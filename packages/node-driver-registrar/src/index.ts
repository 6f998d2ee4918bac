// SPDX-License-Identifier: Apache-2.0
export { nodeDriverRegistrarProgram } from './flags.ts';
export type { NodeDriverRegistrarValues } from './flags.ts';
export { runRegistrar } from './registrar.ts';
export type { RegistrarDeps } from './registrar.ts';
export { readSettings } from './settings.ts';
export type { RegistrarSettings } from './settings.ts';
