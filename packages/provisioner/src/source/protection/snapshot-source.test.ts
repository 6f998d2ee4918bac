// SPDX-License-Identifier: Apache-2.0
/** The snapshot source loop against an API server: what removes the finalizer, what keeps it, which requests that takes. */
import { volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aVolume } from '../../../testing/builders.ts';
import { aContent, aRestore, aSnapshot, boundFinalizer, type UserFacts } from '../../../testing/source-builders.ts';
import { someSources, uid } from '../../../testing/sources-fixture.ts';
import { annotations, snapshotSourceProtection } from '../../names.ts';
import type { SourceRef } from '../source.ts';

const daily: SourceRef = { kind: 'snapshot', namespace: 'team', name: 'daily' };
const both = [boundFinalizer, snapshotSourceProtection];
const others = [boundFinalizer];
const theirs = { annotations: { [annotations.storageProvisioner]: 'other' } };
const removal = 'update volumesnapshots team/daily 200';
const sweepMs = 300_000;
const seeded = (...claims: readonly ReturnType<typeof aRestore>[]) => [aSnapshot(), aContent(), ...claims];

describe('what an earlier program left', () => {
  it('[provisioner#210] given only bound claims or none, when it starts, then the finalizer goes and those of others stay', async () => {
    for (const claims of [[], [aRestore({ phase: 'Bound' })]]) {
      const s = await someSources({ seed: seeded(...claims) });
      expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
      expect(s.logger.messages()).toContain(
        'SnapshotFinalizerProtection: removed orphaned finalizer from snapshot team/daily',
      );
    }
  });

  it('given fields that no program knows, when the finalizer is removed, then they stay', async () => {
    const odd = { ...aSnapshot(), spec: { ...aSnapshot().spec, future: { a: [1] } }, extra: 'kept' };
    const s = await someSources({ seed: [odd, aContent()] });
    expect([s.finalizers(), s.snapshot()]).toEqual([
      others,
      expect.objectContaining({ spec: odd.spec, extra: 'kept' }),
    ]);
  });

  it.each([
    ['pending', {}],
    ['without a phase', { phase: '' }],
    ['by dataSourceRef', { ref: {} }],
    ['from another namespace', { namespace: 'apps', ref: { namespace: 'team' } }],
    ['of another driver', theirs],
    ['without an API group', { source: { apiGroup: undefined as never } }],
    ['being deleted, with its outcome open', { deleting: 'yes', protection: 'on' }],
    ['bound, with its outcome open', { phase: 'Bound', protection: 'on' }],
  ] as [string, UserFacts][])(
    '[provisioner#211] given a claim that restores it, %s, when swept, then the finalizer stays and nothing is asked',
    async (_what, facts) => {
      const s = await someSources({ seed: seeded(aRestore({ phase: 'Bound', name: 'first' }), aRestore(facts)) });
      await s.clock.advance(2 * sweepMs);
      expect([s.finalizers(), s.requestLines()]).toEqual([both, []]);
    },
  );

  it('[provisioner#212] given a claim of a kind VolumeSnapshot of another group, when swept, then it does not keep the finalizer', async () => {
    const s = await someSources({ seed: seeded(aRestore({ source: { apiGroup: 'example.com' } })) });
    expect(s.finalizers()).toEqual(others);
  });

  it('given a claim of another namespace with a snapshot of the same name, when swept, then it does not keep the finalizer', async () => {
    const s = await someSources({ seed: seeded(aRestore({ namespace: 'apps' })) });
    expect(s.finalizers()).toEqual(others);
  });

  it('[provisioner#208] given a snapshot without our finalizer, when swept, then nothing is read or written', async () => {
    const s = await someSources({ seed: [aSnapshot({ finalizers: others })] });
    await s.clock.advance(sweepMs);
    expect(s.requestLines()).toEqual([]);
  });

  it('[N13] given a snapshot of another driver, when swept, then its finalizer is left to that driver, which may have an open call, and it is read once', async () => {
    const reads = ['get volumesnapshots daily', 'get volumesnapshotcontents content-of-daily'];
    const s = await someSources({ seed: [aSnapshot(), aContent({ driver: 'other' })] });
    await s.clock.advance(3 * sweepMs);
    expect([s.finalizers(), s.requestLines()]).toEqual([both, reads]);
    // A snapshot of the name is another one.
    s.server.objects.remove(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    s.server.seed({ ...aSnapshot(), metadata: { ...aSnapshot().metadata, uid: 'another' } });
    await s.clock.advance(sweepMs + 10_000);
    expect(s.requestLines()).toEqual([...reads, ...reads]);
  });

  it('given the content is gone, when swept, then the finalizer goes', async () => {
    expect((await someSources({ seed: [aSnapshot()] })).finalizers()).toEqual(others);
  });

  it('given a finalizer that another process left later, when the next sweep is due, then it goes', async () => {
    const s = await someSources({ seed: [aContent()] });
    s.server.seed(aSnapshot());
    await s.clock.advance(sweepMs - 10_000);
    expect(s.finalizers()).toEqual(both);
    await s.clock.advance(20_000);
    expect(s.finalizers()).toEqual(others);
  });

  it('given such a snapshot is deleted, then it does not wait for the next sweep', async () => {
    const s = await someSources({ seed: [aContent()] });
    s.server.seed(aSnapshot({ finalizers: [snapshotSourceProtection] }));
    await s.settle();
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    expect(s.snapshot()).toBeUndefined();
  });
});

describe('kubernetes-csi/external-provisioner#1507: a finalizer that stays', () => {
  it('given the process died between finalizer and record, when the next one starts after the claim was deleted, then the snapshot can go', async () => {
    const s = await someSources({
      seed: [aSnapshot({ finalizers: [snapshotSourceProtection], deleting: 'yes' }), aContent()],
    });
    expect(s.snapshot()).toBeUndefined();
  });

  it('given a claim that failed before it called the driver, when it is deleted, then the finalizer goes at once', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    await s.remove('restored');
    expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
  });

  it('given the removal fails, when it is retried, then the finalizer goes, however often it fails', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('update volumesnapshots', { kind: 'status', point: 'before', code: 500, reason: 'InternalError' }, 3);
    await s.remove('restored');
    expect(s.finalizers()).toEqual(both);
    await s.clock.advance(20_000);
    expect(s.finalizers()).toEqual(others);
  });

  it('given the answer to the removal is lost, when it is retried, then it finds the finalizer gone and writes nothing', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('update volumesnapshots', { kind: 'break', point: 'after', failure: 'reset' });
    await s.remove('restored');
    await s.clock.advance(20_000);
    expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
  });
});

