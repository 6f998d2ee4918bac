// SPDX-License-Identifier: Apache-2.0
/** The situations about which people ask most often. They are those of a cluster with upstream's sidecars: no part of the answer needs ours. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import type { Transport } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  add,
  addWithEvent,
  ago,
  asked,
  attachment,
  boundClaim,
  claim,
  clusterOf,
  csiDriver,
  csiNode,
  driver,
  explain,
  type Explained,
  leading,
  lease,
  namespace,
  node,
  nodePlugin,
  podWith,
  requestsOf,
  sidecarPod,
  storageClass,
  volumeOf,
} from '../testing/cluster.ts';
import { attachmentNameOf } from './facts/volume.ts';

const late = { volumeBindingMode: 'WaitForFirstConsumer' };
const provisionerLease = 'a-example-com';
const attacherLease = 'external-attacher-leader-a-example-com';
const resizerLease = 'external-resizer-a-example-com';
const handle = { driver, handle: 'vol-data', isMigrated: false };
const ofData = ['pvc/data', '-n', namespace];

/** What a verdict is compared by. */
function turnOf({ code, document: { row, turn } }: Explained): object {
  return { row, code, actor: turn?.actor ?? 'nobody' };
}

const refusal = (name: string, text: string): string =>
  `failed to provision volume with StorageClass "gp": rpc error: code = ${name} desc = ${text}`;

