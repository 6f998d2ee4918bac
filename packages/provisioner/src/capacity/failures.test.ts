// SPDX-License-Identifier: Apache-2.0
/** Drivers that fail or hang, API servers that refuse, and answers that come late or not at all. */
import { csiStorageCapacities, persistentVolumes } from '@csi-sidecars/runtime';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNode } from '../../testing/builders.ts';
import {
  aCapacity,
  aLateClass,
  anOwner,
  aPublisher,
  asked,
  capacitySettings,
  counted,
  namespace,
  pollMs,
  published,
  report,
  writes,
} from '../../testing/capacity-fixture.ts';
import { type Fixture, rulesFor } from '../../testing/provisioner-fixture.ts';
import { clusterRules } from '../rbac.ts';

const zoneA = aNode('n1', 'a');
const zones = [...zoneA, ...aNode('n2', 'b')];
const full = 'fast zone=a 1Ti max 1Ti';
const fullB = 'fast zone=b 1Ti max 1Ti';
const long = { pollIntervalMs: 3_600_000 };
const withoutVerb = (verb: string) =>
  rulesFor(capacitySettings()).map((rule) =>
    rule.resources.includes('csistoragecapacities')
      ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) }
      : rule,
  );

/** From now on the watch of the objects brings nothing; the other watches are opened again. */
async function silenceWatch(p: Fixture): Promise<void> {
  const isOfObjects = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
    verb === 'watch' && resource === 'csistoragecapacities';
  p.faults.push({ when: isOfObjects, fault: { kind: 'hang', point: 'before' } });
  p.server.endWatches('broken');
  await p.clock.advance(2_000);
}

describe('the driver', () => {
  it('[provisioner-topology-capacity#C29] given a GetCapacity that hangs, then it ends after the timeout and is repeated; other items go on', async () => {
    const p = await aPublisher({ seed: [], capacity: { threads: 2 } });
    const hang = p.driver.faults.add({ method: 'GetCapacity', times: 1, action: { kind: 'hang' } });
    for (const object of [aLateClass(), ...zones]) p.server.seed(object);
    await p.settle();
    expect(published(p)).toHaveLength(1);
    await p.clock.advance(9_999);
    expect(published(p)).toHaveLength(1);
    await p.clock.advance(1_101);
    expect(published(p)).toEqual([full, fullB]);
    p.driver.faults.remove(hang);
  });

  it('[provisioner-topology-capacity#C30] given a driver without GetCapacity, then it is asked again with backoff, and the object keeps its value', async () => {
    const p = await aPublisher({
      controller: ['CREATE_DELETE_VOLUME'],
      seed: [aLateClass(), ...zoneA, aCapacity({ capacity: '7Gi' })],
      capacity: long,
    });
    await p.clock.advance(14_000);
    // At 0, 1, 3 and 7 seconds, each delay with up to a tenth more.
    expect(asked(p)).toHaveLength(4);
    expect([published(p), writes(p), counted(p)]).toEqual([['fast zone=a 7Gi max 1Ti'], [], '1/1/0']);
  });

  it('[provisioner-topology-capacity#C42] given a driver that fails for hours, then one retry at a time, and the poll asks in between', async () => {
    const p = await aPublisher({ seed: [] });
    const fault = p.driver.faults.add({ method: 'GetCapacity', action: { kind: 'fail', code: 'Internal' } });
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.clock.advance(2 * 3_600_000);
    p.driver.forgetCalls();
    await p.clock.advance(3_600_000);
    // The delay is longer than the interval of the poll, and starts again with each attempt.
    expect(asked(p)).toHaveLength(60);
    p.driver.faults.remove(fault);
    await p.clock.advance(pollMs);
    expect(published(p)).toEqual([full]);
  });

  it('[provisioner-topology-capacity#C37] given a negative capacity, then the API server refuses it, and other items are published', async () => {
    const p = await aPublisher({ seed: [], capacity: long });
    const negative = { available_capacity: '-5' };
    const fault = p.driver.faults.add({ method: 'GetCapacity', times: 1, action: { kind: 'answer', set: negative } });
    for (const object of [aLateClass(), ...zones]) p.server.seed(object);
    await p.settle();
    expect(published(p)).toHaveLength(1);
    expect(writes(p).toSorted()).toEqual(['create 201', 'create 422']);
    p.driver.faults.remove(fault);
    await p.clock.advance(1_100);
    expect(published(p)).toEqual([full, fullB]);
  });
});

