// SPDX-License-Identifier: Apache-2.0
/** Claims that wait when csi-provisioner starts, on as many nodes, each with a segment of its own. */
import { aStorageClass, inParallel } from '@csi-sidecars/e2e';
import { ignoreNotFound, storageClasses } from '@csi-sidecars/runtime';
import { createClaim, measureWaiting, settleAndDelete, watchVolumes } from '../provisioner/claims.ts';
import type { Part } from '../side-by-side/bench.ts';
import { createDriverNodes, driverNodeFlags, nodeName, removeDriverNodes } from '../side-by-side/driver-nodes.ts';
import { concurrency, namesOf } from '../side-by-side/stored-volumes.ts';

/** The driver is started with so many. */
const maximumNodes = 1000;

/** With a node that the scheduler selected, or without: the driver may choose among all nodes. */
const placement =
  (name: 'selected node' | 'any node'): Part =>
  async (environment, options, to) => {
    const { cluster, namespace, driver } = environment;
    const { load } = options;
    if (load > maximumNodes) throw new Error(`the driver of this bench has ${maximumNodes} nodes, not ${load}`);
    await createDriverNodes(environment, load);
    const volumeBindingMode = name === 'any node' ? 'Immediate' : 'WaitForFirstConsumer';
    await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { volumeBindingMode }));
    const names = namesOf(environment, 'claim', load);
    await using watch = await watchVolumes(environment);
    // The bench selects the nodes itself, one for each claim: no scheduler, no pods.
    const create = (): Promise<void> =>
      inParallel(names.entries(), concurrency, ([n, claim]) => {
        const selected = { 'volume.kubernetes.io/selected-node': nodeName(environment, n) };
        return createClaim(environment, claim, name === 'any node' ? {} : { annotations: selected });
      });
    const waiting = { watch, names, create, prefix: `${name} `, unit: `volume, ${name}` };
    const { sidecar } = await measureWaiting(environment, waiting, to);
    await settleAndDelete(environment, { ...options, sidecar, watch, names, as: ` ${name}` }, to);
    // The next test environment must not watch the nodes.
    await cluster.api.delete(storageClasses, { name: namespace }).catch(ignoreNotFound);
    await removeDriverNodes(environment, load);
  };

export const driverFlags: readonly string[] = driverNodeFlags(maximumNodes);
export const parts: Readonly<Record<string, Part>> = {
  selected: placement('selected node'),
  immediate: placement('any node'),
};
