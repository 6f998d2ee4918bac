// SPDX-License-Identifier: Apache-2.0
/** Draws a story from its seed. */
import { createDice, type Dice } from '@csi-sidecars/runtime/testing';
import { kinds } from './happenings/index.ts';
import type { Shape, Story } from './story.ts';
import { turbulenceMs } from './times.ts';

export function drawStory(seed: number): Story {
  const dice = createDice(seed);
  const shape = drawShape(dice);
  const count = 12 + dice.below(30);
  const happenings = Array.from({ length: count }, () => drawHappening(dice, shape));
  return { seed, shape, happenings: happenings.toSorted((a, b) => a.atMs - b.atMs) };
}

function drawShape(dice: Dice): Shape {
  const deployment = dice.pick(['separate', 'combined', 'nodes'] as const);
  return {
    deployment,
    replicas: dice.chance(0.7) ? 2 : 1,
    protection: dice.chance(0.5) ? 'ambiguous' : 'always',
    topology: deployment === 'nodes' || dice.chance(0.4),
    nodesExpand: dice.chance(0.6),
    snapshotMs: dice.pick([0, 0, 3_000, 20_000]),
    nodes: 2 + dice.below(2),
    snapshotsOnNodes: deployment === 'nodes' && dice.chance(0.5),
    secondDriver: dice.chance(1 / 3),
    oldKubelet: dice.chance(0.2),
    damage: dice.chance(0.12),
    limits: dice.pick(['default', 'default', 'default', 'tight', 'wide'] as const),
    logs: dice.chance(0.08),
  };
}

function drawHappening(dice: Dice, shape: Shape): Story['happenings'][number] {
  const all = kinds.filter(({ isDamage = false }) => shape.damage || !isDamage);
  const { name, when, draw } = dice.weighed(all);
  const part = dice.random.next();
  const moment = when === 'early' ? part ** 3 : when === 'late' ? part ** 0.5 : part;
  const atMs = Math.floor(moment * turbulenceMs);
  return { atMs, kind: name, args: draw(dice, shape) };
}
