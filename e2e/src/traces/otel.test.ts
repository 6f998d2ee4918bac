// SPDX-License-Identifier: Apache-2.0
/**
 * csi-provisioner, as it ships if it is built, between OpenTelemetry's own code: its collector's receiver takes the spans, and drivers on grpc-go
 * are called. `npm run otel` builds them first; elsewhere the tests are listed as skipped.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type PersistentVolumeClaim,
  persistentVolumes,
  type StorageClass,
  systemClock,
  systemRandom,
} from '@csi-sidecars/runtime';
import { freePort, serveOverHttp, until } from '@csi-sidecars/runtime/testing';
import { startSim } from '@csi-sidecars/sim';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProcess } from '../processes/child-process.ts';
import { findProgram } from '../processes/program.ts';
import { catalogue } from '../tools/catalogue.ts';
import { locate } from '../tools/locate.ts';

const peer = locate(catalogue['otel-peer'], process.env).path;
const clock = systemClock();
const limitMs = 30_000;
const uid = '5f2c8d1e-3b4a-4c6d-9e8f-0a1b2c3d4e5f';
const traceId = uid.replaceAll('-', '');

const storageClass: StorageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'fast', uid: 'uid-of-fast' },
  provisioner: 'otel.example.com',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
};
const claim: PersistentVolumeClaim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'default', name: 'data', uid },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'fast',
    volumeMode: 'Filesystem',
  },
};

let folder = '';
const cleanUps: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-'));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

interface Started {
  readonly lines: () => readonly string[];
  readonly stop: () => Promise<number | undefined>;
}

async function start(name: string, command: string, args: readonly string[]): Promise<Started> {
  const logFile = join(folder, `${name}.log`);
  const child = await startProcess({ name, command, args, logFile, env: { PATH: process.env['PATH'] } }, clock);
  cleanUps.push(() => child.stop());
  return {
    lines: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    stop: async () => (await child.stop()).code,
  };
}

async function startPeer(...args: readonly string[]): Promise<Started> {
  const started = await start(args[0]!, peer, args);
  await until(() => started.lines().includes('listening'), limitMs);
  return started;
}

/** Until a volume is recorded, and the program has stopped in order. */
async function provision(
  socket: string,
  args: readonly string[],
): Promise<{ readonly code: number | undefined; readonly lines: readonly string[] }> {
  const sim = startSim({ clock, random: systemRandom(), nodes: [] });
  const endpoint = await serveOverHttp(sim.server.transport, { port: 0 });
  cleanUps.push(async () => {
    await endpoint.close();
    await sim.stop();
  });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'sim',
      clusters: [{ name: 'sim', cluster: { server: endpoint.url } }],
      users: [{ name: 'sim', user: {} }],
      contexts: [{ name: 'sim', context: { cluster: 'sim', user: 'sim' } }],
    }),
  );
  sim.server.seed(storageClass);
  sim.server.seed(claim);
  const { command, args: before } = findProgram('csi-provisioner', {});
  const own = [
    `--csi-address=${socket}`,
    `--kubeconfig=${kubeconfig}`,
    '--leader-election',
    '--leader-election-namespace=default',
  ];
  const program = await start('csi-provisioner', command, [...before, ...own, ...args]);
  await until(() => sim.server.objects.list(persistentVolumes).length === 1, limitMs);
  return { code: await program.stop(), lines: program.lines() };
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[];
}
interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Span['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const batchesOf = ({ lines }: Started): readonly Batch[] =>
  lines()
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Batch);
const spansOf = (collector: Started): readonly Span[] =>
  batchesOf(collector).flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );

describe.skipIf(!existsSync(peer))(
  "OpenTelemetry's own code (needs a built otel-peer)",
  () => {
    it('[explain#133, 136] given its collector and a driver with otelgrpc, then the collector takes all spans, and the span of the driver is below the call', async () => {
      const port = await freePort();
      const collector = await startPeer('collect', String(port));
      const socket = join(folder, 'csi.sock');
      const driver = await startPeer('drive-traced', socket);
      const { code, lines } = await provision(socket, [
        `--tracing-endpoint=http://127.0.0.1:${port}`,
        '--tracing-sampling-ratio=1',
      ]);
      expect(code).toBe(0);
      expect(lines.filter((line) => line.includes('Cannot export spans'))).toEqual([]);
      const spans = spansOf(collector);
      const create = spans.find(({ name }) => name === 'csi.v1.Controller/CreateVolume');
      const root = spans.find(({ spanId }) => spanId === create?.parentSpanId);
      expect(create).toMatchObject({ traceId, kind: 3 });
      expect(root).toMatchObject({ traceId, name: 'reconcile claims', kind: 1 });
      expect(root?.attributes).toContainEqual({ key: 'csi_sidecars.attempt', value: { intValue: '1' } });
      expect(batchesOf(collector)[0]?.resourceSpans[0]?.resource.attributes).toContainEqual({
        key: 'csi.driver.name',
        value: { stringValue: 'otel.example.com' },
      });
      expect(driver.lines()).toContain(`csi.v1.Controller/CreateVolume ${traceId} ${create?.spanId}`);
      const untraced = driver.lines().filter((line) => line.startsWith('csi.v1.Identity/'));
      expect(untraced.length).toBeGreaterThan(0);
      for (const line of untraced) expect(line).toMatch(/ 0{16}$/);
    });

    it('[explain#136] given a driver on grpc-go without otel, then it works as without traces', async () => {
      const port = await freePort();
      const collector = await startPeer('collect', String(port));
      const socket = join(folder, 'csi.sock');
      await startPeer('drive', socket);
      const { code } = await provision(socket, [
        `--tracing-endpoint=http://127.0.0.1:${port}`,
        '--tracing-sampling-ratio=1',
      ]);
      expect(code).toBe(0);
      expect(spansOf(collector).map(({ name }) => name)).toContain('csi.v1.Controller/CreateVolume');
    });
  },
  120_000,
);
