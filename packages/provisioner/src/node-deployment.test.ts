// SPDX-License-Identifier: Apache-2.0
/** Instances of several nodes beside each other: who takes a claim, who deletes a volume, who settles what is open. */
import {
  type KubeObject,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '@csi-sidecars/runtime';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNodeDeployment, aVolume, type ClaimFacts, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../testing/provisioner-fixture.ts';
import { selectNode } from '../testing/others.ts';
import { playController, untilQuiet } from '../testing/pv-controller.ts';
import { copying, fromClaim, fromSnapshot, prepareSources, snapshotOf } from '../testing/sources.ts';
import { annotations, instanceAnnotation, provisioningFinalizer, volumeFinalizer } from './names.ts';
import type { NodeDeployment } from './settings.ts';

const finalizer = provisioningFinalizer(driverName);
const names = ['n1', 'n2', 'n3'] as const;
const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const nodes = names.map((id) => ({ id, segments: { node: id }, maxVolumes: 0 }));
const controller = ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'] as const;

interface Options extends Omit<FixtureOptions, 'settings'> {
  readonly node?: Partial<NodeDeployment>;
  readonly settings?: FixtureOptions['settings'];
}

/** The instance of n1, or of the named node. Further instances get the cluster of the first. */
async function instance(name: string = 'n1', { node = {}, settings, ...options }: Options = {}): Promise<Fixture> {
  return await aProvisioner({
    topology: 'on',
    controller,
    model: { nodes },
    seed: options.cluster === undefined ? [aClass()] : [],
    ...options,
    randomSeed: name.charCodeAt(1),
    settings: { ...settings, node: aNodeDeployment(name, node) },
  });
}

async function threeInstances(options: Options = {}): Promise<readonly [Fixture, Fixture, Fixture]> {
  const first = await instance('n1', options);
  const { clock, server, driver } = first;
  const join = (name: string) =>
    instance(name, { ...options, seed: [], cluster: { clock, server, driver, faults: [] } });
  return [first, await join('n2'), await join('n3')];
}

const chosen = (claim: PersistentVolumeClaim | undefined): string | undefined =>
  claim?.metadata?.annotations?.[annotations.selectedNode];
const counted = (p: Fixture, method: string): number => p.calls().filter((line) => line.startsWith(method)).length;
/** Longer than the first wait. */
const afterWaitMs = 1100;

const nodeOf = (volume: PersistentVolume | undefined): unknown =>
  volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values?.[0];

describe('a claim whose node is selected', () => {
  it('[provisioner-topology-capacity#N1,N4] given this node, then it is provisioned with the topology of this node, whatever the binding mode', async () => {
    for (const storageClass of [late, aClass(), aClass({ volumeBindingMode: undefined as never })]) {
      const p = await instance('n1', { seed: [storageClass, aClaim({ node: 'n1' })] });
      expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
      expect(p.requests('CreateVolume')[0]).toMatchObject({
        accessibility_requirements: { requisite: [{ segments: { node: 'n1' } }] },
      });
      expect(nodeOf(p.volume())).toBe('n1');
    }
  });

  it('[provisioner#28] [provisioner-topology-capacity#N3] given another node, then nothing, also at the resync', async () => {
    const p = await instance('n1', { seed: [late, aClaim({ node: 'n2' })] });
    await p.clock.advance(16 * 60_000);
    expect([p.calls(), p.writes(), p.events]).toEqual([[], [], []]);
    const failures = 'controller_persistentvolumeclaim_provision_failed_total';
    expect(p.metrics.value(failures, { class: 'fast', source: '' })).toBeUndefined();
  });

  it('[provisioner-topology-capacity#N22] given a node without an instance, then the claim stays as it is', async () => {
    const [p] = await threeInstances({ seed: [late, aClaim({ node: 'n9' })] });
    await p.clock.advance(16 * 60_000);
    expect([p.calls(), chosen(p.claim())]).toEqual([[], 'n9']);
  });

  it('[provisioner-topology-capacity#N23] given a driver that names no topology of its node, then the event says so', async () => {
    const p = await instance('n1', { node: { segments: undefined }, seed: [late, aClaim({ node: 'n1' })] });
    expect(p.calls()).toEqual([]);
    expect(p.events.at(-1)).toContain('no topology key found for node n1');
  });

  it('given the node is full, then the annotation is removed, and other instances do not take a claim that binds late', async () => {
    const [p] = await threeInstances({ seed: [late] });
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'ResourceExhausted' } });
    p.server.seed(aClaim({ node: 'n1' }));
    await p.clock.advance(10_000);
    expect([chosen(p.claim()), counted(p, 'CreateVolume')]).toEqual([undefined, 1]);
  });
});

