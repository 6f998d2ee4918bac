// SPDX-License-Identifier: Apache-2.0
/** Removing a selected node, infeasible requests, and topology that stays the same while an answer is open. */
import { csiNodes, type KubeObject, nodes, persistentVolumeClaims, storageClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNode, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { selectNode } from '../../testing/others.ts';
import { annotations, provisioningFinalizer } from '../names.ts';

const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
const put = 'update persistentvolumeclaims team/data 200';
const saved = 'create persistentvolumes pvc-uid-data 201';
const failures = 'controller_persistentvolumeclaim_provision_failed_total';

const cluster: readonly KubeObject[] = [late, ...aNode('n1', 'z1'), ...aNode('n2', 'z2')];
const withTopology: FixtureOptions = { topology: 'on', seed: cluster };

type Code = 'ResourceExhausted' | 'Internal' | 'DeadlineExceeded' | 'InvalidArgument';

async function selected(codes: readonly Code[], options: FixtureOptions = withTopology): Promise<Fixture> {
  const p = await aProvisioner(options);
  for (const [skip, code] of codes.entries()) {
    p.driver.faults.add({ method: 'CreateVolume', skip, times: 1, action: { kind: 'fail', code } });
  }
  p.server.seed(aClaim({ node: 'n1' }));
  await p.settle();
  return p;
}
const nodeOf = (p: Fixture): string | undefined => p.claim()?.metadata?.annotations?.[annotations.selectedNode];
const isProtected = (p: Fixture): boolean =>
  p.claim()?.metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true;

describe('rescheduling', () => {
  it('[provisioner#43,47] given a full node, when CreateVolume fails with ResourceExhausted, then the annotation is removed, once, without retry, until another node is selected', async () => {
    const p = await selected(['ResourceExhausted']);
    expect([p.writes(), nodeOf(p), isProtected(p)]).toEqual([[put], undefined, false]);
    expect(p.events.slice(1)).toEqual([
      'Warning ProvisioningFailed team/data: rpc error: code = ResourceExhausted desc = fault rule: ResourceExhausted',
    ]);
    expect(p.metrics.value(failures, { class: 'fast', source: '' })).toBe(1);
    await p.clock.advance(600_000);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data ResourceExhausted']);
    selectNode(p, 'n2');
    await p.settle();
    expect(p.writes()).toEqual([put, saved]);
  });

  it('[provisioner#47] given no topology support, when the node is full, then the annotation stays and the claim is retried', async () => {
    const p = await selected(['ResourceExhausted'], { seed: [late] });
    expect([nodeOf(p), p.writes()]).toEqual(['n1', []]);
    await p.clock.advance(1200);
    expect(p.writes()).toEqual([saved]);
  });

  it('[provisioner#44,45] given a final error or a failure before the call, when a node is selected, then the annotation stays', async () => {
    expect(nodeOf(await selected(['Internal']))).toBe('n1');
    const early = await selected([], {
      topology: 'on',
      seed: [aClass({ parameters: { 'csi.storage.k8s.io/bim': '' } }), ...aNode('n1', 'z1')],
    });
    expect([nodeOf(early), early.calls()]).toEqual(['n1', []]);
  });

  it('[provisioner#46] given an ambiguous answer, when a node is selected, then the annotation stays and the claim is protected', async () => {
    const p = await selected(['DeadlineExceeded']);
    expect([nodeOf(p), isProtected(p)]).toEqual(['n1', true]);
  });

  it('given an unsettled claim, when the node is full, then annotation and finalizer are removed in one update', async () => {
    const p = await selected(['DeadlineExceeded', 'ResourceExhausted']);
    await p.clock.advance(1200);
    expect([p.writes(), nodeOf(p), isProtected(p)]).toEqual([[put, put], undefined, false]);
  });

  it('[provisioner#48] given the selected node is gone, its CSINode or its Node, when planned, then its annotation is removed before any call', async () => {
    for (const resource of [csiNodes, nodes]) {
      const p = await aProvisioner(withTopology);
      p.server.objects.remove(resource, { name: 'n1' });
      await p.settle();
      p.server.seed(aClaim({ node: 'n1' }));
      await p.settle();
      expect([p.calls(), p.writes(), nodeOf(p)]).toEqual([[], [put], undefined]);
      expect(p.events.slice(1)).toEqual([
        expect.stringMatching(/^Warning ProvisioningFailed team\/data: .*selected (CSINode n1|node map)/),
      ]);
      expect(p.metrics.value(failures, { class: 'fast', source: '' })).toBe(1);
    }
  });

  it('given the selected node is gone and the finalizer alone says that a volume may exist, when planned, then the finalizer stays', async () => {
    const p = await aProvisioner({
      topology: 'on',
      seed: [late, ...aNode('n2', 'z2'), aClaim({ node: 'n1', protection: 'on' })],
    });
    expect([p.calls(), nodeOf(p), isProtected(p)]).toEqual([[], undefined, true]);
    selectNode(p, 'n2');
    await p.settle();
    expect([p.volume()?.metadata?.name, isProtected(p)]).toEqual(['pvc-uid-data', false]);
  });

  it('[provisioner#49] given a conflict, when the annotation is removed, then the event has been sent and the claim is retried', async () => {
    const p = await aProvisioner(withTopology);
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'ResourceExhausted' } });
    p.faults.push({
      when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
      fault: { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
    });
    p.server.seed(aClaim({ node: 'n1' }));
    await p.settle();
    expect([nodeOf(p), p.events.length]).toEqual(['n1', 2]);
    await p.clock.advance(1200);
    expect(p.writes()).toEqual([saved]);
  });

  it('[provisioner#51] given InvalidArgument, when a node is selected, then the retry is slow, on the same node', async () => {
    const p = await selected(['InvalidArgument']);
    await p.clock.advance(290_000);
    expect([nodeOf(p), p.calls().length]).toEqual(['n1', 1]);
    await p.clock.advance(15_000);
    expect(p.calls()).toHaveLength(2);
  });
});

