// SPDX-License-Identifier: Apache-2.0
/** What one bench measures of its program, and how. Everything else in this folder is the same for all programs. */
import type { ControllerName } from '@csi-sidecars/e2e';
import type { Measures, Recording } from './measures.ts';
import type { Load, Options } from './options.ts';
import type { Place, Terms } from './place.ts';

export interface Subject<Id extends string> extends Terms {
  /** Of the bench, its section of the page and its plot. */
  readonly name: string;
  readonly program: ControllerName;
  readonly load: Load;
  /** In the order of the page. */
  readonly measures: Measures<Id>;
  /** What requests are counted per: "created volume". */
  readonly units: readonly string[];
  /** What a place needs besides its driver. */
  readonly prepare: (place: Place) => Promise<void>;
  /** By the name that `--only` knows, in the order of a round. */
  readonly parts: Readonly<Record<string, Part<Id>>>;
  /** Once, at the end: the control plane is full of another driver's objects, and its controller-manager is down. */
  readonly besideForeign: Part<Id>;
}

export type Part<Id extends string> = (place: Place, options: Options, to: Recording<Id>) => Promise<void>;
