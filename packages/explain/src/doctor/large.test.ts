// SPDX-License-Identifier: Apache-2.0
/** How much doctor asks of the API server of a large cluster. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add, ago, attachment, boundClaim, driver, node, volumeOf } from '../../testing/cluster.ts';
import { doctor, installation, nodePod, registeredNode, zone } from '../../testing/installation.ts';

const objects = 50_000;
const nodes = 5_000;

function fill(host: FakeHost): void {
  const creationTimestamp = ago(host, 86_400);
  for (let index = 0; index < objects; index += 1) {
    const name = `data-${index}`;
    const metadata = { creationTimestamp };
    add(
      host,
      boundClaim(name, { metadata: { ...metadata, namespace: `team-${index % 100}` } }),
      volumeOf(name, { metadata: { ...metadata, annotations: { 'pv.kubernetes.io/provisioned-by': driver } } }),
      attachment(`va-${index}`, {
        metadata,
        node: `node-${index % nodes}`,
        volume: `pv-${name}`,
        status: { attached: true },
      }),
    );
  }
  for (let index = 0; index < nodes; index += 1) {
    const name = `node-${index}`;
    add(host, node(name, { metadata: { labels: { [zone]: 'z1' } } }), registeredNode(name), nodePod(name));
  }
}

it('given 50,000 claims, volumes and attachments and 5,000 nodes, when examined, then 600 requests suffice, nothing is cut, and nothing is found', async () => {
  const host = installation();
  fill(host);
  const { code, found, document } = await doctor(host);
  expect([code, found, document.notRun]).toEqual([0, [], []]);
  expect(document.cost.requests).toBeLessThanOrEqual(600);
  // With the default of 20 requests in a second.
  expect(document.cost.seconds).toBeLessThanOrEqual(120);
});
