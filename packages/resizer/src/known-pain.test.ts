// SPDX-License-Identifier: Apache-2.0
/** Pains of upstream that no decision is about: how the client and the queues behave under the loops. */
import { expect, it } from 'vitest';
import { aClaim, aVolume } from '../testing/builders.ts';
import { aResizer } from '../testing/resizer-fixture.ts';

/** More than the longest request to the API server. */
const requestMs = 75_000;

it('P33: given a secret that the API server never returns, then the attempt fails in time, and the next one reads it', async () => {
  const reference = { namespace: 'team', name: 'login' };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: reference, data: { a: 'MQ==' } };
  const r = await aResizer({
    node: [],
    seed: [secret, aVolume({ csi: { controllerExpandSecretRef: reference } })],
  });
  r.fault('get secrets', { kind: 'hang', point: 'before' });
  r.server.seed(aClaim());
  await r.clock.advance(requestMs);
  expect(r.events).toContainEqual(expect.stringContaining('error getting secret login in namespace team'));
  await r.clock.advance(5_000);
  expect(r.requests('ControllerExpandVolume')).toMatchObject([{ secrets: { a: '1' } }]);
  await r.stop();
});

it('P35: given claims that fail at the same moment, then their retries are not at the same moment', async () => {
  const claims = ['a', 'b', 'c'].map((name, index) => aClaim({ name, volumeName: `pv${index + 1}` }));
  const volumes = claims.map((claim, index) => aVolume({ name: `pv${index + 1}`, claim }));
  const r = await aResizer({ node: [], seed: volumes });
  r.failCalls('Internal', { times: claims.length });
  for (const claim of claims) r.server.seed(claim);
  await r.settle();
  const firstCalls = r.driver.calls.map(({ beganAtMs }) => beganAtMs);
  expect([firstCalls.length, new Set(firstCalls).size]).toEqual([claims.length, 1]);
  await r.clock.advance(2_000);
  const retries = r.driver.calls.slice(claims.length).map(({ beganAtMs }) => beganAtMs);
  expect([retries.length, new Set(retries).size]).toEqual([claims.length, claims.length]);
  await r.stop();
});
