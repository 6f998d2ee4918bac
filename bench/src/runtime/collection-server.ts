// SPDX-License-Identifier: Apache-2.0
/**
 * A process that serves one large collection over TLS and HTTP/2, as an API server would: pages, streaming lists, changes
 * on a command of its parent, and one Lease. Everything is generated before the first request, so that only the client is
 * measured. Times are in milliseconds since the epoch, with the resolution of the monotonic clock.
 *
 * Run as `node collection-server.ts <kind> <count>`; reports the port and the authority's certificate to its parent.
 */
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestAuthority } from '@csi-sidecars/runtime/testing';
import { anObject, type Kind } from './objects.ts';

const [kind, countText] = process.argv.slice(2) as [Kind, string];
const count = Number(countText);
const objectsPerChunk = 24;

const items = Array.from({ length: count }, (_, n) => JSON.stringify(anObject(kind, n, n + 1)));
const initialEvents: Buffer[] = [];
for (let from = 0; from < count; from += objectsPerChunk) {
  const frames = items.slice(from, from + objectsPerChunk).map((item) => `{"type":"ADDED","object":${item}}\n`);
  initialEvents.push(Buffer.from(frames.join('')));
}
const metadata = { resourceVersion: String(count), annotations: { 'k8s.io/initial-events-end': 'true' } };
const { apiVersion } = anObject(kind, 0, 1) as { apiVersion: string };
const endMark = Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object: { kind, apiVersion, metadata } })}\n`);

const authority = createTestAuthority();
const { cert, key } = authority.issue({ commonName: 'collection server', hosts: ['127.0.0.1'] });
const server = createSecureServer({ cert, key });

/** The commands of the parent. */
export type Order =
  /** Changes of the objects in turn, sent to every open watch. Each carries the time when it was sent in its `generateName`. */
  | { readonly kind: 'change'; readonly perSecond: number; readonly count: number }
  /** This number of changes in one piece. */
  | { readonly kind: 'burst'; readonly count: number }
  /** Every open watch gets the error that its version is gone: the client has to list again. */
  | { readonly kind: 'expire' }
  /** Answered with `connections`. */
  | { readonly kind: 'connections' };

/** The reports to the parent. */
export type Report =
  | { readonly kind: 'listening'; readonly port: number; readonly ca: string }
  | { readonly kind: 'connections'; readonly connections: number }
  /** The first request for a Lease. */
  | { readonly kind: 'lease'; readonly atMs: number };

const send = (report: Report): void => void process.send?.(report);
const nowMs = (): number => performance.timeOrigin + performance.now();

const watches = new Set<ServerHttp2Stream>();
let version = count;

server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined);
  const { pathname, searchParams: query } = new URL(headers[':path'] ?? '/', 'https://server');
  if (pathname.includes('/leases')) {
    serveLease(stream, headers[':method'] ?? 'GET');
    return;
  }
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  if (query.has('watch')) void serveWatch(stream, query);
  else stream.end(page(query));
});

function page(query: URLSearchParams): string {
  const from = Number(query.get('continue') ?? 0);
  const to = query.has('limit') ? from + Number(query.get('limit')) : count;
  const next = to < count ? `,"continue":"${to}"` : '';
  const envelope = `"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":{"resourceVersion":"${count}"${next}}`;
  return `{${envelope},"items":[${items.slice(from, to).join(',')}]}`;
}

async function serveWatch(stream: ServerHttp2Stream, query: URLSearchParams): Promise<void> {
  if (query.has('sendInitialEvents')) {
    for (const chunk of initialEvents) await write(stream, chunk);
  }
  // Prepared before the client is synced and the parent asks for changes.
  watches.add(stream);
  stream.on('close', () => watches.delete(stream));
  if (query.has('sendInitialEvents')) stream.write(endMark);
}

function changes(howMany: number): Buffer {
  const frames: string[] = [];
  for (let n = 0; n < howMany; n += 1) {
    const item = items[version % count] ?? '';
    version += 1;
    const marks = `"resourceVersion":"${version}","generateName":"${nowMs()}"`;
    frames.push(`{"type":"MODIFIED","object":${item.replace(/"resourceVersion":"\d+"/, marks)}}\n`);
  }
  return Buffer.from(frames.join(''));
}

async function sendChanges(perSecond: number, total: number): Promise<void> {
  const batchMs = perSecond < 200 ? 1000 / perSecond : 5;
  const perBatch = Math.max(1, (perSecond * batchMs) / 1000);
  const startMs = performance.now();
  for (let batch = 1; batch <= total / perBatch; batch += 1) {
    sendAll(changes(perBatch));
    await sleep(Math.max(0, startMs + batch * batchMs - performance.now()));
  }
}

function sendAll(chunk: Buffer): void {
  for (const stream of watches) stream.write(chunk);
}

let lease: Record<string, unknown> | undefined;

function serveLease(stream: ServerHttp2Stream, method: string): void {
  if (lease === undefined && method === 'GET') send({ kind: 'lease', atMs: nowMs() });
  const body: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => body.push(chunk));
  stream.on('end', () => {
    if (method !== 'GET') lease = JSON.parse(Buffer.concat(body).toString()) as Record<string, unknown>;
    stream.respond({ ':status': lease === undefined ? 404 : 200, 'content-type': 'application/json' });
    const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
    stream.end(JSON.stringify(lease ?? missing));
  });
}

function write(stream: ServerHttp2Stream, chunk: Buffer): Promise<void> | undefined {
  if (stream.destroyed || stream.write(chunk)) return undefined;
  return new Promise((resolve) => {
    const goOn = (): void => {
      stream.off('drain', goOn).off('close', goOn);
      resolve();
    };
    stream.on('drain', goOn).on('close', goOn);
  });
}

process.on('message', (order: Order) => {
  switch (order.kind) {
    case 'change':
      void sendChanges(order.perSecond, order.count);
      return;
    case 'burst':
      sendAll(changes(order.count));
      return;
    case 'expire': {
      const gone = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 };
      sendAll(Buffer.from(`${JSON.stringify({ type: 'ERROR', object: gone })}\n`));
      return;
    }
    case 'connections':
      server.getConnections((_error, connections) => send({ kind: 'connections', connections }));
  }
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  send({ kind: 'listening', port: (server.address() as AddressInfo).port, ca: authority.ca });
});
