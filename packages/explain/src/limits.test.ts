// SPDX-License-Identifier: Apache-2.0
/** How much the command asks of the API server, whatever the size of the cluster. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import {
  add,
  asked,
  attachment,
  boundClaim,
  claim,
  clusterOf,
  csiDriver,
  csiNode,
  event,
  explain,
  leading,
  namespace,
  node,
  podWith,
  requestsOf,
  storageClass,
  volumeOf,
} from '../testing/cluster.ts';

const ofData = ['pvc/data', '-n', namespace];

/** Claims, volumes, attachments and events of another namespace. */
function fill(host: FakeHost, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const name = `other-${index}`;
    const other = boundClaim(name, { metadata: { namespace: 'crowd' } });
    add(host, other, volumeOf(name), attachment(name, { volume: `pv-${name}` }));
    add(
      host,
      event(other, {
        reason: 'ProvisioningFailed',
        message: 'x',
        first: '2024-01-01T00:00:00Z',
        last: '2024-01-01T00:00:00Z',
      }),
    );
  }
}

const waiting = [storageClass('gp'), csiDriver(), claim('data', { metadata: asked })];
const used = [
  storageClass('gp'),
  csiDriver(),
  boundClaim('data'),
  volumeOf('data'),
  csiNode('node-a'),
  node('node-a'),
  podWith('data', 'writer', { spec: { nodeName: 'node-a' } }),
];

it.each([
  { what: 'a claim that waits for csi-provisioner', objects: waiting, most: 25 },
  { what: 'a bound claim with one pod on one node', objects: used, most: 25 },
])(
  '[explain#72] given $what, when explained in a cluster of 20 and of 20,000 claims, volumes, attachments and events, then the requests are the same, $most at most, and no collection of the cluster is listed',
  async ({ objects, most }) => {
    const requests: (readonly string[])[] = [];
    for (const count of [20, 20_000]) {
      const host = clusterOf(objects);
      add(host, ...leading(host, 'csi-provisioner', 'a-example-com'));
      add(host, ...leading(host, 'csi-attacher', 'external-attacher-leader-a-example-com'));
      fill(host, count);
      const { document } = await explain(host, ofData);
      // The UID of an object that was seeded differs.
      requests.push(requestsOf(host).map((path) => path.replaceAll(/uid%3D[^&]*/g, 'uid')));
      expect(document.missing).toEqual([]);
      expect(document.cost.bytes).toBeLessThan(100_000);
    }
    expect(requests[1]).toEqual(requests[0]);
    expect(requests[0]!.length).toBeLessThanOrEqual(most);
    const lists = requests[0]!.filter((path) => path.startsWith('list'));
    expect(lists.filter((path) => /\/(persistentvolumes|volumeattachments)\?/.test(path))).toEqual([]);
    expect(lists.filter((path) => /\/api\/v1\/(persistentvolumeclaims|pods|events)/.test(path))).toEqual([]);
  },
);
