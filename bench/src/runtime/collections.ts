// SPDX-License-Identifier: Apache-2.0
/** Clients for the measurements: against a collection server of its own, or fed from memory. */
import { fork } from 'node:child_process';
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
import type { Order, Report } from './collection-server.ts';
import { anObject, type Kind } from './objects.ts';

export const resources: Readonly<Record<Kind, Resource>> = {
  PersistentVolume: persistentVolumes,
  PersistentVolumeClaim: persistentVolumeClaims,
  VolumeAttachment: volumeAttachments,
  Pod: pods,
};

/** The address of a served collection. */
export interface Address {
  readonly port: number;
  readonly ca: string;
}

export interface CollectionServer extends Disposable {
  readonly address: Address;
  order(order: Order): void;
  /** Resolves with the next report of this kind. */
  reported<K extends Report['kind']>(kind: K): Promise<Extract<Report, { readonly kind: K }>>;
}

/** A server process with `count` objects. */
export async function startServer(kind: Kind, count: number): Promise<CollectionServer> {
  const child = fork(new URL('./collection-server.ts', import.meta.url), [kind, String(count)], {
    execArgv: ['--max-old-space-size=4096'],
  });
  const reported = <K extends Report['kind']>(wanted: K): Promise<Extract<Report, { readonly kind: K }>> =>
    new Promise((resolve) => {
      const listen = (report: Report): void => {
        if (report.kind !== wanted) return;
        child.off('message', listen);
        resolve(report as Extract<Report, { readonly kind: K }>);
      };
      child.on('message', listen);
    });
  const address = await reported('listening');
  return {
    address,
    order: (order) => void child.send(order),
    reported,
    [Symbol.dispose]: () => child.kill(),
  };
}

export interface Connection extends AsyncDisposable {
  readonly client: ApiClient;
}

/** A client over TLS and HTTP/2. */
export async function connectTo({ port, ca }: Address): Promise<Connection> {
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
  return { client, [Symbol.asyncDispose]: () => connection.close() };
}

export interface Feed {
  readonly kind: Kind;
  readonly count: number;
  /** Changes after the initial content, as fast as they are read. */
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
