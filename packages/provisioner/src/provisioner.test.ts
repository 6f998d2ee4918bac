// SPDX-License-Identifier: Apache-2.0
/** The parts of the provisioner beside each other. */
import { csiStorageCapacities, type InformerFactory } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { driverInfoOf } from '@csi-sidecars/test-driver';
import { createProcess, createTestCluster, recordedEvents } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, driverName, someSettings } from '../testing/builders.ts';
import { capacitySettings } from '../testing/capacity-settings.ts';
import { rulesFor } from '../testing/provisioner-fixture.ts';
import { createCapacityGauges } from './capacity/gauges.ts';
import { createProvisioner } from './provisioner.ts';

/** The caches, of which that of the capacity objects is broken. */
function withBrokenCapacity(factory: InformerFactory): InformerFactory {
  return {
    ...factory,
    informer: (options) => {
      const informer = factory.informer(options);
      if (options.resource.plural !== csiStorageCapacities.plural) return informer;
      return { ...informer, whenSynced: () => Promise.reject(new Error('broken')) };
    },
  };
}

it('given the publishing of capacity breaks down, then the provisioner ends as a whole, and nothing of it runs any more', async () => {
  const cluster = createTestCluster({
    serviceAccount: 'csi:provisioner',
    rules: rulesFor(capacitySettings()),
    driver: { name: driverName },
  });
  cluster.server.seed(aClass());
  const { ports, death } = createProcess(cluster, { name: 'csi-provisioner', interrupt: undefined });
  const { recorder } = recordedEvents(death);
  // Without it a claim would need a node.
  const settings = someSettings({ features: { ...someSettings().features, topology: false } });
  const provisioner = createProvisioner(
    {
      ...ports,
      informers: withBrokenCapacity(ports.informers),
      events: recorder,
      driverEvents: recorder,
      capacity: {
        settings: capacitySettings(),
        client: ports.client,
        gauges: createCapacityGauges(ports.metrics),
      },
    },
    { driver: driverInfoOf(cluster.driver.settings), settings },
  );
  const stop = new AbortController();
  const watching = ports.informers.start(stop.signal);
  await expect(provisioner.run(stop.signal)).rejects.toThrow('broken');
  cluster.server.seed(aClaim());
  for (let turn = 0; turn < 100; turn++) {
    await settle();
    await cluster.clock.advance(10);
  }
  expect(cluster.driver.volumes()).toEqual([]);
  stop.abort();
  await watching;
});
