// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { manyVolumes } from '../../testing/many-volumes.ts';

const count = 50_000;
const program = new URL('../../testing/synced-volumes.ts', import.meta.url).pathname;
/** Half of the memory is for the heap, and the rest for memory outside of it. */
const flags = ['--max-old-space-size=64', '--max-semi-space-size=1'];

async function stream(response: ServerResponse): Promise<void> {
  for (const events of manyVolumes(count)) {
    if (!response.write(events)) await once(response, 'drain');
  }
  const metadata = { resourceVersion: `${count}`, annotations: { 'k8s.io/initial-events-end': 'true' } };
  const object = { kind: 'PersistentVolume', apiVersion: 'v1', metadata };
  response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
}

it('[runtime#178] given 128 MiB and 50,000 volumes, when first synced, then that is enough', async () => {
  const server = createServer((_, response) => void stream(response).catch(() => undefined));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const child = spawn(process.execPath, [...flags, program, String((server.address() as AddressInfo).port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = JSON.parse(await text(child.stdout)) as { readonly count: number; readonly peakMib: number };
  server.closeAllConnections();
  server.close();
  expect(said.count).toBe(count);
  expect(said.peakMib).toBeLessThan(128);
}, 60_000);
