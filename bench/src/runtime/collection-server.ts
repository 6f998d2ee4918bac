// SPDX-License-Identifier: Apache-2.0
/**
 * A process that serves one large collection over TLS and HTTP/2, as an API server would: pages, streaming lists, and
 * changes at a given rate. Everything is generated before the first request, so that what is measured is the client.
 *
 * Run as `node collection-server.ts <kind> <count>`; tells its parent the port and the authority's certificate.
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

server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined);
  const query = new URL(headers[':path'] ?? '/', 'https://server').searchParams;
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
    await write(stream, endMark);
  }
  // "rate=5000,seconds=3" as a label selector: changes per second, each with the time it was sent in an annotation.
  const wish = /^rate=(\d+),seconds=(\d+)$/.exec(query.get('labelSelector') ?? '');
  if (wish !== null) await serveChanges(stream, { perSecond: Number(wish[1]), seconds: Number(wish[2]) });
}

async function serveChanges(stream: ServerHttp2Stream, rate: { perSecond: number; seconds: number }): Promise<void> {
  const batchMs = 5;
  const perBatch = (rate.perSecond * batchMs) / 1000;
  const startMs = performance.now();
  for (let batch = 1; batch <= (rate.seconds * 1000) / batchMs; batch += 1) {
    let text = '';
    for (let n = (batch - 1) * perBatch; n < batch * perBatch; n += 1) {
      const version = String(count + n + 1);
      const sentAt = String(performance.timeOrigin + performance.now());
      const object = (items[n % count] ?? '').replace(
        /"resourceVersion":"\d+"/,
        `"resourceVersion":"${version}","generateName":"${sentAt}"`,
      );
      text += `{"type":"MODIFIED","object":${object}}\n`;
    }
    await write(stream, Buffer.from(text));
    await sleep(Math.max(0, startMs + batch * batchMs - performance.now()));
  }
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

server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port, ca: authority.ca });
});
process.on('disconnect', () => process.exit());
