// SPDX-License-Identifier: Apache-2.0
/** Instances whose drivers know nothing of each other: the Node of an instance goes while the instance lives, or comes back. */
import {
  type KubeObject,
  type Node,
  nodes as nodeResource,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { createDriverModel, type DriverModel } from '@csi-sidecars/test-driver';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNodeDeployment, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture } from '../testing/provisioner-fixture.ts';
import { selectNode } from '../testing/others.ts';
import { playController } from '../testing/pv-controller.ts';
import { skipIds } from '../testing/skip-ids.ts';
import { instanceAnnotation, provisioningFinalizer } from './names.ts';
import type { ProvisioningProtection } from './settings.ts';

const finalizer = provisioningFinalizer(driverName);
const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const minute = 60_000;
const hour = 60 * minute;

const aNodeObject = (name: string): Node => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

interface Options {
  readonly mode?: ProvisioningProtection;
  readonly seed?: readonly KubeObject[];
  readonly events?: 'written';
  /** The drivers give the same ids to different volumes. Default: `different`. */
  readonly ids?: 'same';
}

async function instance(name: string, { mode = 'ambiguous', seed = [], events, ids }: Options, first?: Fixture) {
  const { clock, server } = first ?? {};
  const model = { nodes: [{ id: name, segments: { node: name }, maxVolumes: 0 }] };
  const driver =
    clock === undefined || first === undefined
      ? undefined
      : createDriverModel({ clock, settings: { ...first.driver.settings, ...model } });
  if (driver !== undefined && ids !== 'same') await skipIds(driver, 1);
  return await aProvisioner({
    topology: 'on',
    controller: ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'],
    model,
    seed,
    ...(clock === undefined || server === undefined || driver === undefined
      ? {}
      : { cluster: { clock, server, driver, faults: [] } }),
    randomSeed: name.charCodeAt(1),
    ...(events === undefined ? {} : { events }),
    settings: { provisioningProtection: mode, node: aNodeDeployment(name) },
  });
}

/** Instances of n1 and n2; the driver of n1 makes the volume of the claim and does not say so. */
async function openOnFirst(options: Options = {}): Promise<readonly [Fixture, Fixture]> {
  const first = await instance('n1', { ...options, seed: [late, aNodeObject('n1'), aNodeObject('n2')] });
  const second = await instance('n2', options, first);
  first.driver.faults.add({ method: 'CreateVolume', at: 'after', action: { kind: 'fail', code: 'DeadlineExceeded' } });
  first.server.seed(aClaim({ node: 'n1' }));
  await first.settle();
  expect(first.claim()?.metadata?.finalizers).toEqual([finalizer]);
  expect(first.claim()?.metadata?.annotations?.[instanceAnnotation(driverName)]).toBe('n1');
  return [first, second];
}

const removeNode = (p: Fixture, name: string): void => p.server.objects.delete(nodeResource, { name });
const counted = (p: Fixture, method: string): number => p.calls().filter((line) => line.startsWith(method)).length;
const idsOf = (driver: DriverModel): readonly string[] => driver.volumes().map(({ id }) => id);
const records = (p: Fixture): readonly (string | undefined)[] =>
  p.server.objects.list(persistentVolumes).map(({ spec }: PersistentVolume) => spec?.csi?.volumeHandle);
const warningsOf = (p: Fixture, text: string): readonly string[] => p.events.filter((line) => line.includes(text));

async function playFor(p: Fixture, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += minute) {
    playController(p);
    await p.clock.advance(minute);
  }
}