describe('a claim that binds at once', () => {
  it('[provisioner-topology-capacity#N5,N25] given three instances and many claims, then each is made once, on the node that took it', async () => {
    const [p] = await threeInstances();
    for (let index = 0; index < 30; index++) p.server.seed(aClaim({ name: `data-${index}` }));
    await p.clock.advance(20_000);
    const claims = p.server.objects.list(persistentVolumeClaims);
    const volumes = p.server.objects.list(persistentVolumes);
    expect([counted(p, 'CreateVolume'), volumes.length]).toEqual([30, 30]);
    for (const claim of claims) {
      const volume = volumes.find(({ spec }) => spec?.claimRef?.uid === claim.metadata?.uid);
      expect([chosen(claim), names.includes(chosen(claim) as 'n1')]).toEqual([nodeOf(volume), true]);
    }
    expect(new Set(claims.map(chosen)).size).toBe(3);
  });

  it('given one worker, then claims that wait hold none', async () => {
    const p = await instance('n1', {
      settings: { workerThreads: 1 },
      node: { baseDelayMs: 20_000, maxDelayMs: 60_000 },
    });
    for (let index = 0; index < 30; index++) p.server.seed(aClaim({ name: `data-${index}` }));
    await p.settle();
    p.server.seed(aClaim({ name: 'urgent', node: 'n1' }));
    await p.settle();
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-urgent OK']);
    await p.clock.advance(21_000);
    expect(counted(p, 'CreateVolume')).toBe(31);
  });

  it.each([
    { available: '5368709119', taken: undefined },
    { available: '5368709120', taken: 'n1' },
  ])(
    '[provisioner-topology-capacity#N6] given $available bytes for 5 GiB, then it is taken by $taken',
    async ({ available, taken }) => {
      const p = await instance();
      p.driver.faults.add({
        method: 'GetCapacity',
        action: { kind: 'answer', set: { available_capacity: available, maximum_volume_size: null } },
      });
      p.server.seed(aClaim());
      await p.clock.advance(afterWaitMs);
      expect(chosen(p.claim())).toBe(taken);
    },
  );

  it('given space in pieces that are too small, then it is not taken', async () => {
    const p = await instance();
    const set = { available_capacity: '99999999999', maximum_volume_size: { value: '5368709119' } };
    p.driver.faults.add({ method: 'GetCapacity', action: { kind: 'answer', set } });
    p.server.seed(aClaim());
    await p.clock.advance(afterWaitMs);
    expect(chosen(p.claim())).toBeUndefined();
  });

  it.each([
    { topology: 'on', allowed: 'n1', taken: 'n1', asked: 1 },
    { topology: 'on', allowed: 'n2', taken: undefined, asked: 0 },
    { topology: 'off', allowed: 'n2', taken: 'n1', asked: 1 },
  ] as const)(
    '[provisioner-topology-capacity#N7,N8,N9] given topology $topology and a class for $allowed, then it is taken by $taken',
    async ({ topology, allowed, taken, asked }) => {
      const allowedTopologies = [{ matchLabelExpressions: [{ key: 'node', values: [allowed] }] }];
      const p = await instance('n1', { topology, seed: [aClass({ allowedTopologies }), aClaim()] });
      await p.clock.advance(afterWaitMs);
      expect([chosen(p.claim()), counted(p, 'GetCapacity')]).toEqual([taken, asked]);
    },
  );

  it('[provisioner-topology-capacity#N13,N14] given it is deleted or replaced during the wait, then nothing is written, and the new claim waits by itself', async () => {
    const p = await instance();
    p.server.seed(aClaim({ uid: 'uid-first' }));
    await p.clock.advance(10);
    p.deleteClaim();
    await p.clock.advance(10_000);
    expect([p.calls(), p.writes()]).toEqual([[], []]);
    p.server.seed(aClaim({ uid: 'uid-second' }));
    await p.clock.advance(10);
    expect(chosen(p.claim())).toBeUndefined();
    await p.clock.advance(afterWaitMs);
    expect([chosen(p.claim()), p.calls().at(-1)]).toEqual(['n1', 'CreateVolume pvc-uid-second OK']);
  });

  it('[provisioner-topology-capacity#N15] given another instance takes it during the wait, then neither driver nor API server is asked', async () => {
    const p = await instance('n1', { node: { baseDelayMs: 20_000, maxDelayMs: 60_000 } });
    p.server.seed(aClaim());
    await p.clock.advance(10);
    selectNode(p, 'n2');
    await p.clock.advance(60_000);
    expect([p.calls(), p.writes(), p.events]).toEqual([[], [], []]);
  });

  it('[provisioner-topology-capacity#N16] given a change that the cache does not have yet, then the write conflicts, and the next, longer wait wins', async () => {
    const p = await instance();
    p.faults.push({
      when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
      times: 1,
      fault: { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
    });
    p.server.seed(aClaim());
    await p.clock.advance(afterWaitMs);
    expect(chosen(p.claim())).toBeUndefined();
    await p.clock.advance(2000);
    expect([chosen(p.claim()), p.events.filter((line) => line.startsWith('Warning'))]).toEqual(['n1', []]);
  });

  it('given delays that are over at once, when writes conflict, then the next attempts come soon', async () => {
    const p = await instance('n1', { node: { baseDelayMs: 0, maxDelayMs: 0 } });
    p.faults.push({
      when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
      times: 3,
      fault: { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
    });
    p.server.seed(aClaim());
    await p.settle();
    expect([chosen(p.claim()), counted(p, 'GetCapacity')]).toEqual([undefined, 1]);
    await p.clock.advance(200);
    expect([chosen(p.claim()), counted(p, 'GetCapacity')]).toEqual(['n1', 4]);
  });

  it('[provisioner-topology-capacity#N17] given GetCapacity fails, then the claim is taken, so that an event can say what is wrong', async () => {
    const p = await instance();
    p.driver.faults.add({ method: 'GetCapacity', action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim());
    await p.clock.advance(afterWaitMs);
    expect([chosen(p.claim()), p.volume()?.metadata?.name]).toEqual(['n1', 'pvc-uid-data']);
  });

  it('[provisioner-topology-capacity#N18] given its class goes during the wait, then it is taken once the class is there again', async () => {
    const p = await instance();
    p.server.seed(aClaim());
    await p.clock.advance(1);
    p.server.objects.delete(storageClasses, { name: 'fast' });
    await p.clock.advance(5_000);
    expect([chosen(p.claim()), p.calls()]).toEqual([undefined, []]);
    p.server.seed(aClass({ metadata: { name: 'fast', uid: 'class-2' } }));
    await p.clock.advance(10_000);
    expect(chosen(p.claim())).toBe('n1');
  });

  it('[provisioner-topology-capacity#N19] given the owner is full after all, then all compete again, and another instance makes the volume', async () => {
    const [p] = await threeInstances();
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'ResourceExhausted' } });
    p.server.seed(aClaim());
    await p.clock.advance(20_000);
    expect(counted(p, 'CreateVolume')).toBe(2);
    expect(nodeOf(p.volume())).toBe(chosen(p.claim()));
  });

  it('[provisioner-topology-capacity#N20] given immediate binding is off, then no instance takes it; once a node is selected from outside, that instance provisions', async () => {
    const [p] = await threeInstances({ node: { bindsImmediately: false } });
    p.server.seed(aClaim());
    await p.clock.advance(20 * 60_000);
    expect([p.calls(), p.writes()]).toEqual([[], []]);
    selectNode(p, 'n2');
    await p.settle();
    expect([counted(p, 'CreateVolume'), nodeOf(p.volume())]).toEqual([1, 'n2']);
  });

  it('[provisioner-topology-capacity#N21] given too little space everywhere, then there is no event; the resync tries again', async () => {
    const [p] = await threeInstances();
    const set = { available_capacity: '1', maximum_volume_size: null };
    p.driver.faults.add({ method: 'GetCapacity', times: 3, action: { kind: 'answer', set } });
    p.server.seed(aClaim());
    await p.clock.advance(60_000);
    expect([chosen(p.claim()), counted(p, 'GetCapacity'), p.events]).toEqual([undefined, 3, []]);
    await p.clock.advance(16 * 60_000);
    expect(chosen(p.claim())).toBeDefined();
  });

  it('given too little space once, when the claim changes, then the driver is asked after another, longer wait; a claim that went waits the first again', async () => {
    const p = await instance();
    const set = { available_capacity: '1', maximum_volume_size: null };
    p.driver.faults.add({ method: 'GetCapacity', times: 3, action: { kind: 'answer', set } });
    p.server.seed(aClaim());
    await p.clock.advance(afterWaitMs);
    expect(counted(p, 'GetCapacity')).toBe(1);
    const note = (text: string): void =>
      p.changeClaim((claim) => ({
        ...claim,
        metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, note: text } },
      }));
    note('first');
    await p.clock.advance(900);
    expect(counted(p, 'GetCapacity')).toBe(1);
    await p.clock.advance(1200);
    note('second');
    await p.clock.advance(4100);
    expect(counted(p, 'GetCapacity')).toBe(3);
    note('third');
    p.deleteClaim();
    await p.settle();
    p.server.seed(aClaim());
    await p.clock.advance(afterWaitMs);
    expect([counted(p, 'GetCapacity'), chosen(p.claim())]).toEqual([4, 'n1']);
  });

  it('[provisioner-topology-capacity#N24] given a class that only the annotation names, then it is taken', async () => {
    const p = await instance();
    const named = { [annotations.storageProvisioner]: driverName, [annotations.betaStorageClass]: 'fast' };
    p.server.seed(aClaim({ annotations: named, spec: { storageClassName: undefined as never } }));
    await p.clock.advance(afterWaitMs);
    expect(chosen(p.claim())).toBe('n1');
  });

  it('[provisioner-topology-capacity#N2] given late binding and no node, then nothing', async () => {
    const p = await instance('n1', { seed: [late, aClaim()] });
    await p.clock.advance(16 * 60_000);
    expect([p.calls(), p.writes(), p.events]).toEqual([[], [], []]);
  });
});

