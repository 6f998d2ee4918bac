// SPDX-License-Identifier: Apache-2.0
/** The result of one scenario or check. */
import type { Memory } from '../processes/memory.ts';
import type { Need } from '../scenarios/needs.ts';

export interface Result {
  readonly id: string;
  readonly title: string;
  readonly outcome: Outcome;
  readonly ranMs: number;
  /** The measurements of the scenario. */
  readonly notes?: readonly string[];
  /** The memory of the programs under test, at the end. */
  readonly memory?: Readonly<Record<string, Memory>>;
}

export type Outcome =
  /** `half`: the driver's side could not be checked. */
  | { readonly kind: 'passed'; readonly seen?: 'half' }
  /** `details`: the context of the error, for people. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly details?: string }
  /** Upstream's program fails the scenario in the way that the scenario documents. */
  | { readonly kind: 'improvement'; readonly over: string; readonly error: unknown }
  | { readonly kind: 'not applicable'; readonly missing: readonly Need[] };
