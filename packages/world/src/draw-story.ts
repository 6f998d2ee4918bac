// SPDX-License-Identifier: Apache-2.0
/** Draws a story from its seed. */
import { createDice, type Dice, drawFrom } from '@csi-sidecars/runtime/testing';
import { kinds, kindsOfReporters } from './happenings/index.ts';
import type { Shape, Story } from './story.ts';
import { turbulenceMs } from './times.ts';

export function drawStory(seed: number): Story {
  return withReporters(drawPlainStory(seed));
}

/** In five of nine stories programs run that only report. The dice for that are others, so that the rest of the story is what it would be without them. */
function withReporters(story: Story): Story {
  const { seed, happenings } = story;
  const dice = createDice(Math.floor(drawFrom(seed)('reporters', 0) * 2 ** 32));
  const health = dice.pick([undefined, undefined, 'list', 'get', undefined, undefined] as const);
  const validator = dice.pick([undefined, undefined, 'alone', 'beside', undefined, undefined] as const);
  const shape: Shape = {
    ...story.shape,
    ...(health === undefined ? {} : { health }),
    ...(validator === undefined ? {} : { validator }),
  };
  const all = kindsOfReporters(shape);
  const count = all.length === 0 ? 0 : 6 + dice.below(12);
  const more = Array.from({ length: count }, () => drawHappening(dice, shape, all));
  return { ...story, shape, happenings: [...happenings, ...more].toSorted((a, b) => a.atMs - b.atMs) };
}

/** A story without programs that only report. */
export function drawPlainStory(seed: number): Story {
  const dice = createDice(seed);
  const shape = drawShape(dice);
  const count = 12 + dice.below(30);
  const all = kinds.filter(({ isDamage = false }) => shape.damage || !isDamage);
  const happenings = Array.from({ length: count }, () => drawHappening(dice, shape, all));
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

function drawHappening(dice: Dice, shape: Shape, all: typeof kinds): Story['happenings'][number] {
  const { name, when, draw } = dice.weighed(all);
  const part = dice.random.next();
  const moment = when === 'early' ? part ** 3 : when === 'late' ? part ** 0.5 : part;
  const atMs = Math.floor(moment * turbulenceMs);
  return { atMs, kind: name, args: draw(dice, shape) };
}