describe('a claim that is not provisioned', () => {
  it('[explain#1] given a class that binds late, and no pod, when explained, then the claim waits for its first pod, which is normal', async () => {
    const host = clusterOf([storageClass('gp', late), csiDriver(), claim('data')]);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X15', code: 3, actor: 'user' });
    const { document } = explained;
    expect(document.sentence).toContain('waits for the first pod');
    expect(document.next?.command).toEqual(['kubectl', 'get', 'pods', '-n', namespace]);
    expect(document.risk.level).toBe('none');
  });

  it('[explain#2] given a pod whose nodeName was set by hand, when explained, then no scheduler will select a node for the claim', async () => {
    const pod = podWith('data', 'writer', { spec: { nodeName: 'node-a' } });
    const host = clusterOf([storageClass('gp', late), csiDriver(), claim('data'), pod]);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X17', code: 4, actor: 'user' });
    expect(explained.document.sentence).toContain('no scheduler chooses a node');
  });

  it('[explain#3] given a Lease that is stale for 22 minutes, and a holder whose pod is gone, when explained, then nobody leads since the end of the Lease', async () => {
    const host = clusterOf([storageClass('gp'), csiDriver(), claim('data', { metadata: asked })]);
    add(host, lease(provisionerLease, { holder: 'provisioner-0', renewed: ago(host, 22 * 60 + 15) }));
    const since = ago(host, 22 * 60);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X5', code: 4, actor: 'administrator' });
    expect(explained.document.turn).toMatchObject({ alive: 'no', since });
    expect(explained.document.next?.command.slice(0, 3)).toEqual(['kubectl', 'get', 'pods']);
  });

  it('[explain#4] given a class whose provisioner is misspelt, when explained, then the nearest driver is named', async () => {
    const host = clusterOf([
      storageClass('gp', { provisioner: 'a.example.cmo' }),
      csiDriver(),
      claim('data', { metadata: { annotations: { 'volume.kubernetes.io/storage-provisioner': 'a.example.cmo' } } }),
    ]);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X14', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain(`there is ${driver}`);
  });

  it('[explain#5] given no Lease and no workload of csi-provisioner, when explained, then none was found; where workloads may not be listed, that is not known', async () => {
    const objects = [storageClass('gp'), csiDriver(), claim('data', { metadata: asked })];
    expect(turnOf(await explain(clusterOf(objects), ofData))).toEqual({ row: 'X6', code: 4, actor: 'administrator' });
    const rules = [{ apiGroups: ['', 'storage.k8s.io', 'coordination.k8s.io'], resources: ['*'], verbs: ['*'] }];
    const explained = await explain(clusterOf(objects, { rules }), ofData);
    expect(turnOf(explained)).toMatchObject({ row: 'X6', code: 5 });
    expect(explained.document.missing).toContainEqual(
      expect.objectContaining({ verb: 'list', group: 'apps', resource: 'deployments', because: 'forbidden' }),
    );
  });

  function refused(name: string, text: string, facts: { firstAgo: number; lastAgo: number; count: number }): FakeHost {
    const host = clusterOf([storageClass('gp'), csiDriver()]);
    addWithEvent(host, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: refusal(name, text),
      ...facts,
    });
    add(host, ...leading(host, 'csi-provisioner', provisionerLease));
    return host;
  }

  it('[explain#6] given nine refusals with InvalidArgument, when explained, then an administrator changes the class or the pool', async () => {
    const host = refused('InvalidArgument', 'pool p1 does not exist', { firstAgo: 840, lastAgo: 14, count: 9 });
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X25', code: 4, actor: 'administrator' });
    const { decision, error, changes, turn } = explained.document;
    expect(decision).toMatchObject({ program: 'csi-provisioner', row: 'C24', action: 'conclude', origin: 'computed' });
    expect(error).toMatchObject({
      code: 3,
      codeName: 'InvalidArgument',
      count: 9,
      at: ago(host, 14),
      source: 'csi-provisioner',
    });
    expect(error?.text).toContain('pool p1 does not exist');
    expect(changes).toHaveLength(2);
    expect(changes[0]?.object).toMatchObject({ kind: 'StorageClass', name: 'gp' });
    expect(turn?.since).toBe(ago(host, 840));
  });

  const withSecret = {
    parameters: {
      'csi.storage.k8s.io/provisioner-secret-name': 's1',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'ns1',
    },
  };

  it('[explain#7] given a class that names a secret which does not exist, when explained, then the secret is missing, and nothing but metadata is asked for', async () => {
    const host = refused('Internal', 'no credentials', { firstAgo: 60, lastAgo: 14, count: 2 });
    add(host, storageClass('gp', withSecret));
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X23', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('ns1/s1');
    const reads = host.server.requests.filter(({ resource }) => resource === 'secrets');
    expect(reads.map(({ accept }) => accept)).toEqual(['application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1']);
  });

  it('[explain#8] given no right on secrets, when explained, then the event decides; without an event it is not known', async () => {
    const rules = [
      { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes', 'events', 'pods'], verbs: ['*'] },
      { apiGroups: ['storage.k8s.io', 'coordination.k8s.io', 'apps'], resources: ['*'], verbs: ['*'] },
    ];
    const objects = [storageClass('gp', withSecret), csiDriver()];
    const withEvent = clusterOf(objects, { rules });
    addWithEvent(withEvent, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: refusal('InvalidArgument', 'no'),
      firstAgo: 60,
      lastAgo: 14,
    });
    const first = await explain(withEvent, ofData);
    expect(turnOf(first)).toMatchObject({ row: 'X25', code: 4 });
    expect(first.document.missing).toContainEqual(
      expect.objectContaining({ resource: 'secrets', because: 'forbidden' }),
    );
    const without = clusterOf([...objects, claim('data', { metadata: asked })], { rules });
    add(without, ...leading(without, 'csi-provisioner', provisionerLease));
    expect(turnOf(await explain(without, ofData))).toMatchObject({ row: 'X31', code: 5 });
  });

  it('[explain#9] given a class that allows zone c, and nodes of zones a and b, when explained, then key, values wanted and values there are named', async () => {
    const topologies = [{ matchLabelExpressions: [{ key: 'topology.x/zone', values: ['c'] }] }];
    const zone = (name: string, value: string): object =>
      node(name, { metadata: { labels: { 'topology.x/zone': value } } });
    const host = clusterOf([
      storageClass('gp', { ...late, allowedTopologies: topologies }),
      csiDriver(),
      claim('data'),
      podWith('data', 'writer'),
      zone('node-a', 'a'),
      zone('node-b', 'b'),
    ]);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X19', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('topology.x/zone: wanted c, there a, b');
  });

  it('[explain#10] given a selected node on which the driver has no topology, when explained, then the node is named', async () => {
    const annotations = { ...asked.annotations, 'volume.kubernetes.io/selected-node': 'node-a' };
    const host = clusterOf([
      storageClass('gp', late),
      csiDriver(),
      claim('data', { metadata: { annotations } }),
      csiNode('node-a'),
      csiNode('node-b', [{ name: driver, nodeID: 'b', topologyKeys: ['topology.x/zone'] }]),
    ]);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X19', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('node-a');
    expect(explained.document.findings).toEqual(['topo-3']);
  });

  it('[explain#22] given Aborted for seven minutes, when explained, then it is the turn of the storage; after two minutes the driver is still given time', async () => {
    const long = await explain(
      refused('Aborted', 'operation in progress', { firstAgo: 420, lastAgo: 14, count: 9 }),
      ofData,
    );
    expect(turnOf(long)).toEqual({ row: 'X27', code: 4, actor: 'storage' });
    expect(long.document.turn?.since).toBe(ago(long.host, 420));
    const short = await explain(
      refused('Aborted', 'operation in progress', { firstAgo: 120, lastAgo: 14, count: 5 }),
      ofData,
    );
    expect(turnOf(short)).toEqual({ row: 'X28', code: 3, actor: 'driver' });
  });

  it('[explain#38] given Unavailable with RequestLimitExceeded, when explained, then the backend throttles, and the next attempt has bounds', async () => {
    const host = refused('Unavailable', 'RequestLimitExceeded: slow down', { firstAgo: 120, lastAgo: 10, count: 4 });
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X28', code: 3, actor: 'driver' });
    expect(explained.document.findings).toEqual(['load-1']);
    // Four failures: the delay is at most 16 s, with a tenth of jitter.
    expect(explained.document.retry).toMatchObject({
      will: 'yes',
      earliest: ago(host, 10),
      latest: ago(host, 10 - 17.6),
    });
  });

  it('[explain#37] given a container that was killed six times for its memory, when explained, then exit code and limit are named', async () => {
    const host = clusterOf([storageClass('gp'), csiDriver(), claim('data', { metadata: asked })]);
    add(host, lease(provisionerLease, { holder: 'csi-provisioner-0', renewed: ago(host, 3) }));
    const terminated = { exitCode: 137, reason: 'OOMKilled', finishedAt: ago(host, 60) };
    const status = {
      containerStatuses: [
        { name: 'csi-provisioner', restartCount: 6, state: { running: {} }, lastState: { terminated } },
      ],
    };
    const containers = [
      { name: 'csi-provisioner', image: 'x/csi-provisioner:v1', resources: { limits: { memory: '64Mi' } } },
    ];
    add(host, sidecarPod('csi-provisioner', { spec: { containers }, status }));
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X7', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('exit code 137');
    expect(explained.document.sentence).toContain('64Mi');
  });
});

