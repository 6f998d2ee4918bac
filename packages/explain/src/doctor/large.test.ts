// SPDX-License-Identifier: Apache-2.0
/** How much doctor asks of the API server of a large cluster. */
import type { Transport } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { attachment, boundClaim, driver, node, volumeOf } from '../../testing/cluster.ts';
import { registeredNode, zone } from '../../testing/workloads.ts';
import { installation } from '../../testing/installation.ts';
import { doctor } from '../../testing/examining.ts';

const objects = 50_000;
const nodes = 5_000;
/** The first two are those of the installation, whose pods are there. */
const nodeName = (index: number): string => ['node-a', 'node-b'][index] ?? `node-${index}`;
const metadata = { creationTimestamp: '2024-01-01T00:00:00Z' };

interface Collection {
  readonly count: number;
  readonly object: (index: number) => object;
}

/** Made page by page, because a server that stores them takes half a minute. */
const collections: Readonly<Record<string, Collection>> = {
  '/api/v1/persistentvolumeclaims': {
    count: objects,
    object: (index) => boundClaim(`data-${index}`, { metadata: { ...metadata, namespace: `team-${index % 100}` } }),
  },
  '/api/v1/persistentvolumes': {
    count: objects,
    object: (index) =>
      volumeOf(`data-${index}`, {
        metadata: { ...metadata, annotations: { 'pv.kubernetes.io/provisioned-by': driver } },
      }),
  },
  '/apis/storage.k8s.io/v1/volumeattachments': {
    count: objects,
    object: (index) =>
      attachment(`va-${index}`, {
        metadata,
        node: nodeName(index % nodes),
        volume: `pv-data-${index}`,
        status: { attached: true },
      }),
  },
  '/api/v1/nodes': {
    count: nodes,
    object: (index) => node(nodeName(index), { metadata: { labels: { [zone]: 'z1' } } }),
  },
  '/apis/storage.k8s.io/v1/csinodes': { count: nodes, object: (index) => registeredNode(nodeName(index)) },
};

function large(transport: Transport): Transport {
  return async (request) => {
    const url = new URL(request.path, 'http://server');
    const collection = Object.hasOwn(collections, url.pathname) ? collections[url.pathname] : undefined;
    if (collection === undefined) return await transport(request);
    const from = Number(url.searchParams.get('continue') ?? '0');
    const size = Number(url.searchParams.get('limit'));
    const to = Math.min(collection.count, from + size);
    const items = Array.from({ length: to - from }, (_, at) => collection.object(from + at));
    const more = to < collection.count ? { continue: String(to) } : {};
    const body = JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1', ...more }, items });
    return { status: 200, headers: { 'content-type': 'application/json' }, body: oneChunk(body) };
  };
}

async function* oneChunk(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

it('given 50,000 claims, volumes and attachments and 5,000 nodes, when examined, then 600 requests suffice, nothing is cut, and nothing is found', async () => {
  const { code, found, document } = await doctor(installation({ intercept: large }));
  expect([code, found, document.notRun]).toEqual([0, [], []]);
  expect(document.cost.requests).toBeLessThanOrEqual(600);
  expect(document.cost.requests).toBeGreaterThan(300);
  // With the default of 20 requests in a second.
  expect(document.cost.seconds).toBeLessThanOrEqual(120);
}, 120_000);
