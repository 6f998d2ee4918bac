// SPDX-License-Identifier: Apache-2.0
/** Clients for the measurements: against a collection server of its own, or fed from memory. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  type ApiClient,
  connectCluster,
  createApiClient,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
  silentLogger,
  systemClock,
  systemFiles,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { anObject, type Kind } from './objects.ts';

export const resources: Readonly<Record<Kind, Resource>> = {
  PersistentVolume: persistentVolumes,
  PersistentVolumeClaim: persistentVolumeClaims,
  VolumeAttachment: volumeAttachments,
  Pod: pods,
};

export interface ServedCollection extends AsyncDisposable {
  readonly client: ApiClient;
}

/** A server process with `count` objects, and a client connected to it by TLS and HTTP/2. */
export async function serveCollection(kind: Kind, count: number): Promise<ServedCollection> {
  const child = fork(new URL('./collection-server.ts', import.meta.url), [kind, String(count)], {
    execArgv: ['--max-old-space-size=4096'],
  });
  const [{ port, ca }] = (await once(child, 'message')) as [{ port: number; ca: string }];
  const deps = { clock: systemClock(), logger: silentLogger, files: systemFiles(), env: {} };
  const connection = await connectCluster(deps, {
    endpoint: { scheme: 'https', host: '127.0.0.1', port, basePath: '' },
    tls: { authorities: { kind: 'inline', text: () => ca }, verify: 'server' },
    user: { kind: 'anonymous' },
  });
  const client = createApiClient(
    { ...deps, transport: connection.transport },
    { userAgent: 'bench', qps: -1, burst: 0 },
  );
  return {
    client,
    async [Symbol.asyncDispose]() {
      await connection.close();
      child.kill();
    },
  };
}

export interface Feed {
  readonly kind: Kind;
  readonly count: number;
  /** After the initial content, as fast as they are taken. */
  readonly changes: number;
}

/** A watch from memory: one streaming list, generated while it is read, then changes that were generated before. */
export function feed({ kind, count, changes }: Feed): Pick<ApiClient, 'stream'> {
  const perChunk = 25;
  const frame = (type: string, n: number, version: number): string =>
    `${JSON.stringify({ type, object: anObject(kind, n, version) })}\n`;
  const chunks = Array.from({ length: changes / perChunk }, (_, chunk) => {
    const numbers = Array.from({ length: perChunk }, (_unused, i) => chunk * perChunk + i);
    return Buffer.from(numbers.map((n) => frame('MODIFIED', n % count, count + n + 1)).join(''));
  });
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < count; n += 1) yield Buffer.from(frame('ADDED', n, n + 1));
    const metadata = { resourceVersion: String(count), annotations: { 'k8s.io/initial-events-end': 'true' } };
    yield Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`);
    yield* chunks;
    await new Promise(() => undefined);
  }
  return { stream: () => Promise.resolve({ status: 200, headers: {}, body: body() }) };
}