describe('a bound claim whose pod waits', () => {
  const onNode = (name = 'writer', nodeName = 'node-b'): object => podWith('data', name, { spec: { nodeName } });
  const bound = [
    storageClass('gp'),
    csiDriver(),
    boundClaim('data'),
    volumeOf('data'),
    csiNode('node-a'),
    csiNode('node-b'),
  ];
  const va = (nodeName: string, status?: object, metadata: object = {}): object =>
    attachment(attachmentNameOf(handle, nodeName), {
      node: nodeName,
      metadata,
      ...(status !== undefined && { status }),
    });

  it('[explain#11] given an attach error with code 8, when explained, then the node is full; how full is known with --deep only', async () => {
    const full = [
      node('node-b'),
      csiNode('node-b', [{ name: driver, nodeID: 'b', topologyKeys: null, allocatable: { count: 2 } }]),
    ];
    const attachError = { message: 'too many', errorCode: 8 };
    const objects = [...bound, ...full, onNode(), va('node-b', { attached: false, attachError })];
    const others = ['one', 'two'].map((name) =>
      attachment(name, { node: 'node-b', volume: name, status: { attached: true } }),
    );
    const shallow = await explain(clusterOf([...objects, ...others]), ofData);
    expect(turnOf(shallow)).toEqual({ row: 'X52', code: 4, actor: 'administrator' });
    expect(shallow.document.sentence).toContain('can have 2 volumes of a.example.com; how many it has is not known');
    const deep = await explain(clusterOf([...objects, ...others]), [...ofData, '--deep']);
    expect(deep.document.sentence).toContain('can have 2 volumes of a.example.com, and has 2');
  });

  const unready = (host: FakeHost, spec: object = {}): object =>
    node('node-a', {
      spec,
      status: { conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: ago(host, 180) }] },
    });

  it('[explain#12] given the volume on a node that is not ready, when explained, then the six minutes are counted, and the taint is a risk', async () => {
    const host = clusterOf([...bound, onNode('old', 'node-a'), onNode(), va('node-a', { attached: true })]);
    add(host, unready(host));
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X47', code: 4, actor: 'administrator' });
    const { document } = explained;
    expect(document.sentence).toContain('3 of 6 minutes');
    expect(document.risk).toMatchObject({ level: 'possible', of: 'corruption', ifYou: 'taint' });
    expect(document.next?.command).toEqual(['kubectl', 'describe', 'node', 'node-a']);
  });

  it('[explain#13] given that node with the taint out-of-service, and the attachment being deleted, when explained, then csi-attacher detaches', async () => {
    const host = clusterOf([...bound, onNode('old', 'node-a'), onNode()]);
    add(host, unready(host, { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] }));
    add(
      host,
      va(
        'node-a',
        { attached: true },
        { deletionTimestamp: ago(host, 5), finalizers: ['external-attacher/a-example-com'] },
      ),
    );
    add(host, ...leading(host, 'csi-attacher', attacherLease));
    expect(turnOf(await explain(host, ofData))).toEqual({ row: 'X48', code: 3, actor: 'csi-attacher' });
  });

  it('[explain#14] given an old pod on another node, when explained, then it is named; while it ends in its grace period, nothing is to be done', async () => {
    const objects = [...bound, node('node-a'), onNode(), va('node-a', { attached: true })];
    const running = await explain(clusterOf([...objects, onNode('old', 'node-a')]), ofData);
    expect(turnOf(running)).toEqual({ row: 'X46', code: 4, actor: 'user' });
    expect(running.document.sentence).toContain('pod old');
    const host = clusterOf(objects);
    const metadata = { deletionTimestamp: ago(host, -20), deletionGracePeriodSeconds: 30, finalizers: ['x/y'] };
    add(host, podWith('data', 'old', { metadata, spec: { nodeName: 'node-a' } }));
    expect(turnOf(await explain(host, ofData))).toEqual({ row: 'X46', code: 3, actor: 'user' });
  });

  it('[explain#17] given an attachment without a status for twelve minutes, when explained, then queue and calls cannot be seen from outside', async () => {
    const host = clusterOf([...bound, onNode()]);
    add(
      host,
      va('node-b', undefined, { creationTimestamp: ago(host, 720) }),
      ...leading(host, 'csi-attacher', attacherLease),
    );
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X51', code: 3, actor: 'csi-attacher' });
    expect(explained.document.sentence).toContain('cannot be seen from outside');
    expect(explained.document.retry?.exact).toBe(false);
    // The leader is asked about the attachment that it works on.
    const urls: string[] = [];
    await explain(host, [...ofData, '--via=http://127.0.0.1:1'], async (url) => {
      urls.push(url.href);
      return { status: 404, contentType: '', body: '' };
    });
    expect(urls).toEqual([expect.stringMatching(/\?kind=va&key=csi-[0-9a-f]{64}$/)]);
  });

  const unregistered = [
    ...bound,
    csiNode('node-b', []),
    node('node-b', { spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } }),
  ];
  const notListed = {
    reason: 'FailedMount',
    message: `driver name ${driver} not found in the list of registered CSI drivers`,
    firstAgo: 60,
    lastAgo: 5,
    component: 'kubelet',
  };

  it('[explain#18] given a driver that kubelet does not know, and its pod ready on the node, when explained, then the log of the registrar there is the next command', async () => {
    const host = clusterOf([...unregistered, ...nodePlugin('node-b')]);
    addWithEvent(host, podWith('data', 'writer', { spec: { nodeName: 'node-b' } }), notListed);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X44', code: 4, actor: 'administrator' });
    expect(explained.document.next?.command).toEqual([
      'kubectl',
      'logs',
      '-n',
      'storage',
      'plugin-on-node-b',
      '-c',
      'node-driver-registrar',
    ]);
  });

  it('[explain#19] given no pod of the driver on the node, when explained, then the taint of the node is named', async () => {
    const host = clusterOf([...unregistered, ...nodePlugin(undefined), onNode()]);
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X43', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('gpu:NoSchedule');
  });

  it('[explain#20] given a pod of the driver that cannot be created, when explained, then the text of its event is shown', async () => {
    const status = { containerStatuses: [{ name: 'driver', state: { waiting: { reason: 'CreateContainerError' } } }] };
    const [set, plugin] = nodePlugin('node-b', status);
    const host = clusterOf([...unregistered, onNode(), set!]);
    addWithEvent(host, plugin!, {
      reason: 'Failed',
      message: 'path /var/lib/kubelet is mounted on / but it is not a shared mount',
      firstAgo: 60,
      lastAgo: 5,
    });
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X43', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('not a shared mount');
  });

  it('[explain#21] given a mount that fails for twenty minutes, when explained, then the log of the driver on that node is the next command', async () => {
    const host = clusterOf([...bound, ...nodePlugin('node-b'), va('node-b', { attached: true })]);
    addWithEvent(host, podWith('data', 'writer', { spec: { nodeName: 'node-b' } }), {
      reason: 'FailedMount',
      message: 'MountVolume.MountDevice failed: wrong fs type, bad superblock',
      count: 12,
      firstAgo: 1_200,
      lastAgo: 60,
    });
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X55', code: 4, actor: 'driver' });
    expect(explained.document.sentence).toContain('no object records more');
    expect(explained.document.next?.command).toEqual([
      'kubectl',
      'logs',
      '-n',
      'storage',
      'plugin-on-node-b',
      '-c',
      'driver',
    ]);
  });

  function mounting(securityContext: object, seconds: number): FakeHost {
    const host = clusterOf([...bound, node('node-b'), va('node-b', { attached: true })]);
    const pod = podWith('data', 'writer', {
      spec: { nodeName: 'node-b', securityContext },
      status: { containerStatuses: [{ name: 'main', state: { waiting: { reason: 'ContainerCreating' } } }] },
    });
    addWithEvent(host, pod, {
      type: 'Normal',
      reason: 'SuccessfulAttachVolume',
      message: 'attached',
      firstAgo: seconds,
      lastAgo: seconds,
    });
    return host;
  }

  it('[explain#23] given an fsGroup without a policy, four minutes after the attach, when explained, then kubelet changes the owner of each file', async () => {
    const explained = await explain(mounting({ fsGroup: 1000 }, 240), ofData);
    expect(turnOf(explained)).toEqual({ row: 'X56', code: 3, actor: 'kubelet' });
    expect(explained.document.changes[0]?.what).toContain('OnRootMismatch');
  });

  it('[explain#24] given OnRootMismatch, four minutes after the attach, when explained, then no object records why the pod has not started', async () => {
    const explained = await explain(mounting({ fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' }, 240), ofData);
    expect(turnOf(explained)).toEqual({ row: 'X57', code: 5, actor: 'kubelet' });
  });
});

describe('an attachment that does not go', () => {
  const leaving = (host: FakeHost, status?: object): object =>
    attachment('va-1', {
      metadata: { deletionTimestamp: ago(host, 2_400), finalizers: ['external-attacher/a-example-com'] },
      ...(status !== undefined && { status }),
    });

  it('[explain#15] given a detach error for forty minutes, and a node that is gone, when explained, then the finalizer is no risk to data', async () => {
    const host = clusterOf([volumeOf('data')]);
    add(
      host,
      leaving(host, {
        attached: true,
        detachError: { message: 'rpc error: code = Internal desc = node not found', time: ago(host, 30) },
      }),
    );
    const explained = await explain(host, ['va/va-1']);
    expect(turnOf(explained)).toEqual({ row: 'X80', code: 4, actor: 'driver' });
    expect(explained.document.sentence).toMatch(/D7|D8/);
    expect(explained.document.risk.level).toBe('none');
    add(host, node('node-a'));
    const alive = clusterOf([volumeOf('data'), node('node-a')]);
    add(
      alive,
      leaving(alive, {
        attached: true,
        detachError: { message: 'rpc error: code = Internal desc = busy', time: ago(alive, 30) },
      }),
    );
    expect((await explain(alive, ['va/va-1'])).document.risk).toMatchObject({ level: 'possible', of: 'corruption' });
  });

  it('[explain#16] given no error, and a stale Lease of csi-attacher, when explained, then nobody leads', async () => {
    const host = clusterOf([volumeOf('data'), node('node-a')]);
    add(
      host,
      leaving(host, { attached: true }),
      lease(attacherLease, { holder: 'csi-attacher-0', renewed: ago(host, 600) }),
    );
    expect(turnOf(await explain(host, ['va/va-1']))).toEqual({ row: 'X5', code: 4, actor: 'administrator' });
  });
});

describe('what does not go away', () => {
  it('[explain#25] given a claim that is being deleted and used, when explained, then the pods that run are named, or those that have ended', async () => {
    const deleted = (host: FakeHost): object =>
      boundClaim('data', {
        metadata: { deletionTimestamp: ago(host, 60), finalizers: ['kubernetes.io/pvc-protection'] },
      });
    const ended = podWith('data', 'job', { status: { phase: 'Succeeded' } });
    const host = clusterOf([volumeOf('data'), ended]);
    add(host, deleted(host));
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toEqual({ row: 'X71', code: 4, actor: 'user' });
    expect(explained.document.sentence).toContain('pod job, which has ended, uses the claim');
    const both = clusterOf([volumeOf('data'), ended, podWith('data', 'writer', { status: { phase: 'Running' } })]);
    add(both, deleted(both));
    expect((await explain(both, ofData)).document.sentence).toContain('pod writer uses the claim');
  });

  it('[explain#26] given a claim with a snapshot whose class is missing, when explained, then that snapshot and its row are named', async () => {
    const host = clusterOf([volumeOf('data')]);
    const finalizers = ['snapshot.storage.kubernetes.io/pvc-as-source-protection'];
    add(host, boundClaim('data', { metadata: { deletionTimestamp: ago(host, 60), finalizers } }));
    const snapshot = (name: string, className: string, status?: object): object => ({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name, namespace, uid: `uid-of-${name}` },
      spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: className },
      ...(status !== undefined && { status }),
    });
    add(host, snapshot('good', 'there', { readyToUse: true }), snapshot('broken', 'gone'));
    const explained = await explain(host, ofData);
    expect(turnOf(explained)).toMatchObject({ row: 'X75', code: 4 });
    expect(explained.document.sentence).toContain(`${namespace}/broken`);
    expect(explained.document.sentence).toContain('S4');
    expect(explained.document.risk).toMatchObject({ level: 'possible', of: 'loss' });
  });

  it('[explain#27] given a volume with a finalizer of Kubernetes and a foreign one, when explained, then both are listed, and the foreign owner is a guess', async () => {
    const host = clusterOf([boundClaim('data')]);
    add(
      host,
      volumeOf('data', {
        metadata: { deletionTimestamp: ago(host, 60), finalizers: ['kubernetes.io/pv-protection', 'foo.io/keep'] },
      }),
    );
    const explained = await explain(host, ['pv/pv-data']);
    expect(turnOf(explained)).toMatchObject({ row: 'X72', code: 4 });
    expect(explained.document.sentence).toContain('foo.io/keep (guess: foo.io)');
  });

  it('[explain#28] given thirty failures of DeleteVolume because of snapshots, when explained, then they may have to go first, and the finalizer is a certain leak', async () => {
    const host = clusterOf([]);
    const volume = volumeOf('data', {
      metadata: { finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'] },
      status: { phase: 'Released' },
    });
    addWithEvent(host, volume, {
      reason: 'VolumeFailedDelete',
      message: 'rpc error: code = Internal desc = volume has dependent snapshots',
      count: 30,
      firstAgo: 3_600,
      lastAgo: 60,
    });
    const explained = await explain(host, ['pv/pv-data']);
    expect(turnOf(explained)).toEqual({ row: 'X77', code: 4, actor: 'storage' });
    expect(explained.document.sentence).toContain('snapshots of it may have to go first');
    expect(explained.document.risk).toMatchObject({ level: 'certain', of: 'leak' });
  });

  it('[explain#29] given a released volume with policy Retain, when explained, then it is kept on purpose', async () => {
    const host = clusterOf([
      volumeOf('data', { spec: { persistentVolumeReclaimPolicy: 'Retain' }, status: { phase: 'Released' } }),
    ]);
    const explained = await explain(host, ['pv/pv-data']);
    expect(turnOf(explained)).toMatchObject({ row: 'X88', code: 0 });
    expect(explained.document.sentence).toContain('kept on purpose');
  });
});

