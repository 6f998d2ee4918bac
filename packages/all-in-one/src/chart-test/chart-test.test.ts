// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { csiDrivers, csiNodes, type KubeObject, leases, nodes, pods } from '@csi-sidecars/runtime';
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PodIo } from './checks.ts';
import { runChartTest } from './run.ts';
import { systemPodIo } from './pod-io.ts';

const driver = 'a.example.com';
const namespace = 'storage';
const leaseNamespace = 'leases';
const metricsUrl = 'http://metrics:9810/metrics';
const everything = [
  `--driver-name=${driver}`,
  `--namespace=${leaseNamespace}`,
  `--node-namespace=${namespace}`,
  '--node-pods=app=node',
  '--leases=a-example-com',
  `--metrics-endpoints=${metricsUrl}`,
  '--data=/data',
  '--timeout=30s',
];

const condition = (type: string, status: string): object => ({ type, status });
const ready = { conditions: [condition('Ready', 'True'), condition('DiskPressure', 'False')] };
const unready = { conditions: [condition('Initialized', 'True'), condition('Ready', 'False')] };

function aPod(name: string, nodeName: string, status: object = ready): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'node' } },
    spec: { nodeName, containers: [] },
    status,
  } as KubeObject;
}

function aNode(name: string, status: object = ready): readonly KubeObject[] {
  const drivers = ['other', driver].map((each) => ({ name: each, nodeID: name, topologyKeys: [] }));
  return [
    { apiVersion: 'v1', kind: 'Node', metadata: { name }, status } as KubeObject,
    { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } } as KubeObject,
  ];
}

const answering: PodIo = {
  get: async () => ({ status: 200, text: '# TYPE a counter\na 1\n' }),
  writeAndRead: async () => true,
};

/** A chart that has reached everything. */
function installed(args: readonly string[] = everything): FakeHost {
  const host = fakeHost({ args });
  const { seed } = host.server.objects;
  seed({ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec: {} } as KubeObject);
  aNode('one').forEach(seed);
  seed(aPod('on-one', 'one'));
  seed({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'a-example-com', namespace: leaseNamespace },
    spec: {
      holderIdentity: 'pod-1',
      leaseDurationSeconds: 15,
      renewTime: new Date(host.clock.nowMs()).toISOString(),
    },
  } as KubeObject);
  return host;
}

/** Lets the time pass that the program waits. */
async function codeOf(host: FakeHost, podIo: PodIo = answering): Promise<number> {
  const { clock } = host;
  const readMs = clock.monotonicMs.bind(clock);
  let reads = 0;
  clock.monotonicMs = () => {
    reads += 1;
    // Without pauses it would never end.
    if (reads === 2_000) host.stop();
    return readMs();
  };
  const run = runChartTest({ host, lifecycle: host.lifecycle, podIo });
  for (let second = 0; second < 40; second += 1) {
    await settle();
    await clock.advance(1_000);
  }
  return await run;
}

