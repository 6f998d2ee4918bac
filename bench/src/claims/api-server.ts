// SPDX-License-Identifier: Apache-2.0
/**
 * A process that serves volumes and claims as an API server does: lists, streamed lists, watches, patches of the status of claims, events. It counts what
 * is asked. Objects are those of a cluster that has run for a while. Argument: the path of the kubeconfig that it writes.
 *
 * Both sides get JSON: upstream's two programs ask for nothing else.
 */
import { writeFileSync } from 'node:fs';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createTestAuthority } from '@csi-sidecars/runtime/testing';
import { kubeconfigText } from '../kubeconfig.ts';
import { anObject } from '../runtime/objects.ts';

export interface Content {
  /** Bound volumes of the driver, with their claims. */
  readonly own: number;
  /** Bound volumes of another driver, with their claims. */
  readonly foreign: number;
  /** Claims without a volume whose source has a kind: half of these kinds are registered. */
  readonly sources: number;
}

export type Order = { readonly kind: 'content'; readonly content: Content } | { readonly kind: 'counts' };

/** By verb and resource. */
export type Counts = Readonly<Record<string, number>>;

interface Stored {
  readonly metadata: { readonly namespace?: string; readonly name: string; resourceVersion: string };
  status?: object;
}

const foreignDriver = 'other.csi.example.com';
const ownDriver = 'disk.csi.example.com';
const populator = { group: 'populators.example.com', kind: 'Backup' };
const kinds: Readonly<Record<string, readonly [kind: string, apiVersion: string]>> = {
  persistentvolumes: ['PersistentVolume', 'v1'],
  persistentvolumeclaims: ['PersistentVolumeClaim', 'v1'],
  pods: ['Pod', 'v1'],
  nodes: ['Node', 'v1'],
  events: ['Event', 'v1'],
  volumepopulators: ['VolumePopulator', 'populator.storage.k8s.io/v1beta1'],
};

const collections = new Map<string, Map<string, Stored>>();
const watches = new Map<string, Set<ServerHttp2Stream>>();
const counts = new Map<string, number>();
let version = 1;

function fill({ own, foreign, sources }: Content): void {
  for (const resource of Object.keys(kinds)) collections.set(resource, new Map());
  const add = (resource: string, object: object): void => {
    const stored = object as Stored;
    version += 1;
    stored.metadata.resourceVersion = String(version);
    collections.get(resource)?.set(keyOf(stored), stored);
  };
  for (let n = 0; n < own + foreign; n += 1) {
    const volume = anObject('PersistentVolume', n, 1);
    add('persistentvolumes', n < own ? volume : replaced(volume, ownDriver, foreignDriver));
    add('persistentvolumeclaims', anObject('PersistentVolumeClaim', n, 1));
  }
  for (let n = 0; n < sources; n += 1) add('persistentvolumeclaims', aClaimWithSource(n));
  if (sources > 0) add('volumepopulators', aPopulator());
}

function replaced(object: object, from: string, to: string): object {
  return JSON.parse(JSON.stringify(object).replaceAll(from, to)) as object;
}