describe('the API server', () => {
  it('[provisioner-topology-capacity#C33] given an update that meets a conflict, then it is repeated with the newer object', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, aCapacity()] });
    p.faults.push(
      faultOn('update csistoragecapacities', { kind: 'status', point: 'before', code: 409, reason: 'Conflict' }),
    );
    report(p, 1n << 30n);
    await p.clock.advance(pollMs);
    expect(published(p)).toEqual([full]);
    await p.clock.advance(1_100);
    expect([published(p), writes(p)]).toEqual([['fast zone=a 1Gi'], ['update 200']]);
  });

  it('[provisioner-topology-capacity#C34] given a watch that is behind, then an object that was just created is not created again', async () => {
    const p = await aPublisher({ seed: [], capacity: { pollIntervalMs: 5_000 } });
    await silenceWatch(p);
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.clock.advance(30_000);
    expect(writes(p)).toEqual(['create 201']);
    expect(asked(p).length).toBeGreaterThan(3);
  });

  it('given a watch that is behind, then an object that was just updated is updated again without a conflict', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA, aCapacity()], capacity: { pollIntervalMs: 5_000 } });
    await silenceWatch(p);
    const before = report(p, 1n << 30n);
    await p.clock.advance(10_000);
    before();
    report(p, 2n << 30n);
    await p.clock.advance(10_000);
    expect([published(p), writes(p)]).toEqual([['fast zone=a 2Gi'], ['update 200', 'update 200']]);
  });

  it('given an object that is gone when it is to be deleted, then that is no failure', async () => {
    const p = await aPublisher({ seed: [] });
    p.faults.push(
      faultOn('delete csistoragecapacities', { kind: 'status', point: 'before', code: 404, reason: 'NotFound' }),
    );
    p.server.seed(aCapacity());
    await p.clock.advance(30_000);
    expect(p.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
    expect(p.faults).toHaveLength(1);
  });

  it('given a create that is committed and not answered, then one object is left', async () => {
    const p = await aPublisher({ seed: [] });
    p.faults.push(faultOn('create csistoragecapacities', { kind: 'break', point: 'after', failure: 'eof' }));
    for (const object of [aLateClass(), ...zoneA]) p.server.seed(object);
    await p.clock.advance(2 * pollMs);
    expect([published(p), counted(p)]).toEqual([[full], '1/1/0']);
  });

  it('[provisioner-topology-capacity#C43,C44] given a server without the kind in v1, then volumes are made, and nothing is published or asked of another version', async () => {
    const p = await aPublisher({ seed: [aClass(), aLateClass('late'), ...zoneA, aClaim()] });
    const cluster = p.crash();
    p.server.removeTypes(csiStorageCapacities);
    p.server.clearRequests();
    p.driver.forgetCalls();
    const next = await aPublisher({ cluster, seed: [aClaim({ name: 'second' })] });
    await next.clock.advance(120_000);
    expect(next.server.objects.list(persistentVolumes).map(({ metadata }) => metadata?.name)).toContain(
      'pvc-uid-second',
    );
    const paths = next.server.requests.map(({ path }) => path).filter((path) => path.includes('csistoragecapacities'));
    expect(paths.length).toBeGreaterThan(3);
    expect(paths.filter((path) => !path.startsWith('/apis/storage.k8s.io/v1/'))).toEqual([]);
    expect([asked(next), counted(next)]).toEqual([[], '0/0/0']);
  });

  it('[provisioner-topology-capacity#C46] given no permission to create, then it is tried again, and objects that exist are kept up to date', async () => {
    const p = await aPublisher({
      rules: withoutVerb('create'),
      seed: [aLateClass(), ...zones, aCapacity({ capacity: '1Mi' })],
      capacity: { ...long, owner: anOwner },
    });
    await p.clock.advance(4_000);
    expect(published(p)).toEqual([`${full} of driver`]);
    expect(writes(p).toSorted()).toEqual(['create 403', 'create 403', 'create 403', 'update 200']);
  });

  it('given no permission to delete, then a redundant object does not keep the other from its value', async () => {
    const p = await aPublisher({
      rules: withoutVerb('delete'),
      seed: [aLateClass(), ...zoneA, aCapacity({ capacity: '1Mi' }), aCapacity({ name: 'csisc-2' })],
      capacity: long,
    });
    expect(writes(p)).toEqual(['delete 403', 'update 200']);
    expect([published(p), counted(p)]).toEqual([[full, full], '1/1/0']);
  });

  it('[provisioner-topology-capacity#M5] given no permission for the objects, then volumes are made and nothing is asked', async () => {
    const p = await aPublisher({ rules: clusterRules, seed: [aClass(), ...zoneA, aClaim()] });
    await p.clock.advance(10_000);
    expect([p.volume() !== undefined, writes(p), asked(p)]).toEqual([true, [], []]);
  });

  it('[provisioner-topology-capacity#C45] given a start with capacity, then the first write is that of a real object', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...zoneA] });
    expect(p.server.writes().map(({ verb, namespace: where, body }) => [verb, where, body])).toMatchObject([
      ['create', namespace, { metadata: { generateName: 'csisc-' }, storageClassName: 'fast' }],
    ]);
  });
});
