// SPDX-License-Identifier: Apache-2.0
/** How one thing that was looked at turned out. */
import type { Memory } from '../processes/memory.ts';
import type { Need } from '../scenarios/needs.ts';

export interface Result {
  readonly id: string;
  readonly title: string;
  readonly outcome: Outcome;
  readonly ranMs: number;
  /** What the scenario has measured. */
  readonly notes?: readonly string[];
  /** Of the programs under test, at the end. */
  readonly memory?: Readonly<Record<string, Memory>>;
}

export type Outcome =
  /** `half`: what the driver saw could not be looked at. */
  | { readonly kind: 'passed'; readonly seen?: 'half' }
  /** `details`: what surrounds the error, for people. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly details?: string }
  /** Upstream's program fails it, as the scenario says it does. */
  | { readonly kind: 'improvement'; readonly over: string; readonly error: unknown }
  | { readonly kind: 'not applicable'; readonly missing: readonly Need[] };