function aClaimWithSource(n: number): object {
  const { group: apiGroup, kind } = populator;
  return {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: {
      name: `copy-${n}`,
      namespace: `team-${n % 40}-production`,
      uid: `uid-of-copy-${n}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: '',
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      dataSourceRef: { apiGroup, kind: n % 2 === 0 ? kind : 'Unregistered', name: 'source' },
    },
    status: { phase: 'Pending' },
  };
}

function aPopulator(): object {
  return {
    kind: 'VolumePopulator',
    apiVersion: 'populator.storage.k8s.io/v1beta1',
    metadata: { name: 'backups', uid: 'uid-of-backups', resourceVersion: '' },
    sourceKind: populator,
  };
}

function keyOf({ metadata: { namespace = '', name } }: Stored): string {
  return `${namespace}/${name}`;
}

const authority = createTestAuthority();
const { cert, key } = authority.issue({ commonName: 'api', hosts: ['127.0.0.1'] });
const server = createSecureServer({ cert, key });

server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined);
  serve(stream, headers[':method'] ?? 'GET', headers[':path'] ?? '/').catch(() => stream.close());
});

async function serve(stream: ServerHttp2Stream, method: string, path: string): Promise<void> {
  const { pathname, searchParams: query } = new URL(path, 'https://api');
  const parts = pathname.split('/');
  const found = parts.findLast((part) => Object.hasOwn(kinds, part));
  const resource = found ?? parts.at(-1) ?? '';
  const verb = method === 'GET' && query.has('watch') ? 'WATCH' : method;
  counts.set(`${verb} ${resource}`, (counts.get(`${verb} ${resource}`) ?? 0) + 1);
  const body = method === 'GET' ? '' : await textOf(stream);
  if (found === undefined)
    answer(stream, 404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 });
  else if (method === 'PATCH' && resource === 'persistentvolumeclaims') answer(stream, 200, patched(parts, body));
  else if (method !== 'GET') answer(stream, method === 'POST' ? 201 : 200, JSON.parse(body) as object);
  else if (verb === 'WATCH') await watch(stream, resource, query.has('sendInitialEvents'));
  else await list(stream, resource);
}

async function textOf(stream: ServerHttp2Stream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function answer(stream: ServerHttp2Stream, status: number, body: object): void {
  stream.respond({ ':status': status, 'content-type': 'application/json' });
  stream.end(JSON.stringify(body));
}

/** Merges the status of the body into the claim of `/api/v1/namespaces/NAMESPACE/persistentvolumeclaims/NAME/status`. */
function patched(parts: readonly string[], body: string): object {
  const claim = collections.get('persistentvolumeclaims')?.get(`${parts[4]}/${parts[6]}`);
  if (claim === undefined) throw new Error(`no claim ${parts.join('/')}`);
  const { status } = JSON.parse(body) as { readonly status?: object };
  version += 1;
  claim.metadata.resourceVersion = String(version);
  claim.status = { ...claim.status, ...status };
  const frame = `${JSON.stringify({ type: 'MODIFIED', object: claim })}\n`;
  for (const stream of watches.get('persistentvolumeclaims') ?? []) stream.write(frame);
  return claim;
}

async function list(stream: ServerHttp2Stream, resource: string): Promise<void> {
  const [kind = '', apiVersion = ''] = kinds[resource] ?? [];
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  const metadata = JSON.stringify({ resourceVersion: String(version) });
  stream.write(`{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":${metadata},"items":[`);
  let isFirst = true;
  for (const object of collections.get(resource)?.values() ?? []) {
    await write(stream, `${isFirst ? '' : ','}${JSON.stringify(object)}`);
    isFirst = false;
  }
  stream.end(']}');
}

async function watch(stream: ServerHttp2Stream, resource: string, isStreamedList: boolean): Promise<void> {
  const [kind = '', apiVersion = ''] = kinds[resource] ?? [];
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  if (isStreamedList) {
    for (const object of collections.get(resource)?.values() ?? []) {
      await write(stream, `${JSON.stringify({ type: 'ADDED', object })}\n`);
    }
    const metadata = { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } };
    stream.write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind, apiVersion, metadata } })}\n`);
  }
  const open = watches.get(resource) ?? new Set();
  watches.set(resource, open.add(stream));
  stream.on('close', () => open.delete(stream));
}

async function write(stream: ServerHttp2Stream, text: string): Promise<void> {
  if (stream.destroyed || stream.write(text)) return;
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      stream.off('drain', goOn).off('close', goOn);
      resolve();
    };
    stream.on('drain', goOn).on('close', goOn);
  });
}

process.on('message', (order: Order) => {
  if (order.kind === 'content') fill(order.content);
  process.send?.(Object.fromEntries(counts));
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  writeFileSync(process.argv[2] ?? '', kubeconfigText({ port, ca: authority.ca }));
  process.send?.({});
});
