// SPDX-License-Identifier: Apache-2.0
/**
 * Defects that the code once had, or that upstream has, as edits that put them back. The world is worth what it finds of them; the table of
 * how many seeds each took is in docs/reference/world.md.
 */
import { attacher } from './attacher.ts';
import type { Bug } from './bug.ts';
import { provisioner } from './provisioner.ts';
import { reporters } from './reporters.ts';
import { resizer } from './resizer.ts';
import { runtime } from './runtime.ts';
import { snapshotController } from './snapshot-controller.ts';
import { snapshotter } from './snapshotter.ts';

export const bugs: readonly Bug[] = [
  ...provisioner,
  ...attacher,
  ...resizer,
  ...snapshotController,
  ...snapshotter,
  ...runtime,
  ...reporters,
];
