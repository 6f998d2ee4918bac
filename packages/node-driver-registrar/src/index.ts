// SPDX-License-Identifier: Apache-2.0
export { nodeDriverRegistrarProgram } from './flags.ts';
export type { NodeDriverRegistrarValues } from './flags.ts';
export { runRegistrar } from './registrar.ts';
export type { RegistrarDeps } from './registrar.ts';
export { readSettings } from './settings.ts';
export type { RegistrarSettings } from './settings.ts';
export { systemSocketFiles } from './socket-files.ts';
export type { SocketFiles } from './socket-files.ts';
export type { Platform } from './stale-socket.ts';
