// SPDX-License-Identifier: Apache-2.0
/** The life of a claim as one trace: all controllers, a real driver socket, a real port for spans, an API server in memory, virtual time. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { csiError, type Handlers } from '@csi-sidecars/csi/testing';
import {
  type KubeObject,
  leases,
  persistentVolumeClaims,
  persistentVolumes,
  silentLogger,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { settle, until } from '@csi-sidecars/runtime/testing';
import type { DrivenProgram } from '@csi-sidecars/sidecar/testing';
import { expect, it, onTestFinished } from 'vitest';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import {
  attaching,
  driverName,
  four,
  healthy,
  runCombined,
  snapshotting,
  storageClass,
  waitingClaim,
} from '../../testing/run-all.ts';

const uid = '5f2c8d1e-3b4a-4c6d-9e8f-0a1b2c3d4e5f';
const traceId = uid.replaceAll('-', '');
/** Of the snapshot in the fixture: a snapshot has a trace of its own. */
const snapshotUid = '11111111-2222-3333-4444-555555555555';
const volumeName = `pvc-${uid}`;

interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly status: { readonly code: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Encoded {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & { attributes: readonly EncodedAttribute[] })[];
    }[];
  }[];
}
interface EncodedAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number;
    readonly arrayValue?: { readonly values: readonly { readonly stringValue: string }[] };
  };
}

const plain = ({ value: { stringValue, intValue, arrayValue } }: EncodedAttribute): unknown =>
  arrayValue === undefined ? (stringValue ?? intValue) : arrayValue.values.map((each) => each.stringValue);

