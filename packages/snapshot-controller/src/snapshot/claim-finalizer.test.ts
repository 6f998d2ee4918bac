// SPDX-License-Identifier: Apache-2.0
import {
  createApiClient,
  createKeyedLock,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  silentLogger,
  toObjectKey,
  TransportError,
} from '@csi-sidecars/runtime';
import { failureAtStop, FakeClock, scriptedTransport, seededRandom } from '@csi-sidecars/runtime/testing';
import { snapshotFinalizers } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { anApiServer, type ApiServerSetting, noCache } from '../../testing/api-server.ts';
import { aClaim, aProtectedClaim } from '../../testing/builders.ts';
import { type ClaimDeps, protectClaim, releaseClaim } from './claim-finalizer.ts';
import { createClaimReleases } from './claim-releases.ts';

const depsOf = (ports: ApiServerSetting['ports']): ClaimDeps => ({
  ...ports,
  claims: { ...noCache, get: () => undefined },
  lock: createKeyedLock(),
  releases: createClaimReleases(),
});

it('given a claim that was deleted, and created again with our finalizer, when the earlier one is released, then the later one keeps it', async () => {
  const { server, ports, requests, end } = anApiServer();
  const claim = server.seed(aProtectedClaim());
  const ref = { namespace: 'team', name: 'data' };
  server.objects.remove(persistentVolumeClaims, ref);
  server.seed(aProtectedClaim({ uid: 'later' }));
  const { signal } = new AbortController();
  await end(releaseClaim(depsOf(ports), { claim, isInUse: () => false }, signal));
  expect(requests()).toEqual(['update persistentvolumeclaims 409', 'get persistentvolumeclaims 200']);
  expect(server.objects.get(persistentVolumeClaims, ref)?.metadata?.finalizers).toEqual([snapshotFinalizers.claim]);
});

describe('given a claim that changed after it was cached, when it is protected', () => {
  const ref = { namespace: 'team', name: 'data' };
  const refused = ['update persistentvolumeclaims 409', 'get persistentvolumeclaims 200'];
  const signal = new AbortController().signal;

  it('and it is being deleted, then it is left alone, and that is the failure', async () => {
    const { server, ports, requests, end } = anApiServer();
    const cached = server.seed(aClaim());
    server.seed(
      aClaim({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['kubernetes.io/pvc-protection'] } }),
    );
    const protecting = protectClaim(depsOf(ports), cached, signal);
    await expect(end(protecting)).rejects.toThrow('cannot add finalizer on claim because it is being deleted');
    expect(requests()).toEqual(refused);
    expect(server.objects.get(persistentVolumeClaims, ref)?.metadata?.finalizers).toEqual([
      'kubernetes.io/pvc-protection',
    ]);
  });

  it('[snapshot-controller#24] and it is gone, and a later one of its name is not bound, then that one is left alone, and that is the failure', async () => {
    const { server, ports, requests, end } = anApiServer();
    const cached = server.seed(aClaim());
    server.objects.remove(persistentVolumeClaims, ref);
    const slow = ['example.com/slow'];
    server.seed(aClaim({ uid: 'later', phase: 'Pending', metadata: { finalizers: slow } }));
    const protecting = protectClaim(depsOf(ports), cached, signal);
    await expect(end(protecting)).rejects.toThrow('cannot add finalizer on claim because it is not bound');
    expect(requests()).toEqual(refused);
    expect(server.objects.get(persistentVolumeClaims, ref)?.metadata?.finalizers).toEqual(slow);
  });

  it('and it has our finalizer by now, then it is not written again, and the cache shows it', async () => {
    const { server, ports, requests, end } = anApiServer();
    const cached = server.seed(aClaim());
    const stored = server.seed(aProtectedClaim());
    const remembered: unknown[] = [];
    const claims = {
      get: () => undefined,
      remember: (claim: unknown) => void remembered.push(claim),
      doubt: () => undefined,
    };
    expect(await end(protectClaim({ ...depsOf(ports), claims }, cached, signal))).toEqual(stored);
    expect([requests(), remembered]).toEqual([refused, [stored]]);
  });

  it('and it is being deleted with our finalizer, then it is protected', async () => {
    const { server, ports, requests, end } = anApiServer();
    const cached = server.seed(aClaim());
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [snapshotFinalizers.claim] };
    const stored = server.seed(aClaim({ metadata }));
    expect(await end(protectClaim(depsOf(ports), cached, signal))).toEqual(stored);
    expect(requests()).toEqual(refused);
  });

  it('and it is gone, then that is the failure', async () => {
    const { server, ports, requests, end } = anApiServer();
    const cached = server.seed(aClaim());
    server.objects.remove(persistentVolumeClaims, ref);
    await expect(end(protectClaim(depsOf(ports), cached, signal))).rejects.toMatchObject({
      status: 404,
    });
    expect(requests()).toEqual(['update persistentvolumeclaims 404']);
  });
});

it('given a claim that lost our finalizer after it was cached, when it is released, then it is not written again', async () => {
  const { server, ports, requests, end } = anApiServer();
  const claim = server.seed(aProtectedClaim());
  const ref = { namespace: 'team', name: 'data' };
  server.objects.change(persistentVolumeClaims, ref, (known) => ({
    ...known,
    metadata: { ...known.metadata, finalizers: [] },
  }));
  const { signal } = new AbortController();
  await end(releaseClaim(depsOf(ports), { claim, isInUse: () => false }, signal));
  expect(requests()).toEqual(['update persistentvolumeclaims 409', 'get persistentvolumeclaims 200']);
});