describe('an installed chart', () => {
  it('given everything is there, then each thing is reported once, and the test ends with 0', async () => {
    const host = installed();
    expect(await codeOf(host)).toBe(0);
    expect(host.printed()).toBe(
      [
        `ok      CSIDriver ${driver}`,
        `ok      ${driver} on the nodes`,
        'ok      Lease a-example-com',
        `ok      ${metricsUrl}`,
        'ok      a volume at /data',
        '',
      ].join('\n'),
    );
    expect(host.connections()).toBe(0);
  });

  it('given a name only, then nothing but the CSIDriver is looked at', async () => {
    const host = installed([`--driver-name=${driver}`]);
    expect(await codeOf(host)).toBe(0);
    expect(host.printed()).toBe(`ok      CSIDriver ${driver}\n`);
  });

  const node = { name: 'one' };
  const lease = { namespace: leaseNamespace, name: 'a-example-com' };
  const leaseWith =
    (change: object) =>
    ({ server }: FakeHost): void =>
      void server.objects.change(leases, lease, (found) => ({ ...found, spec: { ...found.spec, ...change } }));
  /** A time that was this long ago when the test begins. */
  const ago = (ms: number): string => new Date(new FakeClock().nowMs() - ms).toISOString();
  const registered =
    (...names: readonly string[]) =>
    ({ server }: FakeHost): void => {
      const drivers = names.map((name) => ({ name, nodeID: 'id', topologyKeys: [] }));
      void server.objects.change(csiNodes, node, (found) => ({ ...found, spec: { ...found.spec, drivers } }));
    };
  const secondNode = ({ server }: FakeHost): void => {
    const [away] = aNode('two');
    server.objects.seed(away!);
    server.objects.seed(aPod('on-two', 'two'));
  };
  it.each<[string, (host: FakeHost) => void, string]>([
    [
      'no CSIDriver',
      ({ server }) => server.objects.remove(csiDrivers, { name: driver }),
      `CSIDriver ${driver}: the object does not exist`,
    ],
    [
      'no pod on a node',
      ({ server }) => server.objects.remove(pods, { namespace, name: 'on-one' }),
      'no ready node has a pod of the driver',
    ],
    [
      'a pod that is not ready',
      ({ server }) => void server.objects.seed(aPod('on-one', 'one', unready)),
      'not ready: on-one',
    ],
    [
      'pods that are not ready',
      ({ server }) => {
        server.objects.seed(aPod('on-one', 'one', unready));
        server.objects.seed(aPod('also-on-one', 'one', {}));
        server.objects.seed({ ...aPod('new-on-one', 'one'), status: undefined } as KubeObject);
      },
      'not ready: also-on-one, new-on-one, on-one',
    ],
    ['a node without registration', registered(), 'kubelet has not registered it on one'],
    ['a node with registration of another driver', registered('other'), 'kubelet has not registered it on one'],
    [
      'nodes without registration',
      (host) => [registered(), secondNode].forEach((change) => change(host)),
      'kubelet has not registered it on one, two',
    ],
    [
      'a CSINode whose drivers are null',
      ({ server }) =>
        void server.objects.change(csiNodes, node, (found) => ({ ...found, spec: { drivers: null } }) as never),
      'kubelet has not registered it on one',
    ],
    [
      'no Lease',
      ({ server }) => server.objects.remove(leases, lease),
      'Lease a-example-com: the object does not exist',
    ],
    ['a Lease that was released', leaseWith({ holderIdentity: '' }), 'nothing holds it'],
    ['a Lease without a holder', leaseWith({ holderIdentity: undefined }), 'nothing holds it'],
    [
      'a Lease without content',
      ({ server }) => void server.objects.change(leases, lease, (found) => ({ ...found, spec: undefined }) as never),
      'nothing holds it',
    ],
    ['a Lease that was never renewed', leaseWith({ renewTime: undefined }), 'pod-1 has not renewed it since '],
    [
      'a Lease that was not renewed in its duration and 30 s more',
      leaseWith({ renewTime: ago(45_001) }),
      `pod-1 has not renewed it since ${ago(45_001)}`,
    ],
    [
      'a Lease without a duration that was not renewed in 30 s',
      leaseWith({ renewTime: ago(30_001), leaseDurationSeconds: undefined }),
      `pod-1 has not renewed it since ${ago(30_001)}`,
    ],
  ])('given %s, then the test fails when the time is up, and reports what is missing', async (_what, breakIt, says) => {
    const host = installed();
    breakIt(host);
    expect(await codeOf(host)).toBe(1);
    const missing = host
      .printed()
      .split('\n')
      .filter((line) => line.startsWith('missing '));
    expect(missing).toHaveLength(1);
    // Its name is in front.
    expect(missing[0]?.endsWith(says)).toBe(true);
  });

  const odd = JSON.parse('"odd"') as Error;
  it.each<[string, Partial<PodIo>, string]>([
    [
      'an endpoint with 404',
      { get: async () => ({ status: 404, text: '' }) },
      `missing ${metricsUrl}: the answer is 404`,
    ],
    ['an endpoint without metrics', { get: async () => ({ status: 200, text: 'ok' }) }, 'the answer has no metrics'],
    ['an endpoint with an odd error', { get: () => Promise.reject(odd) }, `missing ${metricsUrl}: odd`],
    ['an endpoint that refuses', { get: () => Promise.reject(new Error('refused')) }, `missing ${metricsUrl}: refused`],
    ['a volume with other data', { writeAndRead: async () => false }, 'what was written is not what is read'],
    ['a full volume', { writeAndRead: () => Promise.reject(new Error('ENOSPC')) }, 'missing a volume at /data: ENOSPC'],
  ])('given %s, then the test fails and reports it', async (_what, podIo, says) => {
    const host = installed();
    expect(await codeOf(host, { ...answering, ...podIo })).toBe(1);
    expect(host.printed()).toContain(says);
  });

  it('given pods that are not ready on nodes that are not, of others, or on their way out, then they do not matter', async () => {
    const host = installed();
    const { seed } = host.server.objects;
    for (const [name, status] of [
      ['away', unready],
      ['new', undefined],
    ] as const) {
      const [away] = aNode(name);
      seed({ ...away!, status } as KubeObject);
      seed(aPod(`on-${name}`, name, unready));
    }
    for (const metadata of [
      { namespace: leaseNamespace },
      { labels: { app: 'other' } },
      { deletionTimestamp: ago(0), finalizers: ['a/b'] },
    ]) {
      const pod = aPod(`with-${Object.keys(metadata)[0]!.toLowerCase()}`, 'one', unready);
      seed({ ...pod, metadata: { ...pod.metadata, ...metadata } });
    }
    expect(await codeOf(host)).toBe(0);
  });

  it('given a Lease that was renewed in its duration and 30 s more, then its holder is there', async () => {
    const host = installed();
    leaseWith({ renewTime: ago(45_000) })(host);
    expect(await codeOf(host)).toBe(0);
  });

  it('given what is never there, then it is looked for every two seconds until the time is up', async () => {
    const host = installed([`--driver-name=${driver}`, `--metrics-endpoints=${metricsUrl}`, '--timeout=4s']);
    const looksMs: number[] = [];
    const get = async () => {
      looksMs.push(host.clock.monotonicMs());
      return { status: 404, text: '' };
    };
    expect(await codeOf(host, { ...answering, get })).toBe(1);
    expect(looksMs).toEqual([0, 2_000, 4_000]);
  });

  it('given no --timeout, then the time is up after five minutes', async () => {
    const host = installed([`--driver-name=${driver}`]);
    host.server.objects.remove(csiDrivers, { name: driver });
    let code: number | undefined;
    void runChartTest({ host, lifecycle: host.lifecycle, podIo: answering }).then((ended) => (code = ended));
    await settle();
    await host.clock.advance(299_999);
    expect(code).toBe(undefined);
    await host.clock.advance(1);
    await settle();
    expect(code).toBe(1);
  });

  it('given a kubeconfig, then the client is made with it, and has a name and limits of its own', async () => {
    const host = installed(['--kubeconfig=/k', ...everything.slice(0, 1)]);
    const asked: unknown[] = [];
    const connectApi: FakeHost['connectApi'] = (options) => {
      asked.push(options);
      return host.connectApi(options);
    };
    expect(await codeOf({ ...host, connectApi })).toBe(0);
    expect(asked).toEqual([
      {
        program: 'csi-sidecars-chart-test',
        kubeconfig: '/k',
        master: '',
        qps: 20,
        burst: 100,
        log: expect.objectContaining({ info: expect.any(Function) }),
      },
    ]);
    expect(host.logged()).toBe('');
  });

  it('given no client, then the test fails at once', async () => {
    const host = { ...installed(), connectApi: () => Promise.reject(new Error('no cluster')) };
    expect(await codeOf(host)).toBe(1);
    expect(host.logged()).toMatch(/Failed to create a Kubernetes client.*no cluster/);
  });

  it('given a registration that comes late, then the test waits for it and reports everything once', async () => {
    const host = installed();
    const drivers = host.server.objects.get(csiNodes, { name: 'one' })!.spec.drivers;
    const become = (list: typeof drivers): void =>
      void host.server.objects.change(csiNodes, { name: 'one' }, (found) => ({ ...found, spec: { drivers: list } }));
    become([]);
    const run = codeOf(host);
    await settle();
    expect(host.printed()).not.toContain('on the nodes');
    become(drivers);
    expect(await run).toBe(0);
    expect(host.printed().match(/^ok/gm)).toHaveLength(5);
  });

  it('given a signal while it waits, then it ends with what is missing', async () => {
    const host = installed();
    host.server.objects.remove(nodes, { name: 'one' });
    const run = runChartTest({ host, lifecycle: host.lifecycle, podIo: answering });
    await settle();
    host.stop();
    expect(await run).toBe(1);
    expect(host.printed()).toContain('missing');
  });

  it.each([
    [[], '--driver-name must be specified'],
    [[`--driver-name=${driver}`, '--leases=a'], '--namespace must be specified with --leases'],
    [['--storage-class=a'], 'flag provided but not defined'],
  ])('given %o, then the exit code is that of a wrong command line', async (args, says) => {
    const host = fakeHost({ args });
    expect(await codeOf(host)).toBe(2);
    expect(host.logged()).toContain(says);
  });
});

