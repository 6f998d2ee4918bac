// SPDX-License-Identifier: Apache-2.0
/**
 * A flow: a story in which little happens, and what its tables are written with. A moment is in seconds from the beginning of the flow; what is
 * before is its preparation, which meets no fault.
 */
import type { ProgramName } from '../programs.ts';
import { type Args, calmShape, type Shape, type Story } from '../story.ts';

export type Step = readonly [seconds: number, kind: string, args?: Args];

export interface Flow {
  readonly name: string;
  /** The one that meets the faults. */
  readonly program: ProgramName;
  /** Those that run beside it. */
  readonly beside: readonly ProgramName[];
  readonly shape: Partial<Shape>;
  readonly steps: readonly Step[];
  /** Points, without their number, at which the provisioner's page documents that a volume may stay. */
  readonly openWindows: readonly string[];
}

export type Group = Readonly<Record<string, readonly Step[]>>;
export type Common = Pick<Flow, 'program'> & Partial<Omit<Flow, 'name' | 'steps'>>;

export const flowsOf = (common: Common, group: Group): readonly Flow[] =>
  Object.entries(group).map(([name, steps]) => ({ beside: [], shape: {}, openWindows: [], ...common, name, steps }));

export const claim = 0;
export const fast: Args = { claim, class: 'fast', attributes: '' };
export const late: Args = { claim, class: 'late', attributes: '' };
export const pod: Args = { claim, pod: 0 };
export const made: Step = [-8, 'createClaim', fast];
export const create: Step = [0, 'createClaim', fast];
export const slow = (method: string, ms: number): Step => [
  -0.1,
  'driverIsSlow',
  { driver: 0, method, at: 'during', ms, times: 1 },
];
export const fails = (method: string, code: string, times = 2): Step => [
  -0.1,
  'driverFails',
  { driver: 0, method, at: 'before', code, times },
];
/** While a process that has died at the beginning of the flow is not there yet. */
export const soon = 0.5;
/** Until nothing fails any more. */
export const always = 1_000;

export const snapshot: Args = { snapshot: 0, claim, class: '' };
export const taken: readonly Step[] = [made, [-5, 'createSnapshot', snapshot]];
export const snapshotting = ['csi-provisioner', 'csi-snapshotter', 'snapshot-controller'] as const;

/** Long enough for a claim to be bound, copied and attached. */
export const beginMs = 10_000;
/** What was ordered of the driver has been met by then. */
const aftermathMs = 15_000;

export function storyOf({ shape, steps }: Flow): Story {
  const happenings = steps.map(([seconds, kind, args = {}]) => ({ atMs: beginMs + seconds * 1_000, kind, args }));
  const peaceMs = Math.max(...happenings.map(({ atMs }) => atMs)) + aftermathMs;
  return { seed: 1, shape: { ...calmShape, ...shape }, happenings, peaceMs };
}
