// SPDX-License-Identifier: Apache-2.0
/** Drivers that expand a volume only while no pod uses it. */
import { type KubeObject, persistentVolumeClaims, pods } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aPod, aVolume } from '../../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions } from '../../testing/resizer-fixture.ts';

const second = 1_150;
const inUse =
  'Warning VolumeResizeFailed team/data: Unable to expand team/data because CSI driver test.csi.example.com only supports offline expansion and volume is currently in-use';
const warnings = (r: Fixture): readonly string[] => r.events.filter((line) => line.startsWith('Warning'));
const long = { settings: { retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000, resyncMs: 0 } };

/** The first call says that the volume is in use. */
async function given(others: readonly KubeObject[], options: FixtureOptions = {}): Promise<Fixture> {
  const r = await aResizer({ node: [], seed: [aVolume(), ...others], ...options });
  r.failCalls('FailedPrecondition');
  r.server.seed(aClaim());
  await r.settle();
  expect(r.calls().length).toBe(1);
  return r;
}

it('[resizer#90, 100] given a pod, then no second call but an event with each retry', async () => {
  const r = await given([aPod()]);
  await r.clock.advance(8_000);
  expect([r.calls().length, warnings(r).slice(1)]).toEqual([1, [inUse, inUse, inUse]]);
  await r.stop();
});

it('[resizer#91] given a pod and no such answer, then a call', async () => {
  const r = await aResizer({ node: [], seed: [aVolume(), aPod(), aClaim()] });
  expect(r.calls()).toEqual(['ControllerExpandVolume volume-1 OK']);
  await r.stop();
});

it('[resizer#92] given no pod, then a second call', async () => {
  const r = await given([]);
  await r.clock.advance(second);
  expect(r.calls().length).toBe(2);
  await r.stop();
});

it('[resizer#93] given pods that are not watched, then every attempt is a call', async () => {
  const r = await given([aPod()], { settings: { handleInUseErrors: false } });
  await r.clock.advance(second);
  expect([r.calls().length, r.server.requests.some(({ resource }) => resource === 'pods')]).toEqual([2, false]);
  await r.stop();
});

describe('which pods count', () => {
  it.each<{ readonly id: string; readonly given: string; readonly pod: KubeObject; readonly calls: number }>([
    { id: '[resizer#94]', given: 'a pod that failed', pod: aPod({ phase: 'Failed' }), calls: 2 },
    { id: '[resizer#94]', given: 'a pod that succeeded', pod: aPod({ phase: 'Succeeded' }), calls: 2 },
    { id: '[resizer#95]', given: 'a pod that is Pending', pod: aPod({ phase: 'Pending' }), calls: 1 },
    { id: '[resizer#95]', given: 'one of several claims', pod: aPod({ claims: ['other', 'data'] }), calls: 1 },
    { id: '[resizer#96]', given: 'a pod without claims', pod: aPod({ claims: [] }), calls: 2 },
    { id: '[resizer#99]', given: 'a pod in another namespace', pod: aPod({ namespace: 'other' }), calls: 2 },
  ])('$id given $given, then $calls calls', async ({ pod, calls }) => {
    const r = await given([pod]);
    await r.clock.advance(second);
    expect(r.calls().length).toBe(calls);
    await r.stop();
  });

  it('[resizer#95] given a generic ephemeral volume, then its claim is in use, P31', async () => {
    const claim = aClaim({ name: 'pod-scratch' });
    const r = await aResizer({ node: [], seed: [aVolume({ claim }), aPod({ claims: [], ephemeral: ['scratch'] })] });
    r.failCalls('FailedPrecondition');
    r.server.seed(claim);
    await r.clock.advance(second);
    expect(r.calls().length).toBe(1);
    await r.stop();
  });
});

describe('the end of pods', () => {
  it.each([
    {
      id: '[resizer#101]',
      given: 'is gone',
      end: (r: Fixture) => r.server.objects.remove(pods, { namespace: 'team', name: 'pod' }),
    },
    {
      id: '[resizer#98]',
      given: 'succeeds',
      end: (r: Fixture) =>
        r.server.objects.change(pods, { namespace: 'team', name: 'pod' }, (pod) => ({
          ...pod,
          status: { phase: 'Succeeded' },
        })),
    },
  ])('$id given the pod $given, then the call is made at once, P8', async ({ end }) => {
    const r = await given([aPod()], long);
    end(r);
    await r.settle();
    expect([r.calls().length, warnings(r).length]).toEqual([2, 1]);
    await r.stop();
  });

  it('[resizer#97] given two pods, then the call is made when both are gone', async () => {
    const r = await given([aPod(), aPod({ name: 'pod2' })], long);
    r.server.objects.remove(pods, { namespace: 'team', name: 'pod' });
    await r.settle();
    expect([r.calls().length, warnings(r).length]).toEqual([1, 1]);
    r.server.objects.remove(pods, { namespace: 'team', name: 'pod2' });
    await r.settle();
    expect(r.calls().length).toBe(2);
    await r.stop();
  });

  it('given claims that never failed, or that are not known, then the end of their pod wakes nothing', async () => {
    const r = await aResizer({ node: [], seed: [aVolume(), aPod({ claims: ['data', 'unknown'] }), aClaim()] });
    const adds = () => r.metrics.value('workqueue_adds_total', { name: 'test.csi.example.com-pvc' });
    const before = adds();
    r.server.objects.remove(pods, { namespace: 'team', name: 'pod' });
    await r.settle();
    expect([before, adds()]).toEqual([1, 1]);
    await r.stop();
  });

  it('given another refusal than that, then the end of a pod does not shorten the backoff', async () => {
    const r = await aResizer({ node: [], seed: [aVolume(), aPod()], ...long });
    r.failCalls('Internal');
    r.server.seed(aClaim());
    await r.settle();
    r.server.objects.remove(pods, { namespace: 'team', name: 'pod' });
    await r.settle();
    expect(r.calls().length).toBe(1);
    await r.stop();
  });
});

it('[resizer#102] given a raised request, then it is recorded and stays held back', async () => {
  const r = await given([aPod()], long);
  r.ask('3Gi');
  await r.settle();
  expect([r.calls().length, r.claim()?.status?.allocatedResources, warnings(r).at(-1)]).toEqual([
    1,
    { storage: '3Gi' },
    inUse,
  ]);
  r.ask('4Gi');
  await r.settle();
  expect([r.calls().length, r.claim()?.status?.allocatedResources]).toEqual([1, { storage: '4Gi' }]);
  await r.stop();
});

it('[resizer#103] given a claim of the same name with another UID, then it is asked for, P6', async () => {
  const r = await given([aPod()], long);
  r.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  const next = aClaim({ uid: 'next' });
  r.changeVolume(() => aVolume({ claim: next }));
  r.server.seed(next);
  await r.settle();
  expect(r.calls().length).toBe(2);
  await r.stop();
});
