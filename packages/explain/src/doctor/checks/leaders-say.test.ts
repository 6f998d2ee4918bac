// SPDX-License-Identifier: Apache-2.0
/** What doctor finds of a driver with `--via-pod` only. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add, driver, storageClass } from '../../../testing/cluster.ts';
import { doctor, seenIn } from '../../../testing/examining.ts';
import { allCapabilities, leaders, type Says, served } from '../../../testing/leaders.ts';
import type { AskPod } from '../../port-forward/pod-port.ts';

const without = (...missing: readonly string[]) => allCapabilities.filter((each) => !missing.includes(each));

const flags = ['--via-pod', '--only=driver'];
const examined = (host: FakeHost, says: Says) => doctor(host, flags, { askPod: leaders(says) });

it('given leaders whose driver can do everything, when examined, then nothing is found', async () => {
  const { code, found } = await examined(served(), {});
  expect([code, found]).toEqual([0, []]);
});

it.each([
  { missing: 'PUBLISH_UNPUBLISH_VOLUME', by: 'CSIDriver a.example.com', change: () => undefined },
  { missing: 'EXPAND_VOLUME', by: 'StorageClass gp', change: () => undefined },
  { missing: 'CREATE_DELETE_SNAPSHOT', by: 'VolumeSnapshotClass snap', change: () => undefined },
  {
    missing: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
    by: 'StorageClass zonal',
    change: (host: FakeHost) =>
      add(
        host,
        storageClass('zonal', {
          volumeBindingMode: 'WaitForFirstConsumer',
          allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['z1'] }] }],
        }),
      ),
  },
  {
    missing: 'MODIFY_VOLUME',
    by: 'VolumeAttributesClass gold',
    change: (host: FakeHost) =>
      add(host, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttributesClass',
        metadata: { name: 'gold' },
        driverName: driver,
      }),
  },
])('given a driver without $missing, when examined, then driver-14 names $by', async ({ missing, by, change }) => {
  const host = served();
  change(host);
  const { found, document } = await examined(host, { capabilities: without(missing) });
  expect(found).toEqual(['info driver-14']);
  expect(document.findings[0]?.evidence[0]?.object).toBe(by);
  expect(seenIn(document)).toContain(without(missing).toSorted().join(', '));
});

it('given a capability that is missing and that nothing counts on, when examined, then nothing is found', async () => {
  expect((await examined(served(), { capabilities: without('MODIFY_VOLUME', 'GET_CAPACITY') })).found).toEqual([]);
});

it('given leaders that say nothing, or serve another driver, when examined, then driver-14 is not run', async () => {
  const silent: AskPod = () => Promise.reject(new Error('refused'));
  const unanswered = await doctor(served(), flags, { askPod: silent });
  const other = await examined(served(), { of: 'b.example.com' });
  for (const { code, found, document } of [unanswered, other]) {
    expect([code, found, document.notRun.map(({ id }) => id)]).toEqual([5, [], ['driver-14']]);
  }
});

it('given no --via-pod, when examined, then no leader is asked, and nothing is missing', async () => {
  const never: AskPod = () => Promise.reject(new Error('it was asked'));
  const { code, found, host } = await doctor(served(), ['--only=driver'], { askPod: never });
  expect([code, found, host.logged()]).toEqual([0, [], '']);
});
