// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  seededRandom,
  serveOverHttp,
  type HttpEndpoint,
} from '@csi-sidecars/runtime/testing';
import type { ControlPlane } from '../control-planes/control-plane.ts';
import { createCertificates, loopbackHosts } from '../control-planes/certificates.ts';
import { request, type Answer } from '../suite-client/request.ts';
import { startApiProxy, type ApiProxy } from './api-proxy.ts';

const clock = new FakeClock();
const path = '/api/v1/namespaces/default/secrets';
let folder: string;
let backend: HttpEndpoint;
let controlPlane: ControlPlane;
let caFile: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'api-proxy-test-'));
  const certificates = createCertificates(folder);
  ({ caFile } = certificates);
  const serverPair = certificates.issue('server', { commonName: 'server', hosts: loopbackHosts });
  backend = await serveOverHttp(createFakeApiServer({ clock, random: seededRandom(1) }).transport, { port: 0 });
  controlPlane = { server: backend.url, caFile: undefined, serverPair } as ControlPlane;
});
afterAll(async () => {
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});

function get(proxy: ApiProxy): Promise<Answer> {
  return request({ url: proxy.url + path, tls: { ca: readFileSync(caFile) } });
}

describe('a proxy in front of a control plane', () => {
  it('given no rule, then requests pass over TLS and are recorded', async () => {
    await using proxy = await startApiProxy(controlPlane, clock);
    expect((await get(proxy)).status).toBe(200);
    expect(proxy.requests).toMatchObject([{ method: 'GET', path }]);
  });

  it('given a rule, then it strikes as often as it says and requests pass again', async () => {
    await using proxy = await startApiProxy(controlPlane, clock);
    proxy.addRule({ when: () => true, fault: { kind: 'status', point: 'before', code: 503, reason: 'Unavailable' } });
    expect([(await get(proxy)).status, (await get(proxy)).status]).toEqual([503, 200]);
  });

  it('given a clock that is ahead, then the time in its answers is, and everything else is the same', async () => {
    await using proxy = await startApiProxy(controlPlane, clock, { aheadMs: 3_600_000 });
    await using plain = await startApiProxy(controlPlane, clock);
    const dateOf = async (each: ApiProxy): Promise<number> => Date.parse((await get(each)).headers['date'] ?? '');
    const ahead = (await dateOf(proxy)) - (await dateOf(plain));
    expect(Math.abs(ahead - 3_600_000)).toBeLessThanOrEqual(30_000);
    expect((await get(proxy)).status).toBe(200);
  });

  it('given a cut, then connections are refused; when healed, then it listens on the same port', async () => {
    await using proxy = await startApiProxy(controlPlane, clock);
    const { url } = proxy;
    await proxy.cut();
    await expect(get(proxy)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await proxy.heal();
    expect(proxy.url).toBe(url);
    expect((await get(proxy)).status).toBe(200);
  });

  it('given a request under way, when cut, then its connection breaks', async () => {
    await using proxy = await startApiProxy(controlPlane, clock);
    proxy.addRule({ when: () => true, fault: { kind: 'hang', point: 'before' } });
    const hanging = get(proxy).catch((error: unknown) => error);
    await expect.poll(() => proxy.requests.length).toBe(1);
    await proxy.cut();
    expect(await hanging).toMatchObject({ code: 'ECONNRESET' });
  });
});
