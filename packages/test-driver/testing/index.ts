// SPDX-License-Identifier: Apache-2.0
// What tests of whole controllers share.
export { createProcess } from './controller-process.ts';
export type { ControllerProcess, ProcessOptions, RunningController } from './controller-process.ts';
export { createWorld } from './controller-world.ts';
export type { World, WorldOptions } from './controller-world.ts';
