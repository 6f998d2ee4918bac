// SPDX-License-Identifier: Apache-2.0
/** Kubelet or another process is faster than the write that follows a call. */
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, aCondition, aVolume } from '../../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions, gib } from '../../testing/resizer-fixture.ts';
import type { Claim } from '../claim.ts';
import { annotations } from '../names.ts';

const claimSaved = 'patch persistentvolumeclaims/status team/data 200';
const claimRefused = 'patch persistentvolumeclaims/status team/data 409';
const volumeSaved = 'patch persistentvolumes pv1 200';
const volumeRefused = 'patch persistentvolumes pv1 409';
const resizing = 'Normal Resizing team/data: External resizer is resizing volume pv1';

/** An expansion to 2Gi. Just before its first write to this resource after the call, somebody is faster. */
async function overtaken(
  resource: 'persistentvolumes' | 'persistentvolumeclaims',
  meanwhile: (r: Fixture) => void,
  { prepare = () => undefined, ...options }: FixtureOptions & { readonly prepare?: (r: Fixture) => void } = {},
): Promise<Fixture> {
  const r = await aResizer({ ...options, seed: [aVolume()] });
  prepare(r);
  let isDue = true;
  const when: FaultRule['when'] = (request) => {
    if (!isDue || request.verb !== 'patch' || request.resource !== resource || r.calls().length === 0) return false;
    isDue = false;
    meanwhile(r);
    return false;
  };
  r.faults.push({ when, fault: { kind: 'delay', ms: 0 } });
  r.server.seed(aClaim());
  await r.clock.advance(1_000);
  return r;
}

type Status = NonNullable<Claim['status']>;

const change =
  (status: (status: Status) => Status): ((r: Fixture) => void) =>
  (r) =>
    r.changeClaim((claim) => ({ ...claim, status: status(claim.status ?? {}) }));
/** Before 1.32: expands a volume that is larger than its claim, and knows no resize statuses. */
const oldKubelet = change((status) => ({ ...status, capacity: { storage: '2Gi' }, conditions: [] }));
const finished = change(({ allocatedResourceStatuses: _done, ...status }) => ({
  ...status,
  capacity: { storage: '2Gi' },
  conditions: [],
}));

it('[resizer#215, E26] given a kubelet before 1.32 that is faster than write C, then the claim is settled without it, and more can be requested', async () => {
  const r = await overtaken('persistentvolumeclaims', oldKubelet);
  const settled = { phase: 'Bound', capacity: { storage: '2Gi' }, allocatedResources: { storage: '2Gi' } };
  expect([r.writes().slice(0, 4), r.claim()?.status, r.events]).toEqual([
    [claimSaved, volumeSaved, claimRefused, claimSaved],
    settled,
    [resizing],
  ]);
  r.ask('3Gi');
  await r.settle();
  expect([r.sizes().at(-1), r.claim()?.status?.allocatedResources]).toEqual([`${3n * gib}`, { storage: '3Gi' }]);
  await r.stop();
});

it.each([
  { path: 'recovery', features: {}, by: finished, gone: ['FileSystemResizePending', 'Resizing'] },
  { path: 'legacy', features: { recovery: false }, by: oldKubelet, gone: ['FileSystemResizePending', 'Resizing'] },
])(
  '[resizer#215, E26] given the path $path and a node that has finished before write C, then nothing is written to the claim',
  async ({ features, by, gone }) => {
    const r = await overtaken('persistentvolumeclaims', by, { settings: { features } });
    const types = r.claim()?.status?.conditions?.map(({ type }) => type) ?? [];
    expect([r.writes().slice(0, 3), gone.filter((type) => types.includes(type))]).toEqual([
      [claimSaved, volumeSaved, claimRefused],
      [],
    ]);
    expect([r.calls().length, r.claim()?.status?.allocatedResourceStatuses, r.events]).toEqual([
      1,
      undefined,
      [resizing],
    ]);
    await r.stop();
  },
);

