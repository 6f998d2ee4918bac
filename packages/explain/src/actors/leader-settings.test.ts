// SPDX-License-Identifier: Apache-2.0
/** The arguments of the leader decide names and waits that explain prints. */
import { describe, expect, it } from 'vitest';
import {
  add,
  addWithEvent,
  ago,
  asked,
  claim,
  clusterOf,
  csiDriver,
  explain,
  lease,
  namespace,
  requestsOf,
  sidecarPod,
  storageClass,
  volumeOf,
} from '../../testing/cluster.ts';
import { retryIntervalsOf } from './leader-settings.ts';

const ofData = ['pvc/data', '-n', namespace];
const waiting = [storageClass('gp'), csiDriver()];

/** csi-provisioner leads with these arguments. */
function clusterWith(args: readonly string[], ...objects: readonly object[]): ReturnType<typeof clusterOf> {
  const host = clusterOf([...waiting, ...objects]);
  const containers = [{ name: 'csi-provisioner', image: 'registry.example.com/csi-provisioner:v1', args }];
  add(
    host,
    lease('a-example-com', { holder: 'csi-provisioner-0', renewed: ago(host, 3) }),
    sidecarPod('csi-provisioner', { spec: { containers } }),
  );
  return host;
}

const made = (name: string): object =>
  volumeOf('data', { metadata: { name }, spec: { claimRef: { namespace, name: 'data', uid: 'uid-of-data' } } });

describe('the arguments of csi-provisioner', () => {
  it('given a prefix and a length for the names of volumes, when explained, then the volume of the claim is found', async () => {
    const data = claim('data', { metadata: { ...asked, uid: '11112222-3333-4444-5555-666677778888' } });
    const args = ['--volume-name-prefix=disk', '--volume-name-uuid-length=8'];
    const host = clusterWith(args, data, made('disk-11112222'));
    expect((await explain(host, ofData)).document.row).toBe('X30');
    const other = await explain(clusterWith([], data, made('disk-11112222')), ofData);
    expect(other.document.row).toBe('X31');
    const named = await explain(clusterWith([], data, made('disk-11112222')), [...ofData, ...args]);
    expect(named.document.row).toBe('X30');
  });

  it('given a volume of the usual name, when explained, then no leader is looked for', async () => {
    const host = clusterWith([], claim('data', { metadata: asked }), made('pvc-uid-of-data'));
    expect((await explain(host, ofData)).document.row).toBe('X30');
    expect(requestsOf(host).filter((request) => request.includes('metadata.name=a-example-com'))).toEqual([]);
  });

  it('given intervals of retries, and a driver that refuses, when explained, then the next attempt is within them', async () => {
    const args = ['--retry-interval-start', '2s', '--retry-interval-max=20s', '--flag-of-another-version'];
    const host = clusterWith(args);
    const message = 'rpc error: code = InvalidArgument desc = no pool';
    const data = claim('data', { metadata: asked });
    addWithEvent(host, data, { reason: 'ProvisioningFailed', message, count: 9, firstAgo: 300, lastAgo: 10 });
    const { document } = await explain(host, ofData);
    expect([document.row, document.turn?.actor]).toEqual(['X25', 'administrator']);
    expect(document.retry).toMatchObject({ earliest: ago(host, 10), latest: ago(host, 10 - 22) });
  });

  it('[explain#68] given --provisioning-protection=always, when a deleted claim is explained, then it is kept until it is known, without a bound', async () => {
    const finalizer = 'provisioning-protection.provisioner.storage.kubernetes.io/a.example.com';
    const host = clusterWith(['--provisioning-protection=always', '--volume-name-prefix=disk']);
    add(host, claim('data', { metadata: { ...asked, finalizers: [finalizer], deletionTimestamp: ago(host, 120) } }));
    const { code, document } = await explain(host, ofData);
    expect([code, document.row, document.retry?.latest]).toEqual([3, 'X73', null]);
    expect(document.sentence).toContain(
      'volume disk-uid-of-data was made by a.example.com: kept until it is known (P9)',
    );
  });
});

it('given arguments without intervals, then the defaults of all sidecars hold', () => {
  expect(retryIntervalsOf(['--v=5'])).toEqual({ startMs: 1_000, maxMs: 300_000 });
});
