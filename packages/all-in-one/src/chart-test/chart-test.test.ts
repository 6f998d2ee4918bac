// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { csiDrivers, csiNodes, type KubeObject, leases, nodes, pods } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PodIo } from './checks.ts';
import { runChartTest } from './run.ts';
import { systemPodIo } from './pod-io.ts';

const driver = 'a.example.com';
const namespace = 'storage';
const metricsUrl = 'http://metrics:9810/metrics';
const everything = [
  `--driver-name=${driver}`,
  `--namespace=${namespace}`,
  `--node-namespace=${namespace}`,
  '--node-pods=app=node',
  '--leases=a-example-com',
  `--metrics-endpoints=${metricsUrl}`,
  '--data=/data',
  '--timeout=30s',
];

const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
const unready = { conditions: [{ type: 'Ready', status: 'False' }] };

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
  const drivers = [{ name: driver, nodeID: name, topologyKeys: [] }];
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
    metadata: { name: 'a-example-com', namespace },
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
  const run = runChartTest({ host, lifecycle: host.lifecycle, podIo });
  for (let second = 0; second < 40; second += 1) {
    await settle();
    await host.clock.advance(1_000);
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
  const lease = { namespace, name: 'a-example-com' };
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
      'a node without registration',
      ({ server }) =>
        void server.objects.change(csiNodes, node, (found) => ({ ...found, spec: { ...found.spec, drivers: [] } })),
      'kubelet has not registered it on one',
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
    [
      'a Lease without a holder',
      ({ server }) =>
        void server.objects.change(leases, lease, (found) => ({
          ...found,
          spec: { ...found.spec, holderIdentity: '' },
        })),
      'nothing holds it',
    ],
    [
      'a Lease that was not renewed',
      ({ server }) =>
        void server.objects.change(leases, lease, (found) => ({
          ...found,
          spec: { ...found.spec, renewTime: '2001-01-01T00:00:00.000000Z' },
        })),
      'pod-1 has not renewed it since 2001-01-01T00:00:00.000000Z',
    ],
  ])('given %s, then the test fails when the time is up, and reports what is missing', async (_what, breakIt, says) => {
    const host = installed();
    breakIt(host);
    expect(await codeOf(host)).toBe(1);
    const missing = host
      .printed()
      .split('\n')
      .filter((line) => line.startsWith('missing '));
    expect(missing).toEqual([expect.stringContaining(says)]);
  });

  it.each<[string, Partial<PodIo>, string]>([
    [
      'an endpoint with 404',
      { get: async () => ({ status: 404, text: '' }) },
      `missing ${metricsUrl}: the answer is 404`,
    ],
    ['an endpoint without metrics', { get: async () => ({ status: 200, text: 'ok' }) }, 'the answer has no metrics'],
    ['an endpoint that refuses', { get: () => Promise.reject(new Error('refused')) }, `missing ${metricsUrl}: refused`],
    ['a volume with other data', { writeAndRead: async () => false }, 'what was written is not what is read'],
    ['a full volume', { writeAndRead: () => Promise.reject(new Error('ENOSPC')) }, 'missing a volume at /data: ENOSPC'],
  ])('given %s, then the test fails and reports it', async (_what, podIo, says) => {
    const host = installed();
    expect(await codeOf(host, { ...answering, ...podIo })).toBe(1);
    expect(host.printed()).toContain(says);
  });

  it('given a node that is not ready, then the driver on it does not matter', async () => {
    const host = installed();
    const [away] = aNode('away', unready);
    host.server.objects.seed(away!);
    host.server.objects.seed(aPod('on-away', 'away', unready));
    expect(await codeOf(host)).toBe(0);
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
  it('given a server, then its status and text are the answer', async () => {
    const server = createServer((_request, response) => response.writeHead(203).end('# TYPE a counter\n')).listen(0);
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { get } = systemPodIo('x');
    expect(await get(`http://127.0.0.1:${port}/metrics`)).toEqual({ status: 203, text: '# TYPE a counter\n' });
    server.close();
    await once(server, 'close');
    await expect(get(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow('ECONNREFUSED');
  });

  it('given a folder, then a file is written and read, and nothing is left, also after a test that was killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { writeAndRead } = systemPodIo('x');
    writeFileSync(join(folder, 'csi-sidecars-chart-test'), 'longer than what is written');
    expect(await writeAndRead(folder)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
    await expect(writeAndRead(join(folder, 'nowhere'))).rejects.toThrow('ENOENT');
  });
});
