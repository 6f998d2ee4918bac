// SPDX-License-Identifier: Apache-2.0
import type { Dice } from '@csi-sidecars/runtime/testing';
import type { Args, Shape } from '../story.ts';
import type { World } from '../world.ts';

/** One thing that people or fate can do. */
export interface HappeningKind {
  /** How often it is drawn, against the others. */
  readonly weight: number;
  /** When it usually happens, so that there is something for the rest to meet. Default at any time. */
  readonly when?: 'early' | 'late';
  /** Only in stories with damage. */
  readonly isDamage?: true;
  readonly draw: (dice: Dice, shape: Shape) => Args;
  /** Acts at its moment. What it needs and does not find makes it do nothing. */
  readonly act: (world: World, args: Args) => void;
}

/** Keeps the types of the arguments within a kind. */
export function kind<A extends Args>(of: {
  readonly weight: number;
  readonly when?: 'early' | 'late';
  readonly isDamage?: true;
  readonly draw: (dice: Dice, shape: Shape) => A;
  readonly act: (world: World, args: A) => void;
}): HappeningKind {
  return of as unknown as HappeningKind;
}

export type Kinds = Readonly<Record<string, HappeningKind>>;