describe('given an API server that falls silent after a conflict, when the process must stop', () => {
  const version = { resourceVersion: '1' };
  const claim = aClaim({ metadata: version });
  const held = aProtectedClaim({ metadata: { ...version, finalizers: [snapshotFinalizers.claim] } });
  const conflict = { status: 409, body: { kind: 'Status', code: 409, reason: 'Conflict' } };
  const steps = [
    {
      what: 'protected',
      step: (deps: ClaimDeps, signal: AbortSignal) => protectClaim(deps, claim, signal),
      read: claim,
    },
    {
      what: 'released',
      step: (deps: ClaimDeps, signal: AbortSignal) => releaseClaim(deps, { claim: held, isInUse: () => false }, signal),
      read: held,
    },
  ];

  it.each(
    steps.flatMap((each) => [
      { ...each, request: 'second', answers: [] },
      { ...each, request: 'third', answers: [{ body: each.read }] },
    ]),
  )('while a claim is $what, then the $request request is cancelled', async ({ step, answers }) => {
    const clock = new FakeClock();
    const { transport, requests } = scriptedTransport(conflict, ...answers, 'hang');
    const client = createApiClient(
      { transport, clock, logger: silentLogger },
      { userAgent: 'test', qps: -1, burst: 0 },
    );
    const deps = depsOf({ client, clock, random: seededRandom(1) });
    const failure = await failureAtStop((signal) => step(deps, signal), clock);
    expect(failure).toMatchObject({ failure: 'aborted' });
    expect(requests).toHaveLength(answers.length + 2);
  });
});

describe('given a write of a claim that has no answer', () => {
  const signal = new AbortController().signal;
  const lost = new TransportError('reset', 'connection reset');
  /** The answer to each write is lost; `isDone`: the API server has done it. */
  function losing(isDone: boolean) {
    const { server, ports, requests, end } = anApiServer();
    const remembered: unknown[] = [];
    const doubted: unknown[] = [];
    const client: ClaimDeps['client'] = {
      ...ports.client,
      update: async (...args) => {
        if (isDone) await ports.client.update(...args);
        throw lost;
      },
    };
    const claims = {
      get: () => undefined,
      remember: (claim: unknown) => void remembered.push(claim),
      doubt: ({ metadata }: PersistentVolumeClaim) => void doubted.push(metadata?.name),
    };
    return { server, requests, end, remembered, doubted, deps: { ...depsOf(ports), client, claims } };
  }
  const read = 'get persistentvolumeclaims 200';

  it('and that was done, then the claim is read, the cache shows it, and that is the success', async () => {
    const { server, requests, end, remembered, deps } = losing(true);
    const stored = await end(protectClaim(deps, server.seed(aClaim()), signal));
    expect(stored.metadata?.finalizers).toEqual([snapshotFinalizers.claim]);
    expect(remembered).toEqual([stored]);
    expect(requests()).toEqual(['update persistentvolumeclaims 200', read]);
  });

  it('and that was not done, then the claim is read, and the lost answer is the failure', async () => {
    const { server, requests, end, remembered, deps } = losing(false);
    const cached = server.seed(aClaim());
    await expect(end(protectClaim(deps, cached, signal))).rejects.toBe(lost);
    expect([requests(), remembered]).toEqual([[read], [cached]]);
  });

  it('and a claim that cannot be read then, then the lost answer is the failure, and the claim is in doubt', async () => {
    const { server, end, doubted, deps } = losing(true);
    const client = { ...deps.client, get: () => Promise.reject(new Error('no right')) };
    await expect(end(protectClaim({ ...deps, client }, server.seed(aClaim()), signal))).rejects.toBe(lost);
    expect(doubted).toEqual(['data']);
  });
});

it('given a claim that is gone, when it is released, then there is nothing to do', async () => {
  const { server, ports, requests, end } = anApiServer();
  const claim = server.seed(aProtectedClaim());
  server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  const { signal } = new AbortController();
  await end(releaseClaim(depsOf(ports), { claim, isInUse: () => false }, signal));
  expect(requests()).toEqual(['update persistentvolumeclaims 404']);
});

it('given snapshots of one claim that come together, when each protects and releases it, then one writes, and the others find it done', async () => {
  const { server, ports, requests, end } = anApiServer();
  const cached = server.seed(aClaim());
  let known = cached;
  const claims = {
    get: () => known,
    remember: (claim: PersistentVolumeClaim) => void (known = claim),
    doubt: () => undefined,
  };
  const deps = { ...depsOf(ports), claims };
  const { signal } = new AbortController();
  const three = [1, 2, 3];
  await end(Promise.all(three.map(() => protectClaim(deps, cached, signal))));
  await end(Promise.all(three.map(() => releaseClaim(deps, { claim: cached, isInUse: () => false }, signal))));
  expect(requests()).toEqual(['update persistentvolumeclaims 200', 'update persistentvolumeclaims 200']);
  expect(known.metadata?.finalizers ?? []).toEqual([]);
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