describe('claims of this process', () => {
  it('given a restore, when its PersistentVolume is recorded, then the finalizer goes before the claim is bound', async () => {
    const s = await someSources({ seed: [aClass(), ...seeded(aRestore())], sweep: 'off' });
    await s.references.acquire(uid('restored'), daily);
    s.server.seed(aVolume({ name: 'pvc-uid-restored', spec: { claimRef: { uid: 'uid-restored' } } }));
    await s.settle();
    expect(s.finalizers()).toEqual(both);
    s.references.release(uid('restored'), 'other');
    await s.settle();
    expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
    expect(s.logger.messages()).toContain(`Removed finalizer ${snapshotSourceProtection} from snapshot team/daily`);
    await s.bind('restored');
    expect(s.requestLines()).toEqual(['get volumesnapshots daily', 'update volumesnapshots daily']);
  });

  it('[provisioner#134] given two claims restore one snapshot, when the first is done, then the finalizer stays until the second is', async () => {
    const claims = [aRestore({ name: 'a' }), aRestore({ name: 'b' })];
    const s = await someSources({ seed: seeded(...claims) });
    await s.references.acquire(uid('a'), daily);
    await s.references.acquire(uid('b'), daily);
    s.references.release(uid('a'), 'other');
    await s.bind('a');
    expect(s.finalizers()).toEqual(both);
    // The second claim is deleted while its call is open: memory alone keeps the finalizer.
    await s.remove('b');
    await s.clock.advance(2 * sweepMs);
    expect(s.finalizers()).toEqual(both);
    s.references.release(uid('b'), 'other');
    await s.settle();
    expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
  });

  it('[provisioner#159] given a claim of another namespace, when it is done, then the finalizer goes without a sweep', async () => {
    const foreign = aRestore({ namespace: 'apps', ref: { namespace: 'team' } });
    const features = { crossNamespaceVolumeDataSource: true } as never;
    const s = await someSources({ seed: seeded(foreign), sweep: 'off', settings: { features } });
    await s.references.acquire(uid('restored'), daily);
    await s.bind('restored', 'apps');
    s.references.release(uid('restored'), 'other');
    await s.settle();
    expect([s.finalizers(), s.requestLines()]).toEqual([
      others,
      ['get volumesnapshots daily', 'update volumesnapshots daily'],
    ]);
  });

  it('given the gate for other namespaces, when a finalizer is found, then the claims of all namespaces are listed', async () => {
    const features = { crossNamespaceVolumeDataSource: true } as never;
    const s = await someSources({ seed: seeded(), settings: { features } });
    expect(s.requestLines()).toContain('list persistentvolumeclaims ');
  });

  it('kubernetes-csi/external-provisioner#1449: given claim and snapshot are deleted while the call is open, then the snapshot stays until the outcome is known', async () => {
    const s = await someSources({
      seed: [aSnapshot({ finalizers: [snapshotSourceProtection] }), aContent(), aRestore()],
    });
    await s.references.acquire(uid('restored'), daily);
    await s.remove('restored');
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.clock.advance(3 * sweepMs);
    expect([s.snapshot()?.metadata?.finalizers, s.writes()]).toEqual([[snapshotSourceProtection], []]);
    s.references.release(uid('restored'), 'other');
    await s.settle();
    expect(s.snapshot()).toBeUndefined();
  });

  it('[provisioner#133] given a claim that fails for good, when its snapshot is deleted, then the snapshot goes; without a deletion it stays protected', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    await s.references.acquire(uid('restored'), daily);
    s.references.release(uid('restored'), 'failed');
    await s.clock.advance(2 * sweepMs);
    expect([s.finalizers(), s.requestLines()]).toEqual([both, []]);
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    expect(s.finalizers()).toEqual(others);
  });

  it('given a claim fails for good beside one of another driver or one with an open call, when the snapshot is deleted, then it stays', async () => {
    for (const beside of ['foreign', 'open'] as const) {
      const other = aRestore({ name: 'other', ...(beside === 'foreign' ? theirs : {}) });
      const s = await someSources({ seed: seeded(aRestore(), other) });
      await s.references.acquire(uid('restored'), daily);
      if (beside === 'open') await s.references.acquire(uid('other'), daily);
      s.references.release(uid('restored'), 'failed');
      s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
      await s.clock.advance(2 * sweepMs);
      expect([beside, s.finalizers()]).toEqual([beside, both]);
    }
  });

  it('given no sweep and a claim that fails for good, when the snapshot was deleted, then the end of the next attempt lets it go', async () => {
    const s = await someSources({ seed: seeded(aRestore()), sweep: 'off' });
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.references.acquire(uid('restored'), daily);
    await s.settle();
    expect(s.finalizers()).toEqual(both);
    s.references.release(uid('restored'), 'failed');
    await s.settle();
    expect(s.finalizers()).toEqual(others);
  });
});

