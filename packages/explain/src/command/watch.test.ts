// SPDX-License-Identifier: Apache-2.0
import { persistentVolumeClaims, type Transport, TransportError } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import {
  add,
  ago,
  asked,
  boundClaim,
  claim,
  clusterOf,
  csiDriver,
  csiNode,
  leading,
  lease,
  namespace,
  node,
  podWith,
  requestsOf,
  storageClass,
  volumeOf,
} from '../../testing/cluster.ts';
import { runExplain } from '../index.ts';

const ref = { namespace, name: 'data' };
const late = storageClass('gp', { volumeBindingMode: 'WaitForFirstConsumer' });

interface Watching {
  readonly host: FakeHost;
  /** Undefined while it runs. */
  readonly code: () => number | undefined;
  readonly pass: (seconds: number) => Promise<void>;
  readonly lines: () => readonly string[];
}

function watching(host: FakeHost, ...args: readonly string[]): Watching {
  let code: number | undefined;
  const deps = {
    host: { ...host, args: ['pvc/data', '-n', namespace, '--watch', ...args] },
    lifecycle: host.lifecycle,
    terminal: { columns: undefined },
  };
  const ended = runExplain(deps).then((value) => (code = value));
  ended.catch(() => undefined);
  return {
    host,
    code: () => code,
    lines: () =>
      host
        .printed()
        .split('\n')
        .filter((line) => line !== ''),
    pass: async (seconds) => {
      for (let second = 0; second < seconds; second += 1) {
        await settle();
        await host.clock.advance(1_000);
        await settle();
      }
    },
  };
}

const rows = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => (JSON.parse(line) as { row: string }).row);

