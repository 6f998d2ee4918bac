// SPDX-License-Identifier: Apache-2.0
/**
 * The API server dies at the answer to each write of each flow, once before and once after its commit, and is away for a while. Soon
 * after its return somebody else goes on: kube-controller-manager, another replica, or a user who deletes the claim or its PersistentVolume. In the
 * end nothing is stuck, there is one volume at most, and once the claim is deleted nothing is left.
 */
import {
  csiStorageCapacities,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '@csi-sidecars/runtime';
import { type Flow, livesOf, there, timesLost, writesWithoutOutage } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, aNode, aNodeDeployment, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture } from '../testing/provisioner-fixture.ts';
import {
  aCapacity,
  aLateClass,
  aPublisher,
  capacities,
  namespace,
  pollMs,
  published,
  report,
} from '../testing/capacity-fixture.ts';
import {
  aVolumeOf,
  deleteClaim,
  deleteElsewhere,
  deleteVolume,
  name,
  provisionElsewhere,
  recordOf,
  removeVolume,
  schedule,
} from '../testing/others.ts';
import { playController } from '../testing/pv-controller.ts';
import { copying, finalizersOf, fromClaim, prepareSources } from '../testing/sources.ts';
import { provisioningFinalizer, volumeFinalizer } from './names.ts';

const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const claimIs = (claim: readonly [phase: string, isProtected: boolean]): unknown => ({
  claims: [claim],
  records: ['volume-1'],
  volumes: ['volume-1'],
});
const gone = { claims: [], records: [], volumes: [] };
const bound = [claimIs(['Bound', false]), gone];

const shown = (p: Fixture): unknown => ({
  claims: p.server.objects
    .list(persistentVolumeClaims)
    .map(({ metadata, status }) => [
      status?.phase,
      metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true,
    ]),
  records: p.server.objects.list(persistentVolumes).map(({ spec }) => spec?.csi?.volumeHandle),
  volumes: p.driver.volumes().map(({ id }) => id),
});

async function quiet(p: Fixture): Promise<unknown> {
  for (let round = 0; round < 3; round++) {
    await p.clock.advance(80_000);
    playController(p);
  }
  await p.clock.advance(80_000);
  return shown(p);
}

const origin = { namespace: 'team', name: 'origin' };
const protection = 'kubernetes.io/pvc-protection';
/** Its own protection by kube-controller-manager is all that may be left of a source that is deleted. */
const shownClone = (p: Fixture): unknown => ({
  ...(shown(p) as object),
  origin: finalizersOf(p.server.objects.get(persistentVolumeClaims, origin)),
});

const cloneIs = (volumes: number): object => ({
  claims: Array.from({ length: volumes }, () => ['Bound', false]),
  records: ['volume-1', 'volume-3'].slice(0, volumes),
  volumes: ['volume-1', 'volume-3'].slice(0, volumes),
  origin: [protection],
});
type VolumeChange = (volume: PersistentVolume) => PersistentVolume;
const finalizersAre =
  (finalizers: readonly string[]): VolumeChange =>
  ({ metadata, ...volume }) => ({ ...volume, metadata: { ...metadata, finalizers } });
const policyIs =
  (persistentVolumeReclaimPolicy: string): VolumeChange =>
  ({ spec, ...volume }) => ({ ...volume, spec: { ...spec, persistentVolumeReclaimPolicy } });
function changeVolume(p: Fixture, change: VolumeChange): void {
  p.server.objects.change(persistentVolumes, { name }, change);
}
const kept = { ...gone, volumes: ['volume-1'], records: ['volume-1'] };
async function protectedOne(p: Fixture): Promise<unknown> {
  await p.clock.advance(200_000);
  return there(p.volume()).metadata?.finalizers ?? [];
}
async function released(p: Fixture): Promise<unknown> {
  changeVolume(p, (volume) => ({ ...volume, status: { phase: 'Released' } }));
  await p.clock.advance(200_000);
  return shown(p);
}

/** Before the claim is deleted, and after it. */
const claiming: Omit<Flow<Fixture>, 'flow' | 'writes'> = {
  world: () => aProvisioner({ seed: [aClass()] }),
  begin: (p) => p.server.seed(aClaim()),
  live: quiet,
  after: async (p) => {
    await deleteClaim(p);
    return await quiet(p);
  },
  ends: [bound],
  others: {
    'kube-controller-manager': { acts: playController },
    'another replica': { acts: provisionElsewhere },
    'a user who deletes the claim': { acts: deleteClaim, ends: [[gone, gone]] },
    'a user who removes the PersistentVolume': { acts: removeVolume },
    'a user who deletes the PersistentVolume': {
      acts: deleteVolume,
      // It stays until its claim is deleted: our finalizer keeps it. Until then the claim is Pending. It is protected once it was looked at.
      ends: [bound, [claimIs(['Pending', true]), gone], [claimIs(['Pending', false]), gone]],
    },
  },
};