it('given a claim that names no possible object, when it lets go and is deleted, then no request follows and no run fails', async () => {
  for (const name of ['a/b', '/', 'a/b/c']) {
    const s = await someSources({ seed: [aRestore({ source: { name } })] });
    await s.references.acquire(uid('restored'), { ...daily, name });
    s.references.release(uid('restored'), 'other');
    await s.remove('restored');
    await s.clock.advance(60_000);
    expect([name, s.requestLines(), s.logger.messages().filter((line) => line.includes('Retrying'))]).toEqual([
      name,
      [],
      [],
    ]);
  }
});

describe('beside a restore', () => {
  const done = async (beside: UserFacts): Promise<Awaited<ReturnType<typeof someSources>>> => {
    const s = await someSources({ seed: seeded(aRestore(), aRestore({ name: 'other', ...beside })), sweep: 'off' });
    await s.references.acquire(uid('restored'), daily);
    await s.bind('restored');
    s.references.release(uid('restored'), 'other');
    await s.settle();
    return s;
  };

  it('given no sweep and a claim of another driver that outlasts the restore, when it is deleted, then the finalizer goes', async () => {
    const s = await done(theirs);
    expect(s.finalizers()).toEqual(both);
    await s.remove('other');
    expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
  });

  it('given a claim that waits for its first consumer, and so for a provisioner, when the restore is done, then the finalizer goes, as with upstream', async () => {
    const s = await done({ annotations: {} });
    expect([s.finalizers(), s.writes()]).toEqual([others, [removal]]);
  });

  it('[provisioner#211] given such a claim and a finalizer that an earlier program left, when swept, then the finalizer stays', async () => {
    const s = await someSources({ seed: seeded(aRestore({ annotations: {} })) });
    await s.clock.advance(2 * sweepMs);
    expect([s.finalizers(), s.requestLines()]).toEqual([both, []]);
  });
});