describe('a claim that wants to be larger, or other', () => {
  const growing = { spec: { resources: { requests: { storage: '20Gi' } } }, status: { capacity: { storage: '10Gi' } } };
  const objects = [storageClass('gp', { allowVolumeExpansion: true }), csiDriver(), volumeOf('data')];

  it('[explain#30] given ControllerResizeInfeasible, when explained, then any size above the capacity may be asked for', async () => {
    const status = { ...growing.status, allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } };
    const explained = await explain(clusterOf([...objects, boundClaim('data', { ...growing, status })]), ofData);
    expect(turnOf(explained)).toEqual({ row: 'X61', code: 4, actor: 'user' });
    expect(explained.document.sentence).toContain('any size above 10Gi');
  });

  it('[explain#31] given no trace of csi-resizer for ten minutes, and an account that may not list pods, when explained, then that right is found missing; without an answer, the sentence says often', async () => {
    const arranged = (seconds: number, allowed: boolean | undefined): FakeHost => {
      const intercept =
        (transport: Transport): Transport =>
        async (request) => {
          if (!request.path.endsWith('/subjectaccessreviews')) return await transport(request);
          const status = allowed === undefined ? { allowed: false, evaluationError: 'a webhook' } : { allowed };
          const body = Buffer.from(
            JSON.stringify({ kind: 'SubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', status }),
          );
          return {
            status: 201,
            headers: { 'content-type': 'application/json' },
            body: (async function* () {
              yield body;
            })(),
          };
        };
      const host = clusterOf(objects, { intercept });
      const managedFields = [{ manager: 'kubectl', operation: 'Update', time: ago(host, seconds) }];
      add(
        host,
        boundClaim('data', { ...growing, metadata: { managedFields } }),
        ...leading(host, 'csi-resizer', resizerLease),
      );
      return host;
    };
    const missing = await explain(arranged(600, false), ofData);
    expect(turnOf(missing)).toEqual({ row: 'X66', code: 4, actor: 'csi-resizer' });
    expect(missing.document.findings).toEqual(['rights-7']);
    expect(missing.document.sentence).not.toContain('often');
    for (const allowed of [true, undefined]) {
      const open = await explain(arranged(600, allowed), ofData);
      expect([turnOf(open), open.document.findings]).toEqual([{ row: 'X66', code: 4, actor: 'csi-resizer' }, []]);
      expect(open.document.sentence).toContain('often');
    }
    expect(turnOf(await explain(arranged(60, false), ofData))).toMatchObject({ row: 'X66', code: 3 });
  });

  it('[explain#32] given a volume that has grown, and no pod, when explained, then its file system grows with the next pod', async () => {
    const status = { ...growing.status, conditions: [{ type: 'FileSystemResizePending', status: 'True' }] };
    const explained = await explain(clusterOf([...objects, boundClaim('data', { ...growing, status })]), ofData);
    expect(turnOf(explained)).toEqual({ row: 'X62', code: 3, actor: 'user' });
  });

  it('[explain#33] given another attributes class and no trace of anything, when explained, then gate, right or capability is missing', async () => {
    const attributes = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: { name: 'fast' },
      driverName: driver,
    };
    const host = clusterOf([
      ...objects,
      attributes,
      boundClaim('data', { spec: { volumeAttributesClassName: 'fast' } }),
    ]);
    expect(turnOf(await explain(host, ofData))).toEqual({ row: 'X68', code: 4, actor: 'administrator' });
  });
});

