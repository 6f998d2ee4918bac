// SPDX-License-Identifier: Apache-2.0
export { script, withFaults } from './faults.ts';
export type { DecideFault, Fault, FaultOptions, FaultPoint, FaultRule, FaultTarget } from './faults.ts';
