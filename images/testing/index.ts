// SPDX-License-Identifier: Apache-2.0
/** Images read back and started, for tests and measurements. */
export { pause, unpack, until, type Container, type ContainerOptions, type Unpacked } from './container.ts';
export { inspect, type Inspected } from './inspect.ts';