it('[resizer#215, E26] given another process that has begun a larger size, then the result of this one is not written, and the run looks again', async () => {
  const larger = change((status) => ({ ...status, allocatedResources: { storage: '4Gi' } }));
  const r = await overtaken('persistentvolumeclaims', larger, { node: [] });
  expect([r.sizes(), r.claim()?.status?.capacity]).toEqual([[`${2n * gib}`, `${4n * gib}`], { storage: '4Gi' }]);
  await r.stop();
});

it('[resizer#215] given a capacity that is larger by now, then write D leaves it', async () => {
  const larger = change((status) => ({ ...status, capacity: { storage: '8Gi' } }));
  const r = await overtaken('persistentvolumeclaims', larger, { node: [] });
  expect([r.claim()?.status?.capacity, r.claim()?.status?.allocatedResourceStatuses]).toEqual([
    { storage: '8Gi' },
    undefined,
  ]);
  await r.stop();
});

it.each(['OutOfRange', 'Internal'] as const)(
  '[resizer#215] given a refusal by %s and an attempt that another process has ended, then it is not written to the claim',
  async (code) => {
    const r = await overtaken('persistentvolumeclaims', finished, { prepare: (it) => it.failCalls(code) });
    await r.clock.advance(60_000);
    expect([r.writes(), r.claim()?.status?.conditions]).toEqual([[claimSaved, claimRefused], []]);
    await r.stop();
  },
);

it('[resizer#217] given another process that has written a larger size to the PersistentVolume, then that stays, P30', async () => {
  const r = await overtaken('persistentvolumes', (it) =>
    it.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, capacity: { storage: '8Gi' } } })),
  );
  expect([r.writes().slice(0, 2), r.volume()?.spec?.capacity]).toEqual([
    [claimSaved, volumeRefused],
    { storage: '8Gi' },
  ]);
  await r.stop();
});

it('[resizer#217] given a PersistentVolume that others changed in another way, then it gets its size', async () => {
  const r = await overtaken('persistentvolumes', (it) =>
    it.changeVolume((volume) => ({ ...volume, metadata: { ...volume.metadata, labels: { a: '1' } } })),
  );
  expect([r.writes(), r.volume()?.spec?.capacity, r.calls().length]).toEqual([
    [claimSaved, volumeRefused, volumeSaved, claimSaved],
    { storage: '2Gi' },
    1,
  ]);
  await r.stop();
});

it('[resizer#216] given a finished claim over which NodeResizePending was written, then a larger request grows it', async () => {
  const conditions = [aCondition('FileSystemResizePending')];
  const stuck = aClaim({ spec: '2Gi', cap: '2Gi', alloc: '2Gi', rstatus: 'NodeResizePending', conditions });
  const r = await aResizer({ node: [], seed: [stuck, aVolume({ cap: '2Gi' })] });
  expect(r.writes()).toEqual([]);
  r.ask('4Gi');
  await r.settle();
  const status = { phase: 'Bound', capacity: { storage: '4Gi' }, allocatedResources: { storage: '4Gi' } };
  expect([r.sizes(), r.claim()?.status]).toEqual([[`${4n * gib}`], status]);
  await r.stop();
});

it('[resizer#E4, 217] given a later expansion that has recorded its old size meanwhile, then that record stays', async () => {
  const record = annotations.preResizeCapacity;
  const r = await aResizer({ seed: [aVolume({ cap: '2Gi', annotations: { [record]: '1Gi' } })] });
  let isDue = true;
  const when: FaultRule['when'] = ({ verb, resource }) => {
    if (!isDue || verb !== 'patch' || resource !== 'persistentvolumes') return false;
    isDue = false;
    r.changeVolume((volume) => ({
      ...volume,
      metadata: { ...volume.metadata, annotations: { [record]: '2Gi' } },
      spec: { ...volume.spec, capacity: { storage: '4Gi' } },
    }));
    return false;
  };
  r.faults.push({ when, fault: { kind: 'delay', ms: 0 } });
  r.server.seed(aClaim({ spec: '2Gi', cap: '2Gi' }));
  await r.clock.advance(1_000);
  expect([r.writes(), r.volume()?.metadata?.annotations]).toEqual([[volumeRefused], { [record]: '2Gi' }]);
  await r.stop();
});