describe('infeasible requests', () => {
  const immediate: FixtureOptions = { seed: [aClass()] };

  it('[provisioner#52,53] given Internal, then the next sync calls again; given InvalidArgument, it does not', async () => {
    const internal = await selected(['Internal'], immediate);
    await internal.clock.advance(1200);
    expect(internal.calls()).toHaveLength(2);
    const invalid = await selected(['InvalidArgument'], immediate);
    selectNode(invalid, 'n2');
    await invalid.clock.advance(60_000);
    expect(invalid.calls()).toHaveLength(1);
    expect(invalid.events.slice(1)).toEqual([
      'Warning ProvisioningFailed team/data: Volume provisioning failed with infeasible error. Retries will be delayed. rpc error: code = InvalidArgument desc = fault rule: InvalidArgument',
    ]);
    expect(invalid.metrics.value(failures, { class: 'fast', source: '' })).toBe(1);
  });

  it('[provisioner#54,56] given InvalidArgument and a short --retry-interval-max, when five minutes are over, then it is called again', async () => {
    const p = await selected(['InvalidArgument'], { ...immediate, settings: { retryIntervalMaxMs: 10_000 } });
    await p.clock.advance(299_000);
    expect(p.calls()).toHaveLength(1);
    await p.clock.advance(2_000);
    expect(p.writes()).toEqual([saved]);
  });

  it('[common#58,59] given InvalidArgument, when the claim changes again and again meanwhile, then it is called five minutes after the refusal and not later', async () => {
    const p = await selected(['InvalidArgument'], immediate);
    for (const node of ['n2', 'n3', 'n4']) {
      await p.clock.advance(99_000);
      selectNode(p, node);
    }
    expect(p.calls()).toHaveLength(1);
    await p.clock.advance(5_000);
    expect(p.calls()).toHaveLength(2);
  });

  it('given InvalidArgument, when the claim is deleted, then its refusal is forgotten with it', async () => {
    const p = await selected(['InvalidArgument'], immediate);
    p.deleteClaim();
    await p.settle();
    p.server.seed(aClaim());
    await p.settle();
    expect(p.writes()).toEqual([saved]);
  });

  it('[provisioner#55] given the class is created again, then the claims of that class are tried at once, and no others', async () => {
    const p = await selected(['InvalidArgument'], immediate);
    p.server.seed(aClass({ metadata: { name: 'other', uid: 'class-2' } }));
    await p.settle();
    expect(p.calls()).toHaveLength(1);
    p.server.objects.remove(storageClasses, { name: 'fast' });
    p.server.seed(aClass({ metadata: { name: 'fast', uid: 'class-3' } }));
    await p.settle();
    expect(p.writes()).toEqual([saved]);
  });
});