describe('snapshots', () => {
  const snapshot = (host: FakeHost, fields: object = {}): object => ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name: 'daily', namespace, uid: 'uid-of-daily', creationTimestamp: ago(host, 600) },
    spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: 'snap' },
    ...fields,
  });
  const classOf = (name: string): object => ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'snap' },
    driver: name,
    deletionPolicy: 'Delete',
  });
  const daily = ['vs/daily', '-n', namespace];

  it('[explain#34] given a snapshot without a trace of snapshot-controller, and no Lease of it, when explained, then none was found', async () => {
    const host = clusterOf([boundClaim('data'), volumeOf('data'), classOf(driver)]);
    add(host, snapshot(host));
    const explained = await explain(host, daily);
    expect(turnOf(explained)).toEqual({ row: 'X6', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('snapshot-controller');
    add(host, ...leading(host, 'snapshot-controller', 'snapshot-controller-leader'));
    const led = clusterOf([boundClaim('data'), volumeOf('data'), classOf(driver)]);
    add(led, snapshot(led), ...leading(led, 'snapshot-controller', 'snapshot-controller-leader'));
    expect(turnOf(await explain(led, daily))).toEqual({ row: 'X101', code: 3, actor: 'snapshot-controller' });
  });

  it('[explain#35] given a content without a status, when explained, then csi-snapshotter was not found; given a class of another driver, then the class does not fit', async () => {
    const content = {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name: 'snapcontent-uid-of-daily' },
      spec: { driver, deletionPolicy: 'Delete', source: { volumeHandle: 'vol-data' } },
    };
    const host = clusterOf([boundClaim('data'), volumeOf('data'), classOf(driver), content]);
    add(host, snapshot(host));
    const explained = await explain(host, daily);
    expect(turnOf(explained)).toEqual({ row: 'X6', code: 4, actor: 'administrator' });
    expect(explained.document.sentence).toContain('csi-snapshotter');
    const foreign = clusterOf([boundClaim('data'), volumeOf('data'), classOf('b.example.com')]);
    add(foreign, snapshot(foreign));
    expect(turnOf(await explain(foreign, daily))).toEqual({ row: 'X102', code: 4, actor: 'user' });
  });

  it('[explain#36] given no CRDs of snapshots, when explained, then they are missing', async () => {
    const host = clusterOf([]);
    host.server.removeTypes({ group: 'snapshot.storage.k8s.io', plural: 'volumesnapshots' });
    expect(turnOf(await explain(host, daily))).toEqual({ row: 'X100', code: 4, actor: 'administrator' });
  });
});

it('[explain#39] given a bound claim and a pod that runs, when explained, then nothing is awaited, with at most 15 requests and no next command', async () => {
  const pod = podWith('data', 'writer', { spec: { nodeName: 'node-a' }, status: { phase: 'Running' } });
  const host = clusterOf([
    storageClass('gp'),
    csiDriver(),
    boundClaim('data'),
    volumeOf('data'),
    csiNode('node-a'),
    node('node-a'),
    pod,
  ]);
  const explained = await explain(host, ofData);
  expect(turnOf(explained)).toEqual({ row: 'X41', code: 0, actor: 'nobody' });
  expect(explained.document.next).toBeNull();
  expect(requestsOf(host).length).toBeLessThanOrEqual(15);
  expect(explained.document.cost.requests).toBe(requestsOf(host).length);
  expect(explained.document.stages.filter(({ state }) => state !== 'done' && state !== 'skip')).toEqual([]);
});
