// SPDX-License-Identifier: Apache-2.0
/**
 * As much of an API server as csi-snapshot-metadata asks: every snapshot exists, and its name is its handle. The token `good` is valid, every other is not.
 */
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createTestAuthority } from '@csi-sidecars/runtime/testing';
import { kubeconfigText } from '../kubeconfig.ts';

export const driverName = 'bench.example.com';
export const namespace = 'bench';
const audience = 'bench';

export interface Reviews {
  /** TokenReviews so far. */
  all: number;
  /** The highest number of TokenReviews of one token at the same time. */
  atOnce: number;
}

export interface StubApiServer extends Disposable {
  readonly kubeconfig: string;
  readonly reviews: Reviews;
}

/** How long a TokenReview takes. */
const reviewMs = 5;

export async function startStubApiServer(folder: string): Promise<StubApiServer> {
  const authority = createTestAuthority();
  const { cert, key } = authority.issue({ commonName: 'api', hosts: ['127.0.0.1', 'localhost'] });
  const reviews: Reviews = { all: 0, atOnce: 0 };
  const running = new Map<string, number>();
  const server = createServer({ cert, key }, (request, response) => {
    const respond = async (): Promise<void> => {
      const answer = await answerFor(request, reviews, running);
      response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
    };
    respond().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText({ port, ca: authority.ca, token: 'sidecar' }));
  return {
    kubeconfig,
    reviews,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answerFor(request: IncomingMessage, reviews: Reviews, running: Map<string, number>): Promise<object> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const { pathname } = new URL(request.url ?? '/', 'https://api');
  const segments = pathname.split('/');
  const name = segments.at(-1) ?? '';
  const snapshotApi = { apiVersion: 'snapshot.storage.k8s.io/v1' };
  const of = (plural: string): boolean => segments.at(-2) === plural;
  if (name === 'tokenreviews') {
    // Upstream's program sends protobuf.
    const [token = ''] = /good|bad-[0-9]+/.exec(Buffer.concat(parts).toString('latin1')) ?? [];
    return await reviewed(token, reviews, running);
  }
  if (name === 'subjectaccessreviews') {
    return { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', status: { allowed: true } };
  }
  if (of('snapshotmetadataservices')) {
    const spec = { audience, address: 'localhost:1', caCert: '' };
    return { apiVersion: 'cbt.storage.k8s.io/v1beta1', kind: 'SnapshotMetadataService', metadata: { name }, spec };
  }
  if (of('volumesnapshots')) {
    return {
      ...snapshotApi,
      kind: 'VolumeSnapshot',
      metadata: { name, namespace },
      spec: { source: { persistentVolumeClaimName: 'claim' }, volumeSnapshotClassName: 'class' },
      status: { readyToUse: true, boundVolumeSnapshotContentName: name },
    };
  }
  if (of('volumesnapshotcontents')) {
    return {
      ...snapshotApi,
      kind: 'VolumeSnapshotContent',
      metadata: { name },
      spec: {
        deletionPolicy: 'Delete',
        driver: driverName,
        source: { volumeHandle: 'volume' },
        volumeSnapshotRef: { name, namespace },
      },
      status: { readyToUse: true, snapshotHandle: name },
    };
  }
  return {
    ...snapshotApi,
    kind: 'VolumeSnapshotClass',
    metadata: { name },
    driver: driverName,
    deletionPolicy: 'Delete',
  };
}

async function reviewed(token: string, reviews: Reviews, running: Map<string, number>): Promise<object> {
  reviews.all += 1;
  const now = (running.get(token) ?? 0) + 1;
  running.set(token, now);
  reviews.atOnce = Math.max(reviews.atOnce, now);
  await new Promise((resolve) => setTimeout(resolve, reviewMs));
  running.set(token, now - 1);
  const user = { username: 'system:serviceaccount:bench:backup', uid: '1' };
  const status = token === 'good' ? { authenticated: true, user, audiences: [audience] } : { authenticated: false };
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token }, status };
}