describe('--watch', () => {
  it('[explain#75] given a claim that waits for its first pod, when a pod comes and all goes well, then each row is one line, and the command ends with 0', async () => {
    const host = clusterOf([late, csiDriver(), csiNode('node-a'), node('node-a'), claim('data')]);
    add(host, ...leading(host, 'csi-provisioner', 'a-example-com'));
    add(host, lease('a-example-com', { holder: 'csi-provisioner-0', renewed: ago(host, 0), seconds: 600 }));
    const { code, pass, lines } = watching(host, '-o', 'json');
    await pass(5);
    expect(rows(lines())).toEqual(['X15']);
    add(host, podWith('data', 'writer'));
    await pass(32);
    host.server.objects.change(persistentVolumeClaims, ref, (found) => ({
      ...found,
      metadata: {
        ...found.metadata,
        annotations: { ...asked.annotations, 'volume.kubernetes.io/selected-node': 'node-a' },
      },
    }));
    await pass(5);
    add(
      host,
      volumeOf('data', {
        metadata: { name: 'pvc-uid-of-data' },
        spec: { claimRef: { ...ref, uid: 'uid-of-data' } },
        status: { phase: 'Available' },
      }),
    );
    await pass(5);
    add(host, boundClaim('data', { spec: { volumeName: 'pvc-uid-of-data' } }));
    add(host, podWith('data', 'writer', { spec: { nodeName: 'node-a' } }));
    await pass(5);
    expect(code()).toBe(undefined);
    add(host, podWith('data', 'writer', { spec: { nodeName: 'node-a' }, status: { phase: 'Running' } }));
    await pass(32);
    expect(rows(lines())).toEqual(['X15', 'X16', 'X31', 'X30', 'X49', 'X41']);
    expect(code()).toBe(0);
  });

  it('given many changes within a second, when watched, then there is a pass every two seconds at most, and one every 30 s without a change', async () => {
    const host = clusterOf([late, csiDriver(), claim('data')]);
    const { pass } = watching(host);
    const passes = (): number =>
      requestsOf(host).filter((path) => path.startsWith('get') && path.endsWith('/persistentvolumeclaims/data')).length;
    await pass(1);
    for (let change = 0; change < 50; change += 1)
      host.server.objects.change(persistentVolumeClaims, ref, (found) => ({
        ...found,
        metadata: { ...found.metadata, labels: { change: String(change) } },
      }));
    await pass(2);
    expect(passes()).toBe(2);
    await pass(60);
    expect(passes()).toBeLessThanOrEqual(5);
    expect(passes()).toBeGreaterThanOrEqual(4);
    expect(host.server.openWatches()).toBeLessThanOrEqual(9);
  });

  it('given the subject goes, when watched, then the code is 6, or 0 if it was being deleted', async () => {
    const gone = clusterOf([late, csiDriver(), claim('data')]);
    const first = watching(gone);
    await first.pass(3);
    gone.server.objects.remove(persistentVolumeClaims, ref);
    await first.pass(3);
    expect(first.code()).toBe(6);
    const deleted = clusterOf([
      late,
      csiDriver(),
      claim('data', { metadata: { deletionTimestamp: '2024-01-01T00:00:00Z', finalizers: ['foo.io/x'] } }),
    ]);
    const second = watching(deleted);
    await second.pass(3);
    deleted.server.objects.remove(persistentVolumeClaims, ref);
    await second.pass(3);
    expect(second.code()).toBe(0);
  });

  it('given a subject that is made again, when watched, then a whole screen is about the new one', async () => {
    const host = clusterOf([late, csiDriver(), claim('data')]);
    const { pass, lines } = watching(host);
    await pass(3);
    add(host, claim('data', { metadata: { uid: 'another' } }));
    await pass(3);
    expect(host.logged()).toContain('the object was made again');
    expect(lines().filter((line) => line.startsWith('PersistentVolumeClaim'))).toHaveLength(2);
  });

  it('given --until=person or --for, when watched, then it ends with 4, or with the code of the last verdict', async () => {
    const missing = clusterOf([csiDriver(), claim('data')]);
    const until = watching(missing, '--until=person');
    await until.pass(3);
    expect(until.code()).toBe(4);
    const bounded = watching(clusterOf([late, csiDriver(), claim('data')]), '--for=10s');
    await bounded.pass(8);
    expect(bounded.code()).toBe(undefined);
    await bounded.pass(4);
    expect(bounded.code()).toBe(3);
  });

  it('[explain#76] given an API server that is gone for 20 s, when watched, then one line says so, and the command goes on', async () => {
    let isGone = false;
    const intercept =
      (transport: Transport): Transport =>
      (request) =>
        isGone ? Promise.reject(new TransportError('refused', 'ECONNREFUSED')) : transport(request);
    const host = clusterOf([late, csiDriver(), claim('data')], { intercept });
    const { code, pass, lines } = watching(host, '-o', 'json');
    await pass(3);
    isGone = true;
    host.server.endWatches('broken');
    await pass(20);
    isGone = false;
    host.server.objects.remove(persistentVolumeClaims, ref);
    await pass(40);
    expect(host.logged().match(/cannot be reached: trying again/g)).toHaveLength(1);
    expect(rows(lines())).toEqual(['X15', 'X1']);
    expect(code()).toBe(6);
  });

  it('given watches that always break, when watched, then the server is read every five seconds, and one line says so', async () => {
    const intercept =
      (transport: Transport): Transport =>
      (request) =>
        request.path.includes('watch=1') ? Promise.reject(new TransportError('reset', 'a proxy')) : transport(request);
    const host = clusterOf([late, csiDriver(), claim('data')], { intercept });
    const { pass } = watching(host);
    await pass(31);
    const before = requestsOf(host).length;
    await pass(20);
    expect(requestsOf(host).length).toBeGreaterThanOrEqual(before + 8);
    expect(host.logged().match(/does not keep watches open/g)).toHaveLength(1);
  });

  it('[explain#77] given a signal, when watched, then what was printed ends with a whole line', async () => {
    const host = clusterOf([late, csiDriver(), claim('data')]);
    const { pass, code } = watching(host, '-o', 'json');
    await pass(3);
    host.stop();
    await pass(3);
    expect(host.printed().endsWith('}\n')).toBe(true);
    expect(host.onSignal()).toBe('exit');
    expect(code()).toBe(1);
  });
});
