// SPDX-License-Identifier: Apache-2.0
/** `--node-metrics`: the metrics of a kubelet through the API server. */
import type { Transport } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import {
  boundClaim,
  clusterOf,
  csiDriver,
  csiNode,
  driver,
  explain,
  namespace,
  node,
  podWith,
  requestsOf,
  run,
  storageClass,
  volumeOf,
} from '../../testing/cluster.ts';
import { nodeOperationsOf } from './node-operations.ts';

type Answer = Awaited<ReturnType<Transport>>;

const path = '/api/v1/nodes/node-b/proxy/metrics';
const ofData = ['pvc/data', '-n', namespace];

const csi = (method: string, code: string, of: string = driver): string =>
  `{driver_name="${of}",grpc_status_code="${code}",method_name="/csi.v1.Node/${method}",migrated="false"`;
const kubelets = [
  '# HELP csi_operations_seconds [ALPHA] Container Storage Interface operation duration',
  '# TYPE csi_operations_seconds histogram',
  `csi_operations_seconds_bucket${csi('NodeStageVolume', 'OK')},le="0.1"} 3`,
  `csi_operations_seconds_sum${csi('NodeStageVolume', 'OK')}} 6000`,
  `csi_operations_seconds_count${csi('NodeStageVolume', 'OK')}} 3000`,
  `csi_operations_seconds_sum${csi('NodeStageVolume', 'DeadlineExceeded')}} 1440`,
  `csi_operations_seconds_count${csi('NodeStageVolume', 'DeadlineExceeded')}} 12`,
  `csi_operations_seconds_sum${csi('NodeStageVolume', 'Internal', 'b.example.com')}} 7`,
  `csi_operations_seconds_count${csi('NodeStageVolume', 'Internal', 'b.example.com')}} 7`,
  'storage_operation_duration_seconds_sum{migrated="false",operation_name="volume_mount",status="fail-unknown",volume_plugin="kubernetes.io/csi:a.example.com"} 1441',
  'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="fail-unknown",volume_plugin="kubernetes.io/csi:a.example.com"} 12',
  'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/empty-dir"} 99',
  '',
].join('\n');

function answered(text: string | readonly string[], fields: Partial<Answer> = {}): Answer {
  const body = (async function* () {
    for (const chunk of [text].flat()) yield Buffer.from(chunk);
  })();
  return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body, ...fields };
}

/** A pod that waits on a node, without the requirement of an attachment; `answer`: of the kubelet. */
function waiting(answer: (signal: AbortSignal) => Answer | Promise<Answer>, nodeName = 'node-b'): FakeHost {
  const intercept =
    (transport: Transport): Transport =>
    async (request) =>
      request.path === path ? await answer(request.signal) : await transport(request);
  return clusterOf(
    [
      storageClass('gp'),
      csiDriver(driver, { attachRequired: false }),
      node(nodeName),
      csiNode(nodeName),
      boundClaim('data'),
      volumeOf('data'),
      podWith('data', 'writer', { spec: { nodeName } }),
    ],
    { intercept },
  );
}

const asked = async (host: FakeHost) => await explain(host, [...ofData, '--node-metrics']);
const missingOf = ({ document }: Awaited<ReturnType<typeof explain>>) =>
  document.missing.filter(({ resource }) => resource === 'nodes/proxy');

describe('the kubelet answers', () => {
  it('given calls that fail, when explained with --node-metrics, then those of this driver are named, failed ones first', async () => {
    const explained = await asked(waiting(() => answered(kubelets)));
    expect(explained.document.row).toBe('X57');
    expect(explained.document.nodeMetrics).toEqual({
      node: 'node-b',
      operations: [
        {
          family: 'storage_operation_duration_seconds',
          operation: 'volume_mount',
          result: 'fail-unknown',
          count: 12,
          averageSeconds: 120.083,
        },
        {
          family: 'csi_operations_seconds',
          operation: 'NodeStageVolume',
          result: 'DeadlineExceeded',
          count: 12,
          averageSeconds: 120,
        },
        {
          family: 'csi_operations_seconds',
          operation: 'NodeStageVolume',
          result: 'OK',
          count: 3_000,
          averageSeconds: 2,
        },
      ],
    });
    expect(missingOf(explained)).toEqual([]);
  });

  it('given the same, when the screen is printed, then a line has them', async () => {
    const host = waiting(() => answered(kubelets));
    await run(host, [...ofData, '--node-metrics']);
    expect(host.printed().replaceAll(/\n {8}/g, ' ')).toContain(
      'Kubelet of node-b, since it started: volume_mount fail-unknown 12 times, 120.083s each; NodeStageVolume DeadlineExceeded 12 times, 120s each; NodeStageVolume OK 3000 times, 2s each\n',
    );
  });

  it('given a kubelet that has not used the driver, when the screen is printed, then it says so', async () => {
    const host = waiting(() => answered('# TYPE go_goroutines gauge\ngo_goroutines 7\n'));
    await run(host, [...ofData, '--node-metrics']);
    expect(host.printed()).toContain('Kubelet of node-b, since it started: nothing of this driver\n');
  });

  it('given no --node-metrics, when explained, then no kubelet is asked', async () => {
    let count = 0;
    const { document } = await explain(
      waiting(() => {
        count += 1;
        return answered(kubelets);
      }),
      ofData,
    );
    expect([count, document.nodeMetrics]).toEqual([0, null]);
  });

  it('given nothing that waits for a node, when explained, then no kubelet is asked, and the screen says why', async () => {
    const host = clusterOf([storageClass('gp'), csiDriver(), boundClaim('data'), volumeOf('data')]);
    const { document } = await asked(host);
    expect(document.nodeMetrics).toEqual({ node: null, operations: [] });
    await run(host, [...ofData, '--node-metrics']);
    expect(host.printed()).toContain('Kubelet not asked: nothing waits for a node\n');
    expect(requestsOf(host).filter((request) => request.includes('proxy'))).toEqual([]);
  });

  it('given a node whose name leads to another path, when explained, then no kubelet is asked', async () => {
    const host = waiting(() => answered(kubelets), '..');
    expect((await asked(host)).document.nodeMetrics).toEqual({ node: null, operations: [] });
    expect(requestsOf(host).filter((request) => request.includes('proxy'))).toEqual([]);
  });

  it('given labels with control characters and markup, when explained, then neither the screen nor the document has them', async () => {
    const text = [
      '# TYPE csi_operations_seconds histogram',
      `csi_operations_seconds_count${csi('Node\u001B[31m\u202E', 'OK\\nNext    rm -rf')}} 1`,
      '',
    ].join('\n');
    const host = waiting(() => answered(text));
    const { document } = await asked(host);
    expect(document.nodeMetrics?.operations).toMatchObject([{ operation: 'Node?[31m?', result: 'OK?Next    rm -rf' }]);
    const before = host.printed().length;
    await run(host, [...ofData, '--node-metrics']);
    expect(host.printed().slice(before)).not.toContain('\u001B');
    expect(host.printed()).not.toMatch(/^Next {4}rm/m);
  });
});

