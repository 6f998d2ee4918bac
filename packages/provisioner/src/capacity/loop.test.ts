// SPDX-License-Identifier: Apache-2.0
/** What wakes the capacity loop and what does not, seen from its queue, and how it reports a failure. */
import { csiStorageCapacities, storageClasses } from '@csi-sidecars/runtime';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aNode } from '../../testing/builders.ts';
import {
  aCapacity,
  aLateClass,
  aPublisher,
  asked,
  capacities,
  namespace,
  published,
  writes,
} from '../../testing/capacity-fixture.ts';
import type { Fixture } from '../../testing/provisioner-fixture.ts';

const full = 'fast zone=a 1Ti max 1Ti';
const anImmediateClass = aLateClass('now', { volumeBindingMode: 'Immediate' });
const theirClass = aLateClass('theirs', { provisioner: 'other' });

const isDelete: FaultRule['when'] = ({ verb }) => verb === 'delete';

/** One item, with its object, and two classes that do not count. No poll comes in between. */
function start(): Promise<Fixture> {
  return aPublisher({
    seed: [aLateClass(), anImmediateClass, theirClass, ...aNode('n1', 'a'), aCapacity()],
    capacity: { pollIntervalMs: 3_600_000 },
  });
}

/** How many keys the queue gets from this. */
async function added(p: Fixture, act: () => void): Promise<number> {
  const adds = (): number => p.metrics.value('workqueue_adds_total', { name: 'csistoragecapacity' }) ?? 0;
  const before = adds();
  act();
  await p.settle();
  return adds() - before;
}

describe('an object that appears', () => {
  it.each([
    ['of a class that does not exist', { className: 'gone' }],
    ['of a class that binds immediately', { className: 'now' }],
    ['of a class of another driver', { className: 'theirs' }],
    ['of a segment that no node has', { zone: 'b' }],
  ])('given it is %s, then it is deleted at once, and the driver is not asked', async (_what, facts) => {
    const p = await start();
    p.driver.forgetCalls();
    p.server.seed(aCapacity({ name: 'other', ...facts }));
    await p.settle();
    expect([published(p), writes(p), asked(p)]).toEqual([[full], ['delete 200'], []]);
  });

  it('given it is the only one of its item, then nothing is woken: what it says was reported a moment ago', async () => {
    const p = await aPublisher({ seed: [aLateClass(), ...aNode('n1', 'a')] });
    expect(await added(p, () => p.server.objects.remove(csiStorageCapacities, refOf(p)))).toBe(1);
    expect([published(p), writes(p)]).toEqual([[full], ['create 201', 'create 201']]);
  });

  it('given it is the second of its item, then the item is woken once, and the end of the newer one wakes nothing', async () => {
    const p = await start();
    const newer = aCapacity({ name: 'newer', createdAt: '2026-01-01T00:00:00Z' });
    expect(await added(p, () => p.server.seed(newer))).toBe(1);
    expect([published(p), writes(p)]).toEqual([[full], ['delete 200']]);
  });

  it('given it is older than the one that is there, then the newer one is deleted', async () => {
    const p = await start();
    p.server.seed(aCapacity({ name: 'older', createdAt: '2025-01-01T00:00:00Z' }));
    await p.settle();
    expect([capacities(p).map(({ metadata }) => metadata?.name), writes(p)]).toEqual([['older'], ['delete 200']]);
  });
});

it('given a class appears, then its items are woken, also that of an object of a segment that no node has', async () => {
  const p = await start();
  const fault = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' } as const;
  p.faults.push({ when: isDelete, fault, times: 99 });
  p.server.seed(aCapacity({ name: 'other', className: 'new', zone: 'b' }));
  await p.settle();
  expect(await added(p, () => p.server.seed(aLateClass('new')))).toBe(2);
});

function refOf(p: Fixture): { readonly namespace: string; readonly name: string } {
  return { namespace, name: capacities(p)[0]?.metadata?.name ?? '' };
}

describe('a class', () => {
  it.each([
    ['binds immediately', aLateClass('more', { volumeBindingMode: 'Immediate' })],
    ['is of another driver', aLateClass('more', { provisioner: 'other' })],
  ])('given it %s, when it appears, is created again and goes, then nothing is woken', async (_what, storageClass) => {
    const p = await start();
    const remove = (): void => p.server.objects.remove(storageClasses, { name: 'more' });
    expect(await added(p, () => p.server.seed(storageClass))).toBe(0);
    const again = { ...storageClass, metadata: { name: 'more', uid: 'second' }, parameters: { a: 'b' } };
    expect(await added(p, () => (remove(), p.server.seed(again)))).toBe(0);
    expect(await added(p, remove)).toBe(0);
  });

  it('given it counts and has no parameters, when it appears and goes, then its items are woken', async () => {
    const p = await start();
    expect(await added(p, () => p.server.seed(aLateClass('more')))).toBe(1);
    expect(published(p)).toEqual([full, 'more zone=a 1Ti max 1Ti']);
    p.server.objects.remove(storageClasses, { name: 'more' });
    await p.settle();
    expect(published(p)).toEqual([full]);
  });

  it('given classes at the start, then no handler fails before the segments are known', async () => {
    const p = await start();
    expect(p.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
    expect(asked(p)).toEqual(['zone=a']);
  });
});

it('given the driver cannot be asked, then the retry is logged with the queue, and repeated until there is an answer', async () => {
  const p = await start();
  p.driver.faults.add({ method: 'GetCapacity', times: 2, action: { kind: 'fail', code: 'Internal' } });
  p.server.seed(aLateClass('more'));
  await p.clock.advance(10_000);
  const retries = p.logger.lines.filter(({ message }) => message === 'Retrying syncing storage capacity');
  expect(retries).toMatchObject([
    { kind: 'error', facts: { queue: 'csistoragecapacity', failures: 1 } },
    { kind: 'error', facts: { queue: 'csistoragecapacity', failures: 2 } },
  ]);
  expect(published(p)).toEqual([full, 'more zone=a 1Ti max 1Ti']);
});

describe('a class that goes and comes back while the watch of the objects is silent', () => {
  const isWatch: FaultRule['when'] = ({ verb, resource }) => verb === 'watch' && resource === 'csistoragecapacities';
  const lost: Fault = { kind: 'break', point: 'after', failure: 'eof' };

  it.each([
    { given: 'the deletion of its object was answered', faults: [] },
    { given: 'the answer to that deletion was lost', faults: [{ when: isDelete, fault: lost }] },
  ])('[provisioner-topology-capacity#C47] given $given, then its object is made again', async ({ faults }) => {
    const p = await start();
    p.faults.push({ when: isWatch, fault: { kind: 'lag', ms: 3_600_000 }, times: 99 });
    p.server.endWatches('broken');
    await p.clock.advance(30_000);
    p.faults.push(...faults);
    p.server.objects.remove(storageClasses, { name: 'fast' });
    await p.settle();
    p.server.seed(aLateClass());
    await p.clock.advance(30_000);
    expect([published(p), writes(p)]).toEqual([[full], ['delete 200', 'create 201']]);
    await p.stop();
  });
});