const flows: readonly Flow<Fixture>[] = [
  { ...claiming, flow: 'a provisioning', writes: 'C31 create' },
  {
    ...claiming,
    flow: 'a provisioning with protection always',
    world: () => aProvisioner({ seed: [aClass()], settings: { provisioningProtection: 'always' } }),
    writes: 'C36 update, C31 create, C32 update',
  },
  {
    ...claiming,
    flow: 'a provisioning whose first answer is late',
    begin: (p) => {
      p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
      p.server.seed(aClaim());
    },
    writes: 'C27 update, C31 create, C32 update',
  },
  {
    ...claiming,
    flow: 'a provisioning on a node that is full',
    world: () => aProvisioner({ topology: 'on', seed: [late, ...aNode('n1', 'z1'), ...aNode('n2', 'z2')] }),
    begin: (p) => {
      const action = { kind: 'fail', code: 'ResourceExhausted' } as const;
      p.driver.faults.add({ method: 'CreateVolume', times: 1, action });
      p.server.seed(aClaim({ node: 'n1' }));
    },
    live: async (p) => {
      await p.clock.advance(80_000);
      await schedule(p);
      return await quiet(p);
    },
    others: {
      scheduler: { acts: schedule },
      'a user who deletes the claim': { acts: deleteClaim, ends: [[gone, gone]] },
    },
    writes: 'C25 update, C31 create',
  },
  {
    ...claiming,
    flow: 'a provisioning on each node',
    world: () =>
      aProvisioner({
        topology: 'on',
        controller: ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'],
        model: { nodes: [{ id: 'n1', segments: { node: 'n1' }, maxVolumes: 0 }] },
        settings: { node: aNodeDeployment('n1') },
      }),
    others: { 'a user who deletes the claim': { acts: deleteClaim, ends: [[gone, gone]] } },
    writes: 'C56 update, C31 create',
  },
  {
    ...claiming,
    flow: 'a clone',
    world: async () => {
      const p = await aProvisioner({ controller: copying, seed: [aClass()] });
      await prepareSources(p);
      return p;
    },
    begin: (p) => p.server.seed(aClaim({ spec: fromClaim })),
    live: async (p) => {
      await quiet(p);
      p.deleteClaim('origin');
      await quiet(p);
      return shownClone(p);
    },
    after: async (p) => {
      await deleteClaim(p);
      await quiet(p);
      return shownClone(p);
    },
    ends: [[cloneIs(2), cloneIs(1)]],
    others: {
      'kube-controller-manager': { acts: playController },
      'a user who deletes the claim': { acts: deleteClaim, ends: [[cloneIs(1), cloneIs(1)]] },
      'a user who deletes the source': {
        acts: (p) => p.deleteClaim('origin'),
        // The source may have gone before it was protected.
        ends: [
          [cloneIs(2), cloneIs(1)],
          [
            {
              ...cloneIs(1),
              claims: [
                ['Pending', false],
                ['Bound', false],
              ],
            },
            cloneIs(1),
          ],
        ],
      },
    },
    writes: 'C45 update, C31 create, N9 update',
  },
  {
    flow: 'a PersistentVolume that lacks our finalizer',
    world: () => aProvisioner(),
    begin: async (p) => p.server.seed({ ...recordOf(await aVolumeOf(p), 'Bound'), metadata: { name } }),
    live: protectedOne,
    after: released,
    ends: [[[volumeFinalizer], gone]],
    others: {
      'another replica': { acts: (p) => changeVolume(p, finalizersAre([volumeFinalizer])) },
      'a user who wants to keep the volume': { acts: (p) => changeVolume(p, policyIs('Retain')), ends: [[[], kept]] },
    },
    writes: 'V2 patch',
  },
  {
    flow: 'a PersistentVolume whose volume is to be kept',
    world: () => aProvisioner(),
    begin: async (p) => p.server.seed(policyIs('Retain')(recordOf(await aVolumeOf(p), 'Bound'))),
    live: protectedOne,
    after: released,
    ends: [[[], kept]],
    others: {
      'another replica': { acts: (p) => changeVolume(p, finalizersAre([])) },
      'a user who wants to delete the volume': {
        acts: (p) => changeVolume(p, policyIs('Delete')),
        ends: [[[volumeFinalizer], gone]],
      },
    },
    writes: 'V3 patch',
  },
  {
    flow: 'the capacity of a node',
    world: () => aPublisher({ seed: [aLateClass()] }),
    begin: (p) => aNode('n1', 'a').forEach((object) => p.server.seed(object)),
    live: async (p) => {
      await p.clock.advance(3 * pollMs);
      const first = published(p);
      report(p, 1024n ** 3n, 1024n ** 2n);
      await p.clock.advance(3 * pollMs);
      const second = published(p);
      p.server.objects.remove(storageClasses, { name: 'fast' });
      await p.clock.advance(3 * pollMs);
      return [first, second, published(p)];
    },
    ends: [[[['fast zone=a 1Ti max 1Ti'], ['fast zone=a 1Gi max 1Mi'], []]]],
    others: {
      'another replica': {
        acts: (p) => p.server.seed(aCapacity({ name: 'another', createdAt: '2027-01-01T00:00:00Z' })),
      },
      'a user who removes it': {
        acts: (p) => {
          for (const { metadata } of capacities(p))
            p.server.objects.remove(csiStorageCapacities, { namespace, name: metadata?.name ?? '' });
        },
      },
    },
    writes: 'K7 create, K9 update, K2 delete',
  },
  {
    flow: 'a deletion',
    world: () => aProvisioner(),
    begin: async (p) => p.server.seed(recordOf(await aVolumeOf(p), 'Released')),
    live: quiet,
    ends: [[gone]],
    others: { 'another replica': { acts: deleteElsewhere } },
    writes: 'V12 delete, V13 patch',
  },
];

it.each(timesLost(flows))(
  '[provisioner#223] given $flow, and an API server that dies at each write ($lost) and comes back, then nothing ends stuck, there is no second volume, and nothing is left',
  async (flow) => {
    expect(await livesOf(flow)).toEqual({ writes: flow.writes, wrong: [], count: 0 });
  },
  60_000,
);

it('[provisioner#223] given the table of requests, then each write of it meets an outage', () => {
  // A person starts the removal of leftovers, and sees whether it was successful.
  expect(writesWithoutOutage('provisioner', flows)).toEqual(['PATCH and DELETE of leftovers']);
});
