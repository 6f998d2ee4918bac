// SPDX-License-Identifier: Apache-2.0
/** What one bench measures, and how. Everything else in this folder is the same for all programs. */
import type { Kind } from '../runtime/objects.ts';
import type { Measures, Recording } from './measures.ts';
import type { Load, Options } from './options.ts';
import type { TestBed, Terms } from './test-bed.ts';

export interface Subject<Id extends string> extends Terms {
  /** Name of the bench, of its section of the page and of its plot. */
  readonly name: string;
  readonly load: Load;
  /** In the order of the page. */
  readonly measures: Measures<Id>;
  /** The unit for counting requests: "created volume". */
  readonly units: readonly string[];
  /** Prepares a test bed after its driver has started. */
  readonly prepare: (bed: TestBed) => Promise<void>;
  /** The parts by their name for `--only`, in the order of a round. */
  readonly parts: Readonly<Record<string, Part<Id>>>;
  /** Runs once, at the end: the control plane is full of another driver's objects, and its controller-manager is stopped. */
  readonly foreign?: {
    /** What the program watches of others. */
    readonly kinds: readonly Kind[];
    readonly part: Part<Id>;
  };
}

export type Part<Id extends string> = (bed: TestBed, options: Options, to: Recording<Id>) => Promise<void>;