describe('the deletion of a volume', () => {
  const released = (node: string | undefined, facts: Partial<Parameters<typeof aVolume>[0]> = {}): PersistentVolume => {
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'node', operator: 'In', values: [node ?? ''] }] }];
    const affinity = node === undefined ? {} : { nodeAffinity: { required: { nodeSelectorTerms } } };
    return aVolume({ finalizers: [volumeFinalizer], ...facts, spec: { ...facts.spec, ...affinity } });
  };

  it.each([
    { node: 'n1', calls: ['DeleteVolume handle-of-pvc-uid-data OK'] },
    { node: 'n2', calls: [] },
  ])(
    '[provisioner#203] [provisioner-topology-capacity#N10] given a volume of $node, when it is released, then n1 calls $calls',
    async ({ node, calls }) => {
      const p = await instance('n1', { seed: [released(node)] });
      await p.clock.advance(16 * 60_000);
      expect([p.calls(), p.events]).toEqual([calls, []]);
      expect(p.volume() === undefined).toBe(calls.length > 0);
    },
  );

  it('[provisioner-topology-capacity#N11] given a volume without a node, then every instance deletes it', async () => {
    const [p] = await threeInstances({ seed: [released(undefined)] });
    await p.clock.advance(60_000);
    expect([counted(p, 'DeleteVolume') >= 1, p.volume()]).toEqual([true, undefined]);
  });

  const kept = (node: string): PersistentVolume => released(node, { policy: 'Retain' });
  const patches = (p: Fixture): number => p.server.writes().filter(({ verb }) => verb === 'patch').length;

  it('[provisioner#186] given a volume of a node that is gone, when its policy is Retain, then one instance takes the finalizer off within five minutes', async () => {
    const [p] = await threeInstances({ seed: [kept('n9')] });
    expect(p.volume()?.metadata?.finalizers).toEqual([volumeFinalizer]);
    await p.clock.advance(300_000);
    expect([p.volume()?.metadata?.finalizers ?? [], patches(p), p.calls()]).toEqual([[], 1, []]);
  });

  it('[provisioner#186] given a volume of a node that is there, then its instance takes the finalizer off at once, and no other writes', async () => {
    const [p] = await threeInstances({ seed: [kept('n2')] });
    expect([p.volume()?.metadata?.finalizers ?? [], patches(p)]).toEqual([[], 1]);
    await p.clock.advance(16 * 60_000);
    expect([patches(p), p.calls()]).toEqual([1, []]);
  });

  it('[provisioner#230] given a volume of a node that is gone, when it goes before its finalizer is taken off, then the next one of its name waits as well', async () => {
    const p = await instance('n1', { seed: [kept('n9')] });
    const gone = { kind: 'status', point: 'before', code: 404, reason: 'NotFound' } as const;
    p.faults.push(faultOn('patch persistentvolumes', gone));
    await p.clock.advance(300_000);
    p.server.objects.remove(persistentVolumes, { name: 'pvc-uid-data' });
    await p.settle();
    p.server.seed(kept('n9'));
    await p.settle();
    expect([p.volume()?.metadata?.finalizers, patches(p)]).toEqual([[volumeFinalizer], 0]);
  });

  it('[provisioner#189] given a volume of a node that is gone, when its policy is Delete again before the wait is over, then nothing happens', async () => {
    const [p] = await threeInstances({ seed: [kept('n9')] });
    p.server.objects.change(persistentVolumes, { name: 'pvc-uid-data' }, (volume: PersistentVolume) => ({
      ...volume,
      spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Delete' },
    }));
    await p.clock.advance(16 * 60_000);
    expect([p.volume()?.metadata?.finalizers, patches(p), p.calls()]).toEqual([[volumeFinalizer], 0, []]);
  });

  it('[provisioner#219] given a volume of another node that is still attached, then neither event nor retry', async () => {
    const attachment: KubeObject = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'va' },
      spec: { attacher: driverName, nodeName: 'n2', source: { persistentVolumeName: 'pvc-uid-data' } },
    } as KubeObject;
    const attaching = { controller: ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] } as const;
    const p = await instance('n1', { ...attaching, seed: [released('n2'), attachment] });
    await p.clock.advance(60_000);
    expect([p.calls(), p.events]).toEqual([[], []]);
  });

  it('given a bound volume, then the instance of its node alone puts the finalizer on it', async () => {
    const [p, second, third] = await threeInstances({ seed: [released('n2', { finalizers: [], phase: 'Bound' })] });
    expect(p.server.writes().map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(['patch persistentvolumes']);
    expect(p.volume()?.metadata?.finalizers).toEqual([volumeFinalizer]);
    expect([second.events, third.events]).toEqual([[], []]);
  });
});

