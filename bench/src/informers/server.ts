// SPDX-License-Identifier: Apache-2.0
/**
 * A process that serves PersistentVolumes over TLS, with HTTP/2 and HTTP/1.1, as an API server would: pages, lists as watches, a history for watches that
 * come back, and the ways in which watches die. Run as `node server.ts COUNT FOLDER`: it writes a kubeconfig there.
 */
import { writeFileSync } from 'node:fs';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestAuthority } from '@csi-sidecars/runtime/testing';
import { kubeconfigText } from '../kubeconfig.ts';
import { anObject } from '../runtime/objects.ts';

/** How open watches end; `main.ts` has a sentence for each. */
export type Death = 'silent' | 'broken' | 'ended' | 'expired' | 'refused';
export type Order =
  | { readonly kind: 'change'; readonly count: number; readonly perSecond: number }
  | { readonly kind: 'die'; readonly death: Death };
/** To the parent: `version` is that of the last change. */
export type Report = { readonly kind: 'listening' } | { readonly kind: 'changed'; readonly version: number };

const [countText = '', folder = ''] = process.argv.slice(2);
const count = Number(countText);
const items = Array.from({ length: count }, (_, n) => JSON.stringify(anObject('PersistentVolume', n, n + 1)));
const history: { readonly version: number; readonly frame: string }[] = [];
/** The watches. */
const open = new Set<Http2ServerResponse>();
/** Between the clients and the server, so that a connection can go silent. */
const relayed = new Set<readonly [client: Socket, server: Socket]>();
const refusedForMs = 3_000;
let version = count;
let oldest = 0;
let refusesUntilMs = 0;

const send = (report: Report): void => void process.send?.(report);
const head = (more = ''): string => `"apiVersion":"v1","metadata":{"resourceVersion":"${version}"${more}}`;
const status = (code: number, reason: string): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: reason, reason, code });

function answer(response: Http2ServerResponse, code: number, body: string): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(body);
}

async function serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
  const { pathname, searchParams: query } = new URL(request.url, 'https://server');
  if (performance.now() < refusesUntilMs) return answer(response, 500, status(500, 'InternalError'));
  if (pathname !== '/api/v1/persistentvolumes') return answer(response, 404, status(404, 'NotFound'));
  if (!['true', '1'].includes(query.get('watch') ?? '')) return answer(response, 200, page(query));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.on('close', () => open.delete(response));
  if (query.get('sendInitialEvents') === 'true') {
    for (const item of items) {
      if (!response.write(`{"type":"ADDED","object":${item}}\n`)) await drained(response);
    }
    const mark = '"annotations":{"k8s.io/initial-events-end":"true"}';
    response.write(`{"type":"BOOKMARK","object":{"kind":"PersistentVolume",${head(`,${mark}`)}}}\n`);
  } else {
    const from = Number(query.get('resourceVersion') ?? version);
    if (from < oldest) {
      response.end(`{"type":"ERROR","object":${status(410, 'Expired')}}\n`);
      return;
    }
    for (const each of history) if (each.version > from) response.write(each.frame);
    // Headers reach the client before the first change.
    if (history.length === 0) response.write('');
  }
  open.add(response);
}

function drained(response: Http2ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const goOn = (): void => {
      response.off('drain', goOn).off('close', goOn);
      resolve();
    };
    response.on('drain', goOn).on('close', goOn);
  });
}

function page(query: URLSearchParams): string {
  const from = Number(query.get('continue') ?? 0);
  const to = query.has('limit') ? from + Number(query.get('limit')) : count;
  const next = to < count ? `,"continue":"${to}"` : '';
  return `{"kind":"PersistentVolumeList",${head(next)},"items":[${items.slice(from, to).join(',')}]}`;
}

async function change(howMany: number, perSecond: number): Promise<void> {
  const perBatch = Math.max(1, perSecond / 100);
  const startMs = performance.now();
  for (let sent = 0; sent < howMany; sent += perBatch) {
    const frames = Array.from({ length: Math.min(perBatch, howMany - sent) }, () => {
      version += 1;
      const at = version % count;
      items[at] = items[at]!.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${version}"`);
      const frame = `{"type":"MODIFIED","object":${items[at]}}\n`;
      history.push({ version, frame });
      return frame;
    });
    for (const response of open) response.write(frames.join(''));
    await sleep(Math.max(0, startMs + (sent / perSecond) * 1_000 - performance.now()));
  }
  send({ kind: 'changed', version });
}

function endWatches(last = ''): void {
  for (const response of open) response.end(last);
}

function endConnections(how: (socket: Socket) => void): void {
  for (const pair of relayed) pair.forEach(how);
  relayed.clear();
}

const deaths: Readonly<Record<Death, () => void>> = {
  // Nothing gets through any more, as behind a NAT that has forgotten the connection.
  silent: () => endConnections((socket) => void socket.unpipe().pause()),
  broken: () => endConnections((socket) => void socket.destroy()),
  ended: () => endWatches(),
  expired: () => {
    history.length = 0;
    oldest = version;
    endWatches(`{"type":"ERROR","object":${status(410, 'Expired')}}\n`);
  },
  refused: () => {
    refusesUntilMs = performance.now() + refusedForMs;
    deaths.broken();
  },
};

process.on('message', (order: Order) => {
  if (order.kind === 'change') {
    void change(order.count, order.perSecond);
    return;
  }
  deaths[order.death]();
  open.clear();
});
process.on('disconnect', () => process.exit());

const authority = createTestAuthority();
const { cert, key } = authority.issue({ commonName: 'server', hosts: ['127.0.0.1'] });
const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
  response.on('error', () => undefined);
  serve(request, response).catch(() => response.destroy());
});
server.on('session', (session) => session.on('error', () => undefined));
server.on('sessionError', () => undefined);
server.listen(0, '127.0.0.1', () => {
  const relay = createServer((client) => {
    const pair = [client, connect((server.address() as AddressInfo).port, '127.0.0.1')] as const;
    relayed.add(pair);
    pair.forEach((socket, side) => {
      socket.on('error', () => undefined).on('close', () => pair[1 - side]?.destroy());
      socket.pipe(pair[1 - side]!);
    });
  });
  relay.listen(0, '127.0.0.1', () => writeKubeconfig((relay.address() as AddressInfo).port));
});

function writeKubeconfig(port: number): void {
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigText({ port, ca: authority.ca }));
  send({ kind: 'listening' });
}
