// SPDX-License-Identifier: Apache-2.0
/** What the author of a controller writes for its random stories. */
import type { KubeObject } from '../../src/api/objects.ts';
import type { RunControllerOptions } from '../../src/program/options.ts';
import type { ObjectAccess } from '../fake-api-server/object-access.ts';
import type { ResourceType } from '../fake-api-server/resource-type.ts';
import type { Dice } from '../world/dice.ts';
import type { Outside } from './outside.ts';

/** The options of `runController` without the parts that a story replaces: the API server, time, chance, files and the process. */
export type StoryController = Pick<RunControllerOptions, 'name' | 'loops' | 'lease' | 'rules' | 'qps' | 'burst'>;

export interface Stories {
  /**
   * Called for each start of a process, with what lies outside of the cluster for that process: what an earlier process remembered is lost. Also called
   * once without a process, for what the controller declares; calls to the outside do nothing then. With `rules`, a request that they do not allow ends
   * the story.
   */
  readonly controller: (outside: Outside) => StoryController;
  /** Processes at the same time. Default: two with a lease, one without. */
  readonly replicas?: number;
  /** Kinds of the API server beside its own and `commonTypes`: custom resources. */
  readonly types?: readonly ResourceType[];
  /** What exists at the beginning. */
  readonly objects?: readonly KubeObject[];
  /**
   * What users and other programs do, by name. Each story draws some of them, most more than once. An act that finds nothing to do does nothing. A
   * text that it returns stands behind its name in what happened. Acts, `always` and `finally` are not waited for: a promise fails the story.
   */
  readonly acts: Readonly<Record<string, (objects: ObjectAccess, dice: Dice, time: StoryTime) => unknown>>;
  /** What must hold after each write, also that of a lease. Throws otherwise. Default: nothing. */
  readonly always?: (objects: ObjectAccess, time: StoryTime) => void;
  /** What must hold in the end, ten minutes after the last act and the last fault, and ten minutes later. Throws otherwise. */
  readonly finally: (objects: ObjectAccess, time: StoryTime) => void;
  /** The controller writes by a schedule, and not only when something changes. Default: a write in the last ten minutes fails the story. */
  readonly writesAtRest?: boolean;
}

export interface StoryTime {
  /** Wall clock of all processes and of the API server, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** One happening of a story. */
export interface Step {
  /** From the beginning of the story. */
  readonly atMs: number;
  /** The name of an act, or one of `mishaps`. */
  readonly what: string;
  /** Decides what the act or the mishap leaves to chance. */
  readonly seed: number;
}

/** What happens to processes and to the API server. Requests fail besides, see `play.ts`. */
export const mishaps = {
  killed: 'a process is killed',
  stopped: 'a process is asked to stop',
  frozen: 'a process stands still for a while',
  broken: 'all watches break',
  compacted: 'the API server forgets its history',
} as const;

export type Mishap = (typeof mishaps)[keyof typeof mishaps];