describe('races', () => {
  it('given the cache lacks the PersistentVolume when the call ends, then the binding of the claim lets the finalizer go', async () => {
    const s = await someSources({ seed: seeded(aRestore()), sweep: 'off' });
    await s.references.acquire(uid('restored'), daily);
    s.references.release(uid('restored'), 'other');
    await s.settle();
    expect(s.finalizers()).toEqual(both);
    s.server.seed(aVolume({ name: 'pvc-uid-restored', spec: { claimRef: { uid: 'uid-restored' } } }));
    await s.settle();
    await s.bind('restored');
    expect(s.finalizers()).toEqual(others);
  });

  it('given a cache that lacks a claim, when the finalizer is to be removed, then the live list keeps it', async () => {
    const s = await someSources({ seed: [aContent()] });
    s.fault('watch persistentvolumeclaims', { kind: 'hang', point: 'before' }, 1_000);
    s.server.endWatches('broken');
    await s.clock.advance(10_000);
    s.server.seed(aRestore());
    s.server.seed(aSnapshot());
    await s.clock.advance(2 * sweepMs);
    expect([s.finalizers(), s.requestLines()]).toEqual([
      both,
      expect.arrayContaining(['get volumesnapshots daily', 'list persistentvolumeclaims team']),
    ]);
    expect(s.writes()).toEqual([]);
  });

  it('given claims cannot be listed, when the finalizer is to be removed, then it stays until they can', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('list persistentvolumeclaims', { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' }, 1);
    await s.remove('restored');
    await s.settle();
    expect(s.finalizers()).toEqual(both);
    await s.clock.advance(sweepMs);
    expect(s.finalizers()).toEqual(others);
  });

  it('given a claim takes the snapshot while claims are listed, then the finalizer is not removed', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('list persistentvolumeclaims', { kind: 'delay', ms: 1_000 });
    await s.remove('restored');
    await s.references.acquire(uid('next'), daily);
    await s.clock.advance(2_000);
    expect([s.finalizers(), s.writes()]).toEqual([both, []]);
  });

  it('given a claim takes the snapshot while the removal is being written, then it waits, and reads what the removal left', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('update volumesnapshots', { kind: 'delay', ms: 1_000 });
    await s.remove('restored');
    let seen: readonly string[] | undefined;
    const taken = s.references.acquire(uid('next'), daily).then(() => (seen = s.finalizers()));
    await s.settle();
    expect(seen).toBeUndefined();
    await s.clock.advance(1_000);
    await taken;
    expect(seen).toEqual(others);
  });

  it('given another writer changed the snapshot after it was read, then the conflict removes nothing, and it is read and written again soon', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('list persistentvolumeclaims', { kind: 'delay', ms: 1_000 });
    await s.remove('restored');
    s.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
      ...snapshot,
      metadata: { ...snapshot.metadata, labels: { a: 'b' } },
    }));
    await s.clock.advance(1_000);
    expect(s.writes()).toEqual(['update volumesnapshots team/daily 409']);
    await s.clock.advance(50);
    expect(s.writes()).toEqual(['update volumesnapshots team/daily 409', 'update volumesnapshots team/daily 200']);
    expect([s.finalizers(), s.snapshot()?.metadata?.labels]).toEqual([others, { a: 'b' }]);
  });

  it.each([
    [3, others],
    [4, both],
  ])(
    'given another writer is faster %i times, then the first three repeats come soon, and the fourth after a longer pause',
    async (times, soon) => {
      const s = await someSources({ seed: seeded(aRestore()) });
      s.fault('update volumesnapshots', { kind: 'status', point: 'before', code: 409, reason: 'Conflict' }, times);
      await s.remove('restored');
      await s.clock.advance(200);
      expect(s.finalizers()).toEqual(soon);
      await s.clock.advance(2_000);
      expect(s.finalizers()).toEqual(others);
    },
  );
});

