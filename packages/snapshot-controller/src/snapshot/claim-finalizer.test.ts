// SPDX-License-Identifier: Apache-2.0
import { persistentVolumeClaims, toObjectKey } from '@csi-sidecars/runtime';
import { snapshotFinalizers } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { anApiServer, noCache } from '../../testing/api-server.ts';
import { aProtectedClaim } from '../../testing/builders.ts';
import { releaseClaim } from './claim-finalizer.ts';
import { createClaimReleases } from './claim-releases.ts';

it('given a claim that was deleted, and created again with our finalizer, when the earlier one is released, then the later one keeps it', async () => {
  const { server, ports, requests, end } = anApiServer();
  const claim = server.seed(aProtectedClaim());
  const ref = { namespace: 'team', name: 'data' };
  server.objects.remove(persistentVolumeClaims, ref);
  server.seed(aProtectedClaim({ uid: 'later' }));
  const { signal } = new AbortController();
  await end(releaseClaim({ ...ports, claims: noCache }, { claim, isInUse: () => false }, signal));
  expect(requests()).toEqual(['update persistentvolumeclaims 409', 'get persistentvolumeclaims 200']);
  expect(server.objects.get(persistentVolumeClaims, ref)?.metadata?.finalizers).toEqual([snapshotFinalizers.claim]);
});

it('given two releases of one claim at the same time, when one of them ends, then the claim still is being released', async () => {
  const releases = createClaimReleases();
  const claim = toObjectKey('team', 'data');
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const running = [releases.during(claim, () => one.promise), releases.during(claim, () => two.promise)];
  one.resolve();
  await running[0];
  expect(releases.has(claim)).toBe(true);
  two.reject(new Error('no'));
  await expect(running[1]).rejects.toThrow('no');
  expect(releases.has(claim)).toBe(false);
});

it('given a snapshot that has left its claim, when it is forgotten, then another one with its UID has not left', () => {
  const releases = createClaimReleases();
  releases.leave('a');
  expect([releases.hasLeft('a'), releases.hasLeft('b')]).toEqual([true, false]);
  releases.forget('a');
  expect(releases.hasLeft('a')).toBe(false);
});