describe('a claim whose outcome is open', () => {
  const slow = { method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } } as const;
  const open = async (options: Options = {}): Promise<readonly [Fixture, Fixture, Fixture]> => {
    const instances = await threeInstances({ seed: [late], ...options });
    const [p] = instances;
    p.driver.faults.add(slow);
    p.server.seed(aClaim({ node: 'n1' }));
    await p.clock.advance(10_500);
    expect(p.claim()?.metadata?.finalizers).toEqual([finalizer]);
    return instances;
  };
  const aNodeObject = (name: string): Node => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

  it('[provisioner#P11] given an ambiguous answer, then an annotation names the instance, and both go when the claim is settled', async () => {
    const [p] = await open();
    expect(p.claim()?.metadata?.annotations?.[instanceAnnotation(driverName)]).toBe('n1');
    await p.clock.advance(60_000);
    expect(p.claim()!.metadata?.finalizers ?? []).toEqual([]);
    expect(p.claim()!.metadata?.annotations?.[instanceAnnotation(driverName)]).toBeUndefined();
    expect([p.driver.volumes().length, nodeOf(p.volume())]).toEqual([1, 'n1']);
  });

  it('[provisioner#P11] given the instance dies and the claim is deleted, then the others leave it alone, and the next instance of the node settles it', async () => {
    const [p, second] = await open();
    const cluster = p.crash();
    second.deleteClaim();
    p.server.seed(aNodeObject('n1'));
    await second.clock.advance(40 * 60_000);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
    const calls = counted(second, 'CreateVolume');
    const next = await instance('n1', { seed: [], cluster });
    await untilQuiet(next);
    expect(counted(next, 'CreateVolume')).toBeGreaterThan(calls);
    expect([next.claim(), next.volume(), next.driver.volumes()]).toEqual([undefined, undefined, []]);
  });

  it('[provisioner#P12] given the node of the instance is gone and the claim is deleted, then one instance releases it after the bound, with one Warning', async () => {
    const [p, second, third] = await open();
    p.crash();
    second.deleteClaim();
    await second.clock.advance(4 * 60_000);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
    await second.clock.advance(3 * 60_000);
    expect(second.claim()).toBeUndefined();
    const warnings = [...second.events, ...third.events].filter((line) => line.includes('ProvisioningGivenUp'));
    expect(warnings).toEqual([expect.stringContaining('node n1, whose instance worked on the claim, is gone')]);
    const total = 'csi_sidecars_provisioning_given_up_total';
    const given = [second, third].map(({ metrics }) => metrics.value(total, { class: 'fast', source: '' }) ?? 0);
    expect(given.toSorted((left, right) => left - right)).toEqual([0, 1]);
  });

  it('[provisioner#P14] given the node is there, its instance is not, and the claim is deleted, then no other instance releases it for an hour', async () => {
    const [p, second] = await open();
    p.server.seed(aNodeObject('n1'));
    p.crash();
    second.deleteClaim();
    await second.clock.advance(60 * 60_000);
    expect(second.claim()?.metadata?.finalizers).toEqual([finalizer]);
  });

  it('[provisioner#P14] given the node is there, its instance is not, and another node is selected, then the instance of that node says what it waits for', async () => {
    const [p, second, third] = await open();
    p.server.seed(aNodeObject('n1'));
    p.crash();
    selectNode(second, 'n2');
    await second.clock.advance(11 * 60_000);
    const waits = 'waiting for the instance of node n1';
    expect(second.events.filter((line) => line.includes(waits))).toHaveLength(3);
    expect(third.events).toEqual([]);
    expect(second.volume()).toBeUndefined();
  });

  it('[provisioner#P12] given the Nodes may not be read, then the claim waits', async () => {
    const [p, second] = await open();
    p.crash();
    second.deleteClaim();
    second.faults.push({
      when: ({ resource }) => resource === 'nodes',
      fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
    });
    const third = second.server;
    await second.clock.advance(1_000);
    expect(third.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' })).toBeDefined();
  });

  it('[provisioner#P11] given another node is selected while the outcome is open, then its instance waits until the claim is settled', async () => {
    const [p] = await open();
    p.server.seed(aNodeObject('n1'));
    selectNode(p, 'n2');
    await p.clock.advance(60_000);
    expect([p.driver.volumes().length, nodeOf(p.volume())]).toEqual([1, 'n1']);
    // Until the claim is bound, the instance of the other node would make a second volume: it does not see the first.
    expect([counted(p, 'CreateVolume'), p.claim()?.metadata?.finalizers]).toEqual([3, [finalizer]]);
    playController(p);
    await p.settle();
    expect([counted(p, 'CreateVolume'), p.claim()?.metadata?.finalizers ?? []]).toEqual([3, []]);
    await p.clock.advance(20 * 60_000);
    expect([p.driver.volumes().length, p.server.objects.list(persistentVolumes).length]).toEqual([1, 1]);
  });

  it('[provisioner#P11] given another node is selected during the call of a claim with the finalizer, then that finalizer stays until the claim is bound', async () => {
    const [p] = await threeInstances({ seed: [late], settings: { provisioningProtection: 'always' } });
    p.driver.faults.add({ ...slow, action: { kind: 'delay', ms: 5_000 } });
    p.server.seed(aClaim({ node: 'n1' }));
    await p.clock.advance(1_000);
    selectNode(p, 'n2');
    await p.clock.advance(60_000);
    expect([counted(p, 'CreateVolume'), nodeOf(p.volume()), p.claim()?.metadata?.finalizers]).toEqual([
      1,
      'n1',
      [finalizer],
    ]);
    playController(p);
    await p.settle();
    expect([counted(p, 'CreateVolume'), p.claim()?.metadata?.finalizers ?? []]).toEqual([1, []]);
  });

  it('[provisioner#P13] given a finalizer that a central deployment left, then the instance of the selected node settles it; without a node it is released after the bound', async () => {
    const left: ClaimFacts = { protection: 'on', deleting: 'yes' };
    const own = await instance('n1', { seed: [late, aClaim({ ...left, node: 'n1' })] });
    await untilQuiet(own);
    expect([own.claim(), counted(own, 'CreateVolume')]).toEqual([undefined, 1]);
    const unselected = await instance('n1', { seed: [late, aClaim(left)] });
    await unselected.clock.advance(7 * 60_000);
    expect([unselected.claim(), unselected.calls()]).toEqual([undefined, []]);
    expect(unselected.events.at(-1)).toContain('no instance works on the claim');
  });

  it('given a central deployment follows, then it settles the claim of an instance, and no annotation stays', async () => {
    const [p, second, third] = await open();
    for (const each of [p, second, third]) each.crash();
    const { clock, server, driver } = p;
    const cluster = { clock, server, driver, faults: [] };
    const drivers = [{ name: driverName, nodeID: 'n1', topologyKeys: ['node'] }];
    const csiNode = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'n1' }, spec: { drivers } };
    const node = { ...aNodeObject('n1'), metadata: { name: 'n1', labels: { node: 'n1' } } };
    const central = await aProvisioner({ cluster, seed: [node, csiNode] });
    await central.clock.advance(60_000);
    expect(central.claim()!.metadata?.finalizers ?? []).toEqual([]);
    expect(central.claim()!.metadata?.annotations?.[instanceAnnotation(driverName)]).toBeUndefined();
  });
});

