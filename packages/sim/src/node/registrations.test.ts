// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { csiNodes } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom, withFaults, type DecideFault } from '@csi-sidecars/runtime/testing';
import { stubDriver } from './driver.ts';
import { startSim } from '../sim.ts';

const driver = stubDriver('csi.example.com', { nodeId: 'id-1' });
const { signal } = new AbortController();

it('given that the API server is slow to unregister a driver, when it is registered again meanwhile, then it stays registered', async () => {
  const clock = new FakeClock();
  let isSlow = false;
  const decide: DecideFault = ({ verb }) => {
    if (!isSlow || verb !== 'patch') return undefined;
    isSlow = false;
    return { kind: 'delay', ms: 3_000 };
  };
  await using sim = startSim({
    clock,
    random: seededRandom(1),
    nodes: [{ name: 'node-1', drivers: [driver] }],
    intercept: (transport) => withFaults(transport, { clock, decide }),
  });
  const node = sim.nodes.get('node-1')!;
  await clock.advance(1_000);
  isSlow = true;
  const ends = [node.unregister(driver.name, signal), node.register(driver, signal)];
  await clock.advance(5_000);
  await Promise.all(ends);
  expect(sim.server.objects.get(csiNodes, { name: 'node-1' })?.spec.drivers).toMatchObject([{ nodeID: 'id-1' }]);
});