describe('missing kinds and permissions', () => {
  it('given no sweep, then snapshots are neither listed nor watched, and a finalizer of an earlier program stays', async () => {
    const s = await someSources({ seed: seeded(), sweep: 'off' });
    await s.clock.advance(2 * sweepMs);
    expect([s.finalizers(), s.requestLines()]).toEqual([both, []]);
    expect(s.server.requests.filter(({ resource }) => resource === 'volumesnapshots')).toEqual([]);
  });

  it('given the kinds vanish after the start, then the other loops work all the same', async () => {
    const s = await someSources({ seed: [], snapshotKinds: 'missing' });
    expect(s.logger.messages()).toContain('Caches are synced');
  });

  it('given the snapshot may not be updated, when the finalizer is to be removed, then that is logged and tried at the next sweep only', async () => {
    const s = await someSources({ seed: seeded(aRestore()) });
    s.fault('update volumesnapshots', { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' });
    await s.remove('restored');
    await s.clock.advance(60_000);
    expect(s.finalizers()).toEqual(both);
    expect(s.logger.messages().filter((line) => line.includes('missing RBAC permissions'))).toHaveLength(1);
    await s.clock.advance(sweepMs);
    expect(s.finalizers()).toEqual(others);
  });
});

it('given hundreds of claims restore one snapshot, when they end one by one, then the finalizer is removed once, by the last', async () => {
  const names = Array.from({ length: 300 }, (_, index) => `r${index}`);
  const s = await someSources({ seed: seeded(...names.map((name) => aRestore({ name }))) });
  for (const name of names) await s.references.acquire(uid(name), daily);
  for (const name of names) {
    s.server.seed(aVolume({ name: `pvc-uid-${name}`, spec: { claimRef: { uid: `uid-${name}` } } }));
  }
  await s.settle();
  for (const name of names) s.references.release(uid(name), 'other');
  await s.settle();
  await s.settle();
  expect([s.finalizers(), s.requestLines()]).toEqual([
    others,
    ['get volumesnapshots daily', 'update volumesnapshots daily'],
  ]);
  expect(s.metrics.value('workqueue_depth', { name: 'snapshotsources' })).toBe(0);
});