describe('topology while an answer is open', () => {
  it('[provisioner-topology-capacity#T34,T54] given node and CSINode vanish, when repeated, then the same requirement, late and immediate', async () => {
    for (const claim of [aClaim({ node: 'n2' }), aClaim()]) {
      const storageClass = aClass({ volumeBindingMode: 'Immediate' });
      const p = await aProvisioner({ topology: 'on', seed: [storageClass, ...cluster.slice(1)] });
      p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'Unavailable' } });
      p.server.seed(claim);
      await p.settle();
      for (const name of ['n1', 'n2']) {
        p.server.objects.remove(nodes, { name });
        p.server.objects.remove(csiNodes, { name });
      }
      await p.clock.advance(1200);
      const [first, second] = p.requests('CreateVolume');
      expect(first!['accessibility_requirements']).not.toBeNull();
      expect(second).toEqual(first);
    }
  });

  it('[provisioner-topology-capacity#T38] given 100 claims at once, when all are repeated, then each sends its own requirement again', async () => {
    const p = await aProvisioner({ topology: 'on', seed: [aClass(), ...cluster.slice(1)] });
    p.driver.faults.add({ method: 'CreateVolume', times: 100, action: { kind: 'fail', code: 'Aborted' } });
    const names = Array.from({ length: 100 }, (_, ordinal) => `data-web-${ordinal}`);
    for (const name of names) p.server.seed(aClaim({ name }));
    await p.settle();
    for (const name of ['n1', 'n2']) p.server.objects.remove(csiNodes, { name });
    await p.clock.advance(1200);
    const sent = new Map<unknown, Set<string>>();
    for (const { name, accessibility_requirements: required } of p.requests('CreateVolume')) {
      sent.set(name, (sent.get(name) ?? new Set()).add(JSON.stringify(required)));
    }
    expect([...sent.values()].map(({ size }) => size)).toEqual(Array(100).fill(1));
    expect(p.requests('CreateVolume')).toHaveLength(200);
    expect(new Set([...sent.values()].flatMap((set) => [...set])).size).toBe(2);
  });

  it('[provisioner-topology-capacity#T43] given topology and no nodes, when synced, then no call and no volume', async () => {
    const p = await aProvisioner({ topology: 'on', seed: [aClass(), aClaim()] });
    expect(p.calls()).toEqual([]);
    expect(p.events[1]).toBe(
      'Warning ProvisioningFailed team/data: error generating accessibility requirements: no available topology found',
    );
  });

  it('[provisioner-topology-capacity#F8] given the driver answers a topology that was not requested, when saved, then the topology of the answer is used', async () => {
    const p = await aProvisioner(withTopology);
    const accessible_topology = [{ segments: { zone: 'z9' } }];
    p.driver.faults.add({
      method: 'CreateVolume',
      action: { kind: 'answer', set: { volume: { accessible_topology } } },
    });
    p.server.seed(aClaim({ node: 'n1' }));
    await p.settle();
    expect(p.volume()?.spec?.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
      { matchExpressions: [{ key: 'zone', operator: 'In', values: ['z9'] }] },
    ]);
  });

  it('given a deleted, unsettled claim and a node that is gone after a restart, when settled, then the request names no node', async () => {
    const p = await aProvisioner({
      topology: 'on',
      seed: [late, ...aNode('n2', 'z2'), aClaim({ node: 'n1', protection: 'on', deleting: 'yes' })],
    });
    expect(p.writes()).toEqual([saved, put]);
    expect(p.server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' })).toBeUndefined();
  });
});