describe('the kubelet does not answer', () => {
  const refusal = (status: number): Answer =>
    answered(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message: 'no' }), {
      status,
      headers: { 'content-type': 'application/json' },
    });

  it.each([
    ['no right', () => refusal(403), 'forbidden'],
    ['a node that is gone', () => refusal(404), 'absent'],
    ['a kubelet that is not reached', () => refusal(503), 'failed'],
    ['a page of a proxy', () => answered('<html>', { headers: { 'content-type': 'text/html' } }), 'failed'],
    ['a text that is none of metrics', () => answered('hello 1\n'), 'failed'],
    ['a silent kubelet', (signal: AbortSignal) => silent(signal), 'timeout'],
    ['a kubelet that stops in the middle', () => broken(), 'failed'],
  ])(
    'given %s, when explained, then the reading is missing, and the rest is as without',
    async (_, answer, because) => {
      const { document: without } = await explain(waiting(answer), ofData);
      const explained = await asked(waiting(answer));
      const { document } = explained;
      expect(document.nodeMetrics).toEqual({ node: 'node-b', operations: 'unknown' });
      expect(missingOf(explained)).toEqual([
        {
          verb: 'get',
          group: '',
          resource: 'nodes/proxy',
          namespace: null,
          because,
          notKnown: 'what the kubelet of node-b has measured of a.example.com',
        },
      ]);
      expect([document.row, document.exitCode, explained.code]).toEqual([
        without.row,
        without.exitCode,
        without.exitCode,
      ]);
    },
  );

  const silent = (signal: AbortSignal): Promise<Answer> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  const broken = (): Answer =>
    answered('', {
      body: (async function* () {
        yield Buffer.from('# TYPE a gauge\n');
        throw new Error('reset');
      })(),
    });

  it('given an endless text, when explained, then 8 MiB of it are read, and the limit is in what is missing', async () => {
    let sent = 0;
    const endless = (async function* () {
      yield Buffer.from(kubelets);
      while (sent < 64 * 1_048_576) {
        sent += 1_048_576;
        yield Buffer.alloc(1_048_576, 'x');
      }
    })();
    const explained = await asked(waiting(() => answered('', { body: endless })));
    expect(sent).toBe(8 * 1_048_576);
    expect(missingOf(explained)).toMatchObject([{ because: 'limit' }]);
    expect(explained.document.nodeMetrics?.operations).toHaveLength(3);
  });
});

describe('the operations of a node', () => {
  it('given more series than a kubelet has, when read, then 200 are kept, and 40 are shown', () => {
    const found = nodeOperationsOf(driver);
    const count = (index: number, value: number): string =>
      found.add(`csi_operations_seconds_count${csi(`Node${index}`, 'OK')}} ${value}`);
    expect(Array.from({ length: 201 }, (_, index) => count(index, index >= 199 ? 2 : 0)).lastIndexOf('more')).toBe(199);
    expect(found.all().map(({ operation }) => operation)).toEqual(['Node199']);
    expect(Array.from({ length: 100 }, (_, index) => count(index, 1))).not.toContain('enough');
    expect(found.all()).toHaveLength(40);
  });

  it('given two series of one call, migrated and not, when read, then they are one', () => {
    const found = nodeOperationsOf(driver);
    for (const migrated of ['true', 'false']) {
      const labels = csi('NodePublishVolume', 'OK').replace('false', migrated);
      found.add(`csi_operations_seconds_count${labels}} 2`);
      found.add(`csi_operations_seconds_sum${labels}} 1`);
    }
    expect(found.all()).toMatchObject([{ operation: 'NodePublishVolume', count: 4, averageSeconds: 0.5 }]);
  });

  it('given sums without a count, and values that are no numbers, when read, then nothing is known', () => {
    const found = nodeOperationsOf(driver);
    found.add(`csi_operations_seconds_sum${csi('NodeStageVolume', 'OK')}} 7`);
    found.add(`csi_operations_seconds_count${csi('NodeStageVolume', 'OK')}} NaN`);
    expect(found.all()).toEqual([]);
  });
});
