// SPDX-License-Identifier: Apache-2.0
/**
 * Tests every fault at every write and every call of every flow: the final state equals that of a run without faults.
 * The points are found by a run without faults, so a new write is a new point.
 */
import { describe, expect, it } from 'vitest';
import type { Flow } from './flows.ts';
import { runFlow } from './run-flow.ts';
import { troublesOf } from './trouble.ts';

const limitMs = 30_000;

/** `file`: the test file, for the command that repeats one point. */
export async function describePoints(flows: readonly Flow[], file: string): Promise<void> {
  for (const flow of flows) {
    const calm = await runFlow(flow);
    const points = calm.operations.flatMap((operation, index) =>
      troublesOf(operation).map(([name, trouble]) => ({ operation, name, strike: { index, trouble } })),
    );

    describe(`${flow.name}: ${calm.operations.length} writes and calls, ${points.length} points`, () => {
      it(`${flow.name} without trouble`, () => {
        expect(points.length).toBeGreaterThan(0);
        expect({ leaked: calm.leaked, breaches: calm.breaches }).toEqual({ leaked: [], breaches: [] });
      });

      for (const { operation, name, strike } of points) {
        const title = `${flow.name} point ${strike.index}: ${name} ${operation.name}`;
        it(title, { timeout: limitMs }, async () => {
          const { leaked, breaches, state } = await runFlow(flow, strike);
          const replay = `replay: npx vitest run ${file} -t '${title}'`;
          const isOpen = flow.openWindows?.includes(`${name} ${operation.name}`) === true;
          expect({ leaks: leaked.length, breaches, state: isOpen ? calm.state : state }, replay).toEqual({
            leaks: isOpen ? 1 : 0,
            breaches: [],
            state: calm.state,
          });
        });
      }
    });
  }
}