describe('sources and many instances', () => {
  const copies = { controller: [...copying, 'GET_CAPACITY'] } as const;

  it('[provisioner#N-d] given restores on two nodes, then the finalizer stays until the last is made', async () => {
    const [p, second] = await threeInstances({ ...copies, seed: [late] });
    await prepareSources(p);
    p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 8_000 } });
    p.server.seed(aClaim({ name: 'slow', node: 'n1', spec: fromSnapshot }));
    await p.clock.advance(100);
    p.server.seed(aClaim({ name: 'fast', node: 'n2', spec: fromSnapshot }));
    await p.clock.advance(5_000);
    expect(second.volume('pvc-uid-fast')).toBeDefined();
    expect(snapshotOf(p)?.metadata?.finalizers).toHaveLength(1);
    await p.clock.advance(20_000);
    playController(p);
    await p.clock.advance(60_000);
    expect(p.volume('pvc-uid-slow')).toBeDefined();
    expect(snapshotOf(p)!.metadata?.finalizers ?? []).toEqual([]);
  });

  it('[provisioner#N-e] given a source that is deleted after its clone, then the instance of its node alone takes the finalizer off', async () => {
    const [p] = await threeInstances({ ...copies, seed: [late] });
    await prepareSources(p, { origin: { node: 'n2', finalizers: [] } });
    p.server.seed(aClaim({ name: 'clone', node: 'n1', spec: fromClaim }));
    await p.clock.advance(100);
    playController(p);
    await p.settle();
    p.server.clearRequests();
    p.deleteClaim('origin');
    await p.clock.advance(5_000);
    expect(p.claim('origin')).toBeUndefined();
    const lists = p.server.requests.filter(
      ({ verb, resource }) => verb === 'list' && resource === 'persistentvolumeclaims',
    );
    expect(lists).toHaveLength(1);
  });
});