describe('the network and the volume of the pod', () => {
  async function served(
    answer: RequestListener,
  ): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
    const server = createServer(answer).listen(0);
    const stop = async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
    };
    onTestFinished(stop);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/metrics`, stop };
  }

  it('given a server, then its status and text are the answer', async () => {
    const connections: (string | undefined)[] = [];
    const { url, stop } = await served((request, response) => {
      connections.push(request.headers.connection);
      response.writeHead(203).end('# TYPE a counter\n');
    });
    const { get } = systemPodIo('x');
    expect(await get(url)).toEqual({ status: 203, text: '# TYPE a counter\n' });
    expect(connections).toEqual(['close']);
    await stop();
    await expect(get(url)).rejects.toThrow('ECONNREFUSED');
  });

  it('given a server that does not answer, then that is an error', async () => {
    const { url } = await served(() => undefined);
    await expect(systemPodIo('x', 1).get(url)).rejects.toThrow('no answer in time');
  });

  it('given an answer in many parts, then letters that lie in two of them are whole, up to 64 Mi of letters', async () => {
    const letters = '€'.repeat(200_000);
    const mostly = Buffer.alloc(64 * 1024 ** 2 - letters.length, 'x');
    let last = '';
    const { url } = await served((_request, response) => {
      response.write(letters);
      response.write(mostly);
      response.end(last);
    });
    const { get } = systemPodIo('x');
    const { text } = await get(url);
    expect([text.startsWith(letters), text.length]).toEqual([true, 64 * 1024 ** 2]);
    last = 'x';
    await expect(get(url)).rejects.toThrow('the answer is too long');
  });

  it('given a folder, then a file is written and read, and nothing is left, also after a test that was killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { writeAndRead } = systemPodIo('x');
    writeFileSync(join(folder, 'csi-sidecars-chart-test'), 'longer than what is written');
    for (let time = 0; time < 2; time += 1) {
      expect(await writeAndRead(folder)).toBe(true);
      expect(readdirSync(folder)).toEqual([]);
    }
    // A lone surrogate becomes another letter on its way through the file.
    expect(await systemPodIo('\ud800').writeAndRead(folder)).toBe(false);
    await expect(writeAndRead(join(folder, 'nowhere'))).rejects.toThrow('ENOENT');
  });
});
