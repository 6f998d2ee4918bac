// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of whole controllers.
export { createProcess } from './controller-process.ts';
export type { ControllerProcess, ProcessOptions, RunningController } from './controller-process.ts';
export { livesOf, timesLost, writesWithoutOutage } from './outage.ts';
export type { Flow, Other } from './outage.ts';
export { listOldState } from './old-lists.ts';
export { recordedEvents } from './recorded-events.ts';
export { conflict, forbidden, gib, internalError, startController } from './start-controller.ts';
export type { ControllerUnderTest, StartedController, StartOptions } from './start-controller.ts';
export { there } from './there.ts';
export { createTestCluster, faultOn, kindOf, prepareVolumes } from './test-cluster.ts';
export type { TestCluster, TestClusterOptions } from './test-cluster.ts';