async function collector() {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(gunzipSync(Buffer.concat(chunks)).toString());
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  const spans = (): readonly ReceivedSpan[] =>
    bodies
      .flatMap((body) => (JSON.parse(body) as Encoded).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
      .map((span) => ({
        ...span,
        attributes: Object.fromEntries(span.attributes.map((each) => [each.key, plain(each)])),
      }));
  return { bodies, spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Sockets get real time before virtual time passes: otherwise calls would exceed their limits on a loaded machine. */
async function eventually(program: DrivenProgram, isTrue: () => boolean): Promise<void> {
  for (let step = 0; step < 240 && !isTrue(); step += 1) {
    const untilMs = performance.now() + 50;
    while (performance.now() < untilMs && !isTrue()) await settle();
    if (!isTrue()) await program.host.clock.advance(250);
  }
  expect(isTrue()).toBe(true);
}

async function stopped(program: DrivenProgram): Promise<void> {
  program.host.stop();
  let isOver = false;
  void program.code.finally(() => (isOver = true));
  await eventually(program, () => isOver);
}

/** What the users and Kubernetes do in the life of a claim, and when each part is done. */
async function liveAndDie(program: DrivenProgram): Promise<void> {
  const { objects } = program.host.server;
  const { client } = await program.host.connectApi({
    program: 'user',
    kubeconfig: '',
    master: '',
    qps: -1,
    burst: 1,
    log: silentLogger,
  });
  const seed = (object: KubeObject): void => void program.host.server.seed(object);
  const claim = () => objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' })!;
  const volume = () => objects.get(persistentVolumes, { name: volumeName });
  await eventually(program, () => volume() !== undefined);
  seed({ ...volume(), status: { phase: 'Bound' } } as KubeObject);
  seed({
    ...claim(),
    spec: { ...claim().spec, volumeName },
    status: { phase: 'Bound', capacity: { storage: '5Gi' } },
  } as KubeObject);
  const [node, attachment] = attaching() as readonly [KubeObject, KubeObject];
  seed(node);
  seed({
    ...attachment,
    spec: { attacher: driverName, nodeName: 'node1', source: { persistentVolumeName: volumeName } },
  } as KubeObject);
  const attached = () => objects.get(volumeAttachments, { name: 'va1' });
  await eventually(program, () => attached()?.status?.attached === true);
  seed({ ...claim(), spec: { ...claim().spec, resources: { requests: { storage: '6Gi' } } } } as KubeObject);
  await eventually(program, () => claim().status?.capacity?.['storage'] === '6Gi');
  for (const object of snapshotting()) seed(object);
  await eventually(
    program,
    () => objects.get(volumeSnapshotContents, { name: 'content' })?.status?.readyToUse === true,
  );
  await client.delete(volumeAttachments, { name: 'va1' });
  await eventually(program, () => attached() === undefined);
  objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  seed({ ...volume(), status: { phase: 'Released' } } as KubeObject);
  await eventually(program, () => volume() === undefined);
}

const claimWithUid = { ...waitingClaim(), metadata: { ...waitingClaim().metadata, uid } } as KubeObject;

async function run(args: readonly string[], handlers: Handlers = {}): Promise<DrivenProgram> {
  return await runCombined({
    args: [four, ...args],
    seed: [storageClass, claimWithUid],
    handlers: {
      '/csi.v1.Controller/ControllerExpandVolume': () => ({
        capacity_bytes: '6442450944',
        node_expansion_required: false,
      }),
      '/csi.v1.Controller/ControllerUnpublishVolume': () => ({}),
      '/csi.v1.Controller/DeleteVolume': () => ({}),
      ...handlers,
    },
  });
}

it('[explain#133] given an endpoint, then the life of a claim is one trace whose id is its UID, with the row of each run and the calls below it', async () => {
  const { url, spans } = await collector();
  await using program = await run([`--tracing-endpoint=${url}`, '--tracing-sampling-ratio=1']);
  await liveAndDie(program);
  await stopped(program);
  const all = spans();
  const ids = new Set(all.map((span) => span.spanId));
  expect(ids.size).toBe(all.length);
  const own = all.filter((span) => span.traceId === traceId);
  const calls = own.filter(({ name }) => name.startsWith('csi.'));
  expect([...new Set(calls.map(({ name }) => name))]).toEqual([
    'csi.v1.Controller/CreateVolume',
    'csi.v1.Controller/ControllerPublishVolume',
    'csi.v1.Controller/ControllerExpandVolume',
    'csi.v1.Controller/ControllerUnpublishVolume',
    'csi.v1.Controller/DeleteVolume',
  ]);
  const roots = own.filter(({ parentSpanId }) => parentSpanId === undefined);
  expect(new Set(roots.map(({ attributes }) => attributes['csi_sidecars.controller']))).toEqual(
    new Set(['provisioner', 'attacher', 'resizer']),
  );
  expect(roots.filter(({ attributes }) => typeof attributes['csi_sidecars.row'] !== 'string')).toEqual([]);
  expect(own.filter(({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId))).toEqual([]);
  expect(calls.map(({ attributes }) => attributes['csi.driver.name'])).toEqual(calls.map(() => driverName));
  const parentOf = (call: ReceivedSpan) => roots.find(({ spanId }) => spanId === call.parentSpanId);
  for (const call of calls)
    expect(parentOf(call)?.attributes['csi_sidecars.rows']).toContain(call.attributes['csi_sidecars.row']);
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/tracing.md'), 'utf8');
  const names = new Set(all.flatMap(({ attributes }) => Object.keys(attributes)));
  expect([...names].filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  const snapshots = all.filter(({ name }) => name === 'csi.v1.Controller/CreateSnapshot');
  expect(snapshots.map((span) => span.traceId)).toEqual([snapshotUid.replaceAll('-', '')]);
});

it('[explain#134] given a ratio of 0 and a CreateVolume that fails once, then the run that failed is exported and no other, and the driver got a context that is not sampled', async () => {
  const { url, spans } = await collector();
  const contexts: string[] = [];
  const answers = [csiError('Internal', 'no')];
  await using program = await run([`--tracing-endpoint=${url}`, '--tracing-sampling-ratio=0'], {
    '/csi.v1.Controller/CreateVolume': (request, { metadata, ...call }) => {
      contexts.push(String(metadata.get('traceparent')[0]));
      return answers.shift() ?? healthy['/csi.v1.Controller/CreateVolume']!(request, { metadata, ...call });
    },
  });
  await eventually(
    program,
    () => program.host.server.objects.get(persistentVolumes, { name: volumeName }) !== undefined,
  );
  await stopped(program);
  const failed = spans().filter(({ name }) => name.startsWith('csi.'));
  expect(failed.map(({ name, status, attributes }) => [name, status.code, attributes['error.type']])).toEqual([
    ['csi.v1.Controller/CreateVolume', 2, 'Internal'],
  ]);
  const [run0] = spans().filter(({ parentSpanId }) => parentSpanId === undefined);
  expect(run0).toMatchObject({ traceId, status: { code: 2 }, attributes: { 'csi_sidecars.outcome': 'retry' } });
  expect(contexts).toHaveLength(2);
  for (const context of contexts) expect(context).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
});

it('[explain#132] given no endpoint and variables of OpenTelemetry, then nothing is loaded or connected, and the driver gets no context', async () => {
  const { url, bodies } = await collector();
  const contexts: unknown[] = [];
  let loads = 0;
  await using program = await runCombined({
    args: [four],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url, OTEL_TRACES_EXPORTER: 'otlp' },
    seed: [storageClass, claimWithUid],
    loadTracing: async () => {
      loads += 1;
      throw new Error('not to be loaded');
    },
    handlers: {
      '/csi.v1.Controller/CreateVolume': (request, call) => {
        contexts.push(...call.metadata.get('traceparent'));
        return healthy['/csi.v1.Controller/CreateVolume']!(request, call);
      },
    },
  });
  await eventually(
    program,
    () => program.host.server.objects.get(persistentVolumes, { name: volumeName }) !== undefined,
  );
  await stopped(program);
  expect([loads, contexts, bodies]).toEqual([0, [], []]);
});

it('[explain#139] given a stop while spans wait, then they are flushed when all leases are released, and the program ends after that', async () => {
  const held: number[] = [];
  const flushed = Promise.withResolvers<void>();
  const program = await runCombined({
    args: [four, '--tracing-endpoint=http://127.0.0.1:1', '--leader-election', '--leader-election-namespace=ns'],
    seed: [storageClass, claimWithUid],
    loadTracing: async () => () => ({
      tracerOf: () => ({ start: () => undefined }),
      setDriver: () => undefined,
      close: async () => {
        held.push(holders(program).length);
        await flushed.promise;
      },
    }),
  });
  await eventually(program, () => holders(program).length === 4);
  program.host.stop();
  let isOver = false;
  void program.code.finally(() => (isOver = true));
  await eventually(program, () => held.length > 0);
  await settle();
  expect([held, isOver]).toEqual([[0], false]);
  flushed.resolve();
  await until(() => isOver);
  expect(await program.code).toBe(0);
});

function holders(program: DrivenProgram): readonly string[] {
  const { objects } = program.host.server;
  return [...objects.list(leases)].flatMap(({ spec }) => (spec?.holderIdentity ? [spec.holderIdentity] : []));
}
