// SPDX-License-Identifier: Apache-2.0
export { startSim } from './sim.ts';
export type { Sim, SimOptions } from './sim.ts';
export { createNodeEmulator } from './node/emulator.ts';
export type { NodeEmulator, NodeOptions } from './node/emulator.ts';
export { startNodes } from './node/start-nodes.ts';
export type { RunningNodes, StartNodesDeps } from './node/start-nodes.ts';
export { realPlugins } from './node/plugins/real-plugins.ts';
export type { RealPluginsOptions } from './node/plugins/real-plugins.ts';
export type { PluginPort, Registrar } from './node/plugins/plugin-manager.ts';
export { readNodeDriver, stubDriver } from './node/driver.ts';
export type { NodeDriver } from './node/driver.ts';
export type { SimController, SimDeps } from './loop/loop.ts';