it('[provisioner#229] given a claim that another instance has taken, and a watch that does not show it for minutes, then one conflict ends the attempts to take it', async () => {
  const first = await instance('n1', { seed: [aClass()] });
  const second = await instance('n2', {}, first);
  const isOfClaims = (wanted: string): FaultRule['when'] => {
    return ({ verb, resource }) => verb === wanted && resource === 'persistentvolumeclaims';
  };
  const busy = { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests', retryAfter: '86400' } as const;
  second.faults.push(
    { when: isOfClaims('update'), fault: { kind: 'delay', ms: 5_000 }, times: 1 },
    { when: isOfClaims('watch'), fault: busy, times: Infinity },
  );
  first.server.seed(aClaim());
  await first.settle();
  first.server.endWatches('broken');
  await playFor(first, 2 * minute);
  expect([counted(first, 'CreateVolume'), second.calls()]).toEqual([1, ['GetCapacity OK']]);
  const updates = first.server.requests.filter(
    ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
  );
  expect(updates).toHaveLength(2);
});

describe('a live claim that another instance settles', () => {
  it.each([
    ['in time', 0],
    ['late', 30_000],
  ])(
    '[provisioner#P11] given always and a finalizer that arrives after that of another instance, when the watch is %s, then this instance does not call',
    async (_when, ms) => {
      const options = { mode: 'always' } as const;
      const first = await instance('n1', { ...options, seed: [late, aNodeObject('n1'), aNodeObject('n2')] });
      const second = await instance('n2', options, first);
      const claims = (wanted: string): FaultRule['when'] => {
        return ({ verb, resource }) => verb === wanted && resource === 'persistentvolumeclaims';
      };
      second.faults.push({ when: claims('update'), fault: { kind: 'delay', ms: 5_000 } });
      first.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
      first.server.seed(aClaim({ node: 'n2' }));
      await first.settle();
      second.faults.push({ when: claims('watch'), fault: { kind: 'lag', ms } });
      first.server.endWatches('broken');
      await first.clock.advance(2_000);
      selectNode(first, 'n1');
      await first.clock.advance(minute);
      expect([counted(first, 'CreateVolume') > 0, second.calls()]).toEqual([true, []]);
      expect(first.claim()?.metadata?.annotations?.[instanceAnnotation(driverName)]).toBe('n1');
    },
  );

  it('[provisioner#P11] given a call of this instance that was open when that one put its finalizer on, when it has made the volume, then that finalizer stays', async () => {
    const first = await instance('n1', { seed: [late, aNodeObject('n1'), aNodeObject('n2')] });
    const second = await instance('n2', {}, first);
    first.driver.faults.add({
      method: 'CreateVolume',
      at: 'after',
      action: { kind: 'fail', code: 'DeadlineExceeded' },
    });
    second.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
    first.server.seed(aClaim({ node: 'n2' }));
    await first.clock.advance(1_000);
    selectNode(first, 'n1');
    await first.clock.advance(1_000);
    selectNode(first, 'n2');
    await first.clock.advance(18_000);
    expect(records(second)).toEqual(idsOf(second.driver));
    expect(first.claim()?.metadata?.annotations?.[instanceAnnotation(driverName)]).toBe('n1');
  });

  it('[provisioner#P12] given the Node of that instance is away for a second, when this node is selected, then the claim is not released and no second volume is made', async () => {
    const [first, second] = await openOnFirst();
    first.crash();
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await second.clock.advance(1000);
    second.server.seed(aNodeObject('n1'));
    await second.clock.advance(3 * hour);
    expect(second.calls()).toEqual([]);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
    expect(warningsOf(second, 'ProvisioningGivenUp')).toEqual([]);
  });

  it('[provisioner#P12] given the Node of that instance stays away, then the claim is released after five minutes, with one Warning, and this instance makes a volume', async () => {
    const [first, second] = await openOnFirst();
    first.crash();
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await second.clock.advance(4.9 * minute);
    expect(second.calls()).toEqual([]);
    await second.clock.advance(0.2 * minute);
    expect(second.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
    expect(warningsOf(second, 'ProvisioningGivenUp')).toEqual([
      `Warning ProvisioningGivenUp team/data: volume pvc-uid-data of CSI driver ${driverName} may exist: node n1, whose instance worked on the claim, is gone, so the claim was released; delete the volume in the storage system if it is there`,
    ]);
  });

  it('[provisioner#P12] given its Node is away twice, each time for less than five minutes, then the claim is not released', async () => {
    const [first, second] = await openOnFirst();
    first.crash();
    selectNode(second, 'n2');
    for (let round = 0; round < 2; round++) {
      removeNode(second, 'n1');
      await second.clock.advance(4 * minute);
      second.server.seed(aNodeObject('n1'));
      await second.clock.advance(5 * minute);
    }
    expect([second.calls(), second.claim()?.metadata?.finalizers]).toEqual([[], [finalizer]]);
  });

  it('[provisioner#P12] given --provisioning-protection=always and its Node gone for ever, then nothing is released, and a Warning every five minutes names the finalizer and the command', async () => {
    const [first, second] = await openOnFirst({ mode: 'always' });
    first.crash();
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await second.clock.advance(21 * minute);
    expect([second.calls(), second.claim()?.metadata?.finalizers]).toEqual([[], [finalizer]]);
    const warning = `Warning ProvisioningFailed team/data: node n1, whose instance worked on the claim, is gone, and volume pvc-uid-data of CSI driver ${driverName} may exist; --provisioning-protection=always keeps the claim: to give that volume up, use csi-sidecars leftovers, or remove finalizer ${finalizer}`;
    expect(second.events).toEqual([warning, warning, warning, warning]);
  });
});

describe('a deleted claim that another instance settles', () => {
  it('[provisioner#P14] given its Node is there and the instance is not, then a Warning names the finalizer every five minutes, and the claim is released an hour after its deletion', async () => {
    const [first, second] = await openOnFirst();
    first.crash();
    second.deleteClaim();
    await second.clock.advance(50 * minute);
    const waiting = `Warning ProvisioningFailed team/data: waiting for the instance of node n1 to find out whether it created volume pvc-uid-data; to give that volume up, remove finalizer ${finalizer}`;
    expect(second.events).toEqual(Array.from({ length: second.events.length }, () => waiting));
    expect(second.events.length).toBeGreaterThanOrEqual(9);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
    await second.clock.advance(17 * minute);
    expect(second.server.objects.list(persistentVolumeClaims)).toEqual([]);
    expect(second.events.at(-1)).toBe(
      `Warning ProvisioningGivenUp team/data: volume pvc-uid-data of CSI driver ${driverName} may exist: the instance of node n1 did not settle the claim within an hour, so the claim was released; delete the volume in the storage system if it is there`,
    );
  });

  it('[provisioner#P14] given --provisioning-protection=always, its Node there and the instance not, then it is kept, and the Warnings go on', async () => {
    const [first, second] = await openOnFirst({ mode: 'always' });
    first.crash();
    second.deleteClaim();
    await second.clock.advance(5 * hour);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
    expect(warningsOf(second, 'ProvisioningGivenUp')).toEqual([]);
    expect(warningsOf(second, `remove finalizer ${finalizer}`).length).toBeGreaterThanOrEqual(58);
  });

  it('[provisioner#P12] given its Node is away for a second when it is looked for, then the claim is not released', async () => {
    const [first, second] = await openOnFirst();
    first.crash();
    second.deleteClaim();
    await second.clock.advance(59_500);
    removeNode(second, 'n1');
    await second.clock.advance(1000);
    second.server.seed(aNodeObject('n1'));
    await second.clock.advance(30 * minute);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
  });

  it('[provisioner#P14] given several instances that wait for another one, then their Warnings are one Event', async () => {
    const [first, second] = await openOnFirst({ events: 'written' });
    await instance('n3', { events: 'written' }, first);
    first.crash();
    second.deleteClaim();
    await second.clock.advance(30 * minute);
    const events = second.server.objects
      .list({ group: '', version: 'v1', plural: 'events', kind: 'Event', scope: 'namespaced' } as never)
      .filter((event) => (event as { readonly message?: string }).message?.startsWith('waiting for the instance'));
    expect(events).toHaveLength(1);
  });
});

describe('a record that is deleted before its claim is bound, while another node is selected', () => {
  it.each([
    { given: 'no finalizer', fails: false, before: undefined },
    { given: 'the finalizer of the instance of that node', fails: true, before: 'n2' },
  ])(
    '[provisioner#222] given a claim with $given, then the instance of the node of the record reports that, and as soon as it is gone records the same volume again',
    async ({ fails, before }) => {
      const first = await instance('n1', { seed: [late, aNodeObject('n1'), aNodeObject('n2')] });
      const second = await instance('n2', {}, first);
      if (fails) {
        second.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
      }
      first.server.seed(aClaim({ node: 'n1' }));
      await first.settle();
      selectNode(first, 'n2');
      await first.clock.advance(10_000);
      expect(first.claim()?.metadata?.annotations?.[instanceAnnotation(driverName)]).toBe(before);
      const ref = { name: 'pvc-uid-data' };
      first.server.objects.change(persistentVolumes, ref, (volume) => ({
        ...volume,
        metadata: { ...volume.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      }));
      await playFor(first, 20 * minute);
      expect(warningsOf(first, 'PersistentVolume pvc-uid-data of this claim is being deleted')).not.toEqual([]);
      expect(first.claim()?.metadata?.annotations?.[instanceAnnotation(driverName)]).toBe('n1');
      first.server.objects.remove(persistentVolumes, ref);
      await playFor(first, 2 * minute);
      expect([records(first), idsOf(first.driver).length]).toEqual([idsOf(first.driver), 1]);
      expect([first.claim()?.spec?.volumeName, first.claim()?.metadata?.finalizers ?? []]).toEqual([ref.name, []]);
      expect(idsOf(second.driver)).toEqual([]);
    },
  );
});

describe('two instances that both made a volume for one claim', () => {
  it('[provisioner#P15] given the Node of the first is gone while its instance lives, when the second has recorded its volume, then the first deletes its own, takes the finalizer off and calls no more', async () => {
    const [first, second] = await openOnFirst();
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await playFor(second, 20 * minute);
    const [made] = idsOf(first.driver);
    expect(made).toBeDefined();
    first.driver.faults.clear();
    await playFor(second, 20 * minute);
    const calls = [counted(first, 'CreateVolume'), counted(second, 'CreateVolume')];
    await playFor(second, 24 * hour);
    expect(records(second)).toEqual(idsOf(second.driver));
    expect([idsOf(first.driver), idsOf(second.driver).length]).toEqual([[], 1]);
    expect(second.claim()!.metadata?.finalizers ?? []).toEqual([]);
    expect([counted(first, 'CreateVolume'), counted(second, 'CreateVolume')]).toEqual(calls);
    second.deleteClaim();
    await playFor(second, 10 * minute);
    expect([second.claim(), records(second), idsOf(second.driver)]).toEqual([undefined, [], []]);
  });

  it('[provisioner#P15] given the claim is deleted while the first instance still has no answer, then it goes, and nothing is left', async () => {
    const [first, second] = await openOnFirst();
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await playFor(second, 20 * minute);
    second.deleteClaim();
    await playFor(second, 20 * minute);
    expect([second.claim(), records(second), idsOf(second.driver)]).toEqual([undefined, [], []]);
    first.driver.faults.clear();
    await playFor(second, 20 * minute);
    expect([idsOf(first.driver), records(second)]).toEqual([[], []]);
  });

  it('[provisioner#P15] given volumes of the same id, then neither is deleted, and a Warning names the one that may be left', async () => {
    const [first, second] = await openOnFirst({ ids: 'same' });
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await playFor(second, 20 * minute);
    first.driver.faults.clear();
    await playFor(second, 20 * minute);
    const calls = counted(first, 'CreateVolume');
    expect([idsOf(first.driver), idsOf(second.driver), records(second)]).toEqual([
      ['volume-1'],
      ['volume-1'],
      ['volume-1'],
    ]);
    expect(warningsOf(first, 'ProvisioningGivenUp')).toEqual([
      'Warning ProvisioningGivenUp team/data: volume volume-1 may exist twice: PersistentVolume pvc-uid-data records a volume of this id on another node, and this node has one as well; delete the one of this node in the storage system if it is another one',
    ]);
    await playFor(second, 24 * hour);
    expect([counted(first, 'CreateVolume'), counted(first, 'DeleteVolume')]).toEqual([calls, 0]);
    expect(second.claim()!.metadata?.finalizers ?? []).toEqual([]);
  });

  it('[provisioner#P15] given the PersistentVolume of the other node has the same id and appears during the call, then it does not count as the record of this volume', async () => {
    const first = await instance('n1', { seed: [late, aNodeObject('n1'), aNodeObject('n2')] });
    const second = await instance('n2', { ids: 'same' }, first);
    first.server.seed(aClaim({ node: 'n2' }));
    await second.settle();
    expect(records(second)).toEqual(['volume-1']);
    selectNode(second, 'n1');
    await playFor(second, 10 * minute);
    expect(warningsOf(first, 'volume volume-1 may exist twice')).toHaveLength(1);
    expect([counted(first, 'CreateVolume'), counted(first, 'DeleteVolume')]).toEqual([1, 0]);
    expect([records(second), second.claim()?.metadata?.finalizers ?? []]).toEqual([['volume-1'], []]);
  });

  /** The instance of n1 is restarted with its finalizer on a claim that is bound to the volume of n2. */
  async function restartedOnBoundClaim(deletions: 'fail' | 'succeed'): Promise<readonly [Fixture, Fixture]> {
    const [first, second] = await openOnFirst();
    removeNode(second, 'n1');
    selectNode(second, 'n2');
    await playFor(second, 20 * minute);
    first.crash();
    second.changeClaim((claim: PersistentVolumeClaim) => ({
      ...claim,
      metadata: {
        ...claim.metadata,
        annotations: { ...claim.metadata?.annotations, [instanceAnnotation(driverName)]: 'n1' },
        finalizers: [finalizer],
      },
    }));
    first.driver.faults.clear();
    if (deletions === 'fail') {
      first.driver.faults.add({ method: 'DeleteVolume', action: { kind: 'fail', code: 'DeadlineExceeded' } });
    }
    const { clock, server, driver } = first;
    const cluster = { clock, server, driver, faults: [] };
    return [await aProvisioner({ cluster, seed: [], settings: { node: aNodeDeployment('n1') } }), second];
  }

  it('[provisioner#P15] given the first instance is restarted with its finalizer on a claim that is bound to the volume of the second, then its own volume is deleted before the finalizer is taken off', async () => {
    const [first, second] = await restartedOnBoundClaim('succeed');
    await playFor(second, 5 * minute);
    expect([idsOf(first.driver), records(second)]).toEqual([[], idsOf(second.driver)]);
    expect(second.claim()!.metadata?.finalizers ?? []).toEqual([]);
  });

  it('[provisioner#P15] given its own volume cannot be deleted, then the finalizer is taken off the bound claim within minutes, with a Warning', async () => {
    const [first, second] = await restartedOnBoundClaim('fail');
    await playFor(second, 12 * minute);
    expect(second.claim()!.metadata?.finalizers ?? []).toEqual([]);
    expect(warningsOf(first, 'ProvisioningGivenUp')).toEqual([
      `Warning ProvisioningGivenUp team/data: volume pvc-uid-data may exist: CSI driver ${driverName} gave no conclusive answer after a volume of another node was recorded, so the claim was released; delete the volume in the storage system if it is there`,
    ]);
    first.driver.faults.clear();
    await playFor(second, 10 * minute);
    expect([idsOf(first.driver), records(second)]).toEqual([[], idsOf(second.driver)]);
  });
});
