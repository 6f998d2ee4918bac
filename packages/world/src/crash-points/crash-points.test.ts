// SPDX-License-Identifier: Apache-2.0
/** Every fault at every write and every call of every flow. The points are found by a run without faults, so a new write is a new point. */
import { expect, it } from 'vitest';
import { flows } from './flows.ts';
import { playFlow, pointsOf, titleOf } from './play-flow.ts';

it('given the flows, then their names are unique', () => {
  const names = flows.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

it.each(flows)(
  'given $name, when each write and each call of $program meets each fault, then no invariant is broken',
  async (flow) => {
    const calm = await playFlow(flow);
    const points = pointsOf(calm.operations);
    expect(points.length).toBeGreaterThan(0);
    const breaches = calm.breaches.map((text) => `calm: ${text}`);
    for (const point of points) {
      const title = titleOf(point);
      const replay = `replay: node packages/world/src/crash-points/run.ts '${flow.name}' '${title}'`;
      for (const text of (await playFlow(flow, point)).breaches) breaches.push(`${title}: ${text}; ${replay}`);
    }
    expect(breaches).toEqual([]);
  },
  120_000,
);
