// SPDX-License-Identifier: Apache-2.0
/** A world of several processes under one seed: virtual time, order, network, shrinking, time line. */
export { startContainer, type Container, type ContainerDeps } from './container.ts';
export { drawFrom, hashText, type Draw } from './hash.ts';
export { createLink, type LinkOptions } from './link.ts';
export { createSchedule, type Schedule, type ScheduledProcess } from './schedule.ts';
export { shrink, type ShrinkOptions } from './shrink.ts';
export { createTimeLine, type TimeLine } from './time-line.ts';
export { createDice, type Dice } from './dice.ts';
