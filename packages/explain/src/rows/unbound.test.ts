// SPDX-License-Identifier: Apache-2.0
/** Claims that are not bound: what counts when several things are recorded. */
import { expect, it } from 'vitest';
import {
  add,
  addWithEvent,
  ago,
  asked,
  claim,
  clusterOf,
  csiDriver,
  event,
  explain,
  leading,
  namespace,
  podWith,
  storageClass,
} from '../../testing/cluster.ts';

const ofData = ['pvc/data', '-n', namespace];
const allowModeChange = 'snapshot.storage.kubernetes.io/allow-volume-mode-change';

it.each([
  ['without the annotation that allows it', {}, 'X22'],
  ['with the annotation that allows it', { [allowModeChange]: 'true' }, 'X31'],
])(
  'given a block volume from the snapshot of a file system, %s, when explained, then the row follows',
  async (_, annotations, row) => {
    const api = { apiVersion: 'snapshot.storage.k8s.io/v1' };
    const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' };
    const host = clusterOf([
      storageClass('gp'),
      csiDriver(),
      claim('data', { metadata: asked, spec: { volumeMode: 'Block', dataSource } }),
      {
        ...api,
        kind: 'VolumeSnapshot',
        metadata: { name: 'snap', namespace },
        status: { readyToUse: true, boundVolumeSnapshotContentName: 'content' },
      },
      {
        ...api,
        kind: 'VolumeSnapshotContent',
        metadata: { name: 'content', annotations },
        spec: { driver: 'a.example.com', sourceVolumeMode: 'Filesystem' },
      },
    ]);
    add(host, ...leading(host, 'csi-provisioner', 'a-example-com'));
    expect((await explain(host, ofData)).document.row).toBe(row);
  },
);

it('given an old event about space, and a newer condition about a taint, when explained, then the condition counts', async () => {
  const host = clusterOf([
    storageClass('gp', { volumeBindingMode: 'WaitForFirstConsumer' }),
    csiDriver(),
    claim('data'),
  ]);
  const message = '0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.';
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
  addWithEvent(host, podWith('data', 'writer', { metadata: { uid: 'uid-of-writer' }, status: { conditions } }), {
    reason: 'FailedScheduling',
    message: '0/1 nodes are available: 1 node(s) did not have enough free storage.',
    firstAgo: 900,
    lastAgo: 800,
  });
  const { document } = await explain(host, ofData);
  expect([document.row, document.sentence]).toEqual(['X16', `pod writer is not scheduled: ${message}`]);
});

it('given events of a claim that is gone, in any order, when explained, then the newest is shown', async () => {
  const host = clusterOf([]);
  for (const [message, seconds] of [
    ['the newest', 30],
    ['an older one', 300],
  ] as const)
    add(
      host,
      event(claim('data'), { reason: 'ProvisioningFailed', message, first: ago(host, 900), last: ago(host, seconds) }),
    );
  expect((await explain(host, ofData)).document.sentence).toContain('ProvisioningFailed: the newest');
});
