// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { capacityFlows, nodeCapacityFlows } from './capacity-flows.ts';
import { describePoints } from './describe-points.ts';
import { runFlow } from './run-flow.ts';

/** Segment and capacity of the objects in the end. */
const ends: Readonly<Record<string, readonly string[]>> = {
  'capacity-publish': ['<zone 1> 1Ti', '<zone 2> 1Ti'],
  'capacity-update': ['<zone 1> 1Mi', '<zone 2> 1Mi'],
  'capacity-withdraw-class': [],
  'capacity-move-node': ['<zone 1> 1Ti', 'zone-north 0'],
  'capacity-take-capacity': ['<zone 1> 1Mi', '<zone 2> 1Mi'],
  'node-capacity-publish': ['<zone 1> 1Ti', 'zone-west 0'],
  'node-capacity-update': ['<zone 1> 1Mi', 'zone-west 1Mi'],
  'node-capacity-withdraw-class': [],
  'node-capacity-adopt': ['<zone 1> 1Ti', 'zone-west 0'],
  'node-capacity-take-capacity': ['<zone 1> 1Mi', 'zone-west 1Mi'],
};
const flows = [...capacityFlows, ...nodeCapacityFlows];

it.each(flows)('given $name without trouble, then the objects are those of the items', async (flow) => {
  const { state } = await runFlow(flow);
  const objects = state
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { readonly capacity?: string; readonly segment?: Record<string, string> })
    .filter(({ segment }) => segment !== undefined)
    .map(({ capacity, segment = {} }) => `${Object.values(segment).join()} ${capacity}`);
  expect(objects.sort()).toEqual(ends[flow.name]);
});

await describePoints(flows, 'e2e/src/simulation/capacity-crash-points.test.ts');
