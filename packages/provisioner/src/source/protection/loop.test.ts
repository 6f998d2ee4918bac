// SPDX-License-Identifier: Apache-2.0
/** The source loops' queues and log lines, the instances of a node deployment, and what a loop remembers of a source. */
import { createTrigger, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aDriver, aNodeDeployment, driverName, someSettings } from '../../../testing/builders.ts';
import {
  aClone,
  aContent,
  aDyingClaim,
  aRestore,
  aSnapshot,
  boundFinalizer,
} from '../../../testing/source-builders.ts';
import { someSources, type Sources, uid } from '../../../testing/sources-fixture.ts';
import { cloningProtection, snapshotSourceProtection } from '../../names.ts';
import { createSourceReferences } from '../references.ts';
import type { SourceKey, SourceRef } from '../source.ts';
import { watchedBy } from '../../watched.ts';
import { createLiveClaims } from './live-claims.ts';
import { sourceLoops } from './loop.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const both = [boundFinalizer, snapshotSourceProtection];
const others = [boundFinalizer];
const conflict = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' } as const;
const internal = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' } as const;
const daily: SourceRef = { kind: 'snapshot', namespace: 'team', name: 'daily' };

const reads = (s: Sources, resource: string): number =>
  s.server.requests.filter((request) => request.verb === 'get' && request.resource === resource).length;

describe('which loops run', () => {
  const loops = (controller: Parameters<typeof aDriver>[0], threads = 1): number => {
    const driver = aDriver(controller);
    const settings = someSettings({ cloningProtectionThreads: threads });
    const sources = createTrigger<SourceKey>();
    const references = createSourceReferences(sources, new FakeClock());
    const deps = { driverName, settings, references, sources, liveClaims: createLiveClaims() };
    return sourceLoops(driver, watchedBy(driver, { topology: 'off', settings }), deps).length;
  };

  it('given what a driver can copy, then there is one loop for each kind of source', () => {
    expect(loops({ controller: ['CREATE_DELETE_VOLUME'] })).toBe(0);
    expect(loops({ controller: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'] })).toBe(1);
    expect(loops({ controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME'] })).toBe(1);
    expect(loops({ controller: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'] })).toBe(2);
  });

  it('given --cloning-protection-threads=0, then there is no loop for claims', () => {
    expect(loops({ controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME'] }, 0)).toBe(0);
  });
});

describe('workers', () => {
  /** How many reads of this kind hang. */
  const hanging = (s: Sources, resource: string): (() => number) => {
    let count = 0;
    s.faults.push({
      when: (target) => {
        const isRead = target.verb === 'get' && target.resource === resource;
        if (isRead) count += 1;
        return isRead;
      },
      fault: { kind: 'hang', point: 'before' },
      times: 99,
    });
    return () => count;
  };

  it('given five snapshots that are deleted, then four are read at a time', async () => {
    const s = await someSources();
    const reading = hanging(s, 'volumesnapshots');
    for (const name of names) s.server.seed(aSnapshot({ name }));
    await s.settle();
    for (const name of names) s.server.objects.delete(volumeSnapshots, { namespace: 'team', name });
    await s.settle();
    expect(reading()).toBe(4);
  });

  it.each([1, 3])(
    'given --cloning-protection-threads=%i and five source claims, then so many are read at a time',
    async (threads) => {
      const s = await someSources({ settings: { cloningProtectionThreads: threads } });
      const reading = hanging(s, 'persistentvolumeclaims');
      for (const name of names) s.server.seed(aDyingClaim({ name }));
      await s.settle();
      expect(reading()).toBe(threads);
    },
  );
});

describe('log lines of retries', () => {
  const retries = (s: Sources): readonly unknown[] =>
    s.logger.lines.filter(({ message }) => message.startsWith('Retrying'));

  it('given a snapshot whose finalizer cannot be removed, then the line has upstream’s words, queue and object', async () => {
    const s = await someSources({ seed: [aSnapshot(), aContent(), aRestore()] });
    s.fault('update volumesnapshots', internal);
    await s.remove('restored');
    expect(retries(s)).toMatchObject([
      {
        kind: 'error',
        message: 'Retrying to remove finalizer from snapshot',
        facts: { queue: 'snapshotsources', VolumeSnapshot: 'team/daily' },
      },
    ]);
  });

  it('given a claim whose finalizer cannot be removed, then the line has upstream’s words, queue and object', async () => {
    const s = await someSources({ seed: [aDyingClaim(), aClone()] });
    s.fault('update persistentvolumeclaims', internal);
    await s.bind('clone');
    expect(retries(s)).toMatchObject([
      {},
      { kind: 'error', message: 'Retrying to sync claim', facts: { queue: 'clonesources', PVC: 'team/original' } },
    ]);
  });
});

describe('conflicts with other writers', () => {
  it('given three conflicts and a removal, when the finalizer is back later, then three conflicts are again repeated soon', async () => {
    const s = await someSources({ seed: [aSnapshot(), aContent()] });
    expect(s.finalizers()).toEqual(others);
    for (const round of [1, 2]) {
      s.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
        ...snapshot,
        metadata: { ...snapshot.metadata, finalizers: both },
      }));
      s.server.seed(aRestore({ name: `restored-${round}` }));
      await s.settle();
      s.fault('update volumesnapshots', conflict, 3);
      await s.remove(`restored-${round}`);
      await s.clock.advance(200);
      expect([round, s.finalizers()]).toEqual([round, others]);
    }
  });
});

describe('a snapshot of another driver', () => {
  const foreign = aContent({ driver: 'other' });

  it('given it was read once, when it is deleted while its content is there, then both are read again and the finalizer stays', async () => {
    const s = await someSources({ seed: [aSnapshot(), foreign] });
    expect([reads(s, 'volumesnapshots'), reads(s, 'volumesnapshotcontents')]).toEqual([1, 1]);
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    expect([reads(s, 'volumesnapshots'), reads(s, 'volumesnapshotcontents')]).toEqual([2, 2]);
    expect(s.finalizers()).toEqual(both);
  });

  it('given it was read once, when it changes, then the next sweep does not read it again', async () => {
    const s = await someSources({ seed: [aSnapshot(), foreign] });
    s.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
      ...snapshot,
      metadata: { ...snapshot.metadata, labels: { a: 'b' } },
    }));
    await s.clock.advance(600_000);
    expect([reads(s, 'volumesnapshots'), reads(s, 'volumesnapshotcontents')]).toEqual([1, 1]);
  });

  it('given it was read once, when it is deleted after its content, then the finalizer goes', async () => {
    const s = await someSources({ seed: [aSnapshot({ finalizers: [snapshotSourceProtection] }), foreign] });
    s.server.objects.remove(volumeSnapshotContents, { name: 'content-of-daily' });
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    expect(s.snapshot()).toBeUndefined();
  });

  it('given it was read once and is gone, when a claim that named it ends, then it is asked for no more', async () => {
    const s = await someSources({ seed: [aSnapshot(), foreign] });
    s.server.objects.remove(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.clock.advance(600_000);
    expect([reads(s, 'volumesnapshots'), reads(s, 'volumesnapshotcontents')]).toEqual([1, 1]);
  });

  it('[provisioner#230] given it was read once and a claim of this process has let it go, when it is gone and a claim of another driver that named it ends, then it is asked for no more', async () => {
    const theirs = aRestore({ annotations: { 'volume.kubernetes.io/storage-provisioner': 'other' } });
    const s = await someSources({ seed: [aSnapshot(), foreign] });
    await s.references.acquire(uid('refused'), daily);
    s.references.release(uid('refused'), 'other');
    await s.settle();
    s.server.seed(theirs);
    await s.settle();
    s.server.objects.remove(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.remove('restored');
    expect([reads(s, 'volumesnapshots'), reads(s, 'volumesnapshotcontents')]).toEqual([1, 1]);
  });
});

describe('a node deployment', () => {
  const instance = { settings: { node: aNodeDeployment('n1') } };
  const sourceOn = (node: string) => {
    const claim = aDyingClaim();
    const annotations = { ...claim.metadata?.annotations, 'volume.kubernetes.io/selected-node': node };
    return { ...claim, metadata: { ...claim.metadata, annotations } };
  };

  it.each([
    { node: 'n1', then: 'it is gone at once', soon: undefined },
    { node: '', then: 'it is gone at once', soon: undefined },
    { node: 'n2', then: 'it keeps our finalizer until the resync', soon: [cloningProtection] },
  ])(
    'given a source claim of node "$node" that is deleted while the instance of n1 runs, then $then',
    async ({ node, soon }) => {
      const s = await someSources(instance);
      s.server.seed(sourceOn(node));
      await s.settle();
      expect(s.claim()?.metadata?.finalizers).toEqual(soon);
      await s.clock.advance(1_800_000);
      expect(s.claim()).toBeUndefined();
    },
  );

  it('given a snapshot that this instance held, when the claim ends, then the live claims are listed, because other instances may use it', async () => {
    const s = await someSources({ ...instance, seed: [aSnapshot(), aContent(), aRestore()] });
    await s.references.acquire(uid('restored'), daily);
    await s.bind('restored');
    s.references.release(uid('restored'), 'other');
    await s.settle();
    expect(s.requestLines()).toEqual([
      'get volumesnapshots daily',
      'list persistentvolumeclaims team',
      'update volumesnapshots daily',
    ]);
    expect(s.finalizers()).toEqual(others);
  });
});

const original: SourceRef = { kind: 'claim', namespace: 'team', name: 'original' };
const sweepMs = 300_000;
const errors = (s: Sources): readonly unknown[] => s.logger.lines.filter(({ kind }) => kind === 'error');
const theirs = { annotations: { 'volume.kubernetes.io/storage-provisioner': 'other' } };
/** Its finalizer is that of another driver's claim, or of nothing: it is asked for by no provisioner yet. */
const unasked = { name: 'waits', annotations: {} };

function annotate(s: Sources, name: string): void {
  s.server.objects.change(persistentVolumeClaims, { namespace: 'team', name }, (claim) => ({
    ...claim,
    metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, note: 'x' } },
  }));
}

describe('changes that concern no source', () => {
  it.each([
    ['a claim without a source', aClaim({ name: 'c' })],
    ['a restore of another driver', aRestore({ ...theirs, name: 'c' })],
    ['a clone of a claim that is not being deleted', aClone({ name: 'c' })],
  ])(
    'given %s, when it appears, is bound and is deleted, then nothing is requested, and no handler fails',
    async (_what, claim) => {
      const s = await someSources({ seed: [aClaim({ name: 'original' })] });
      s.server.seed(claim);
      await s.settle();
      await s.bind('c');
      await s.remove('c');
      await s.clock.advance(1_000);
      expect([s.requestLines(), errors(s)]).toEqual([[], []]);
    },
  );

  it('given a snapshot appears, is needed, and is gone, then nothing is requested, and no handler fails', async () => {
    const s = await someSources({ seed: [aContent(), aRestore()] });
    s.server.seed(aSnapshot({ name: 'other', deleting: 'yes' }));
    s.server.seed(aSnapshot());
    await s.settle();
    s.server.objects.remove(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    expect([s.requestLines(), errors(s)]).toEqual([[], []]);
  });

  it('given a snapshot that is being deleted and needed, when it changes, then it is not looked at again', async () => {
    const s = await someSources({ seed: [aContent(), aSnapshot(), aRestore()] });
    const adds = (): number | undefined => s.metrics.value('workqueue_adds_total', { name: 'snapshotsources' });
    s.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    await s.settle();
    const before = adds();
    s.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
      ...snapshot,
      metadata: { ...snapshot.metadata, labels: { a: 'b' } },
    }));
    await s.settle();
    expect([adds(), s.finalizers()]).toEqual([before, both]);
  });

  it('given a source claim that is being deleted and cannot be released, when it or a bound claim changes, then it is not looked at again', async () => {
    const s = await someSources({
      seed: [aDyingClaim(), aClone(), aDyingClaim({ name: 'b' }), aClone({ name: 'c', source: { name: 'b' } })],
    });
    const adds = (): number | undefined => s.metrics.value('workqueue_adds_total', { name: 'clonesources' });
    const before = adds();
    annotate(s, 'original');
    annotate(s, 'b');
    await s.settle();
    expect([adds(), s.requestLines(), s.writes()]).toEqual([before, [], []]);
  });
});

describe('a claim that is a source and has a source', () => {
  const middle = (phase: string) => aClone({ name: 'middle', phase, finalizers: [cloningProtection], deleting: 'yes' });

  it('given it is bound while it is being deleted, then its own source goes', async () => {
    const s = await someSources({ seed: [aDyingClaim(), middle('Pending'), aClone({ source: { name: 'middle' } })] });
    expect(s.claim()?.metadata?.finalizers).toEqual([cloningProtection]);
    await s.bind('middle');
    expect([s.claim(), s.claim('middle')?.metadata?.finalizers]).toEqual([undefined, [cloningProtection]]);
  });

  it('given it was bound before, when it changes, then its source is not looked at again', async () => {
    const user = 'example.com/user';
    const s = await someSources({
      seed: [
        aDyingClaim({ finalizers: [user, cloningProtection] }),
        aClone(),
        middle('Bound'),
        aClone({ name: 'c', source: { name: 'middle' } }),
      ],
    });
    const adds = (): number | undefined => s.metrics.value('workqueue_adds_total', { name: 'clonesources' });
    const before = adds();
    annotate(s, 'middle');
    await s.settle();
    expect(adds()).toBe(before);
  });

  it('given it is pending, when it is deleted and no claim needs it, then its finalizer goes at once', async () => {
    const s = await someSources({ seed: [aClone({ name: 'middle', finalizers: [cloningProtection] })] });
    await s.remove('middle');
    expect([s.claim('middle'), s.writes()]).toEqual([undefined, ['update persistentvolumeclaims team/middle 200']]);
  });
});

it.each([
  { source: daily, woken: [1, 0] },
  { source: { kind: 'claim', namespace: 'team', name: 'original' } as const, woken: [0, 1] },
])(
  'given a claim of this process lets a $source.kind go, then only the loop of that kind is woken',
  async ({ source, woken }) => {
    const s = await someSources();
    const queues = ['snapshotsources', 'clonesources'];
    const adds = () => queues.map((name) => s.metrics.value('workqueue_adds_total', { name }) ?? 0);
    const before = adds();
    await s.references.acquire(uid('restored'), source);
    s.references.release(uid('restored'), 'other');
    await s.settle();
    expect(adds().map((count, index) => count - before[index]!)).toEqual(woken);
  },
);

describe('who put the finalizer on', () => {
  it('given a claim of this process lets a source claim go, then the source waits for every pending clone as well', async () => {
    const s = await someSources({ seed: [aDyingClaim(), aClone(unasked)] });
    await s.references.acquire(uid('clone'), original);
    s.references.release(uid('clone'), 'other');
    await s.settle();
    expect([s.claim()?.metadata?.finalizers, errors(s)]).toEqual([[cloningProtection], []]);
  });

  it('given a claim of this process lets a snapshot go that has no finalizer, when one is found later, then it waits for every pending claim', async () => {
    const s = await someSources({ seed: [aSnapshot({ finalizers: others }), aContent(), aRestore(unasked)] });
    await s.references.acquire(uid('restored'), daily);
    s.references.release(uid('restored'), 'other');
    await s.settle();
    s.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
      ...snapshot,
      metadata: { ...snapshot.metadata, finalizers: both },
    }));
    await s.clock.advance(2 * sweepMs);
    expect(s.finalizers()).toEqual(both);
  });

  it('given a claim that appears while a snapshot is read, then the finalizer stays', async () => {
    const s = await someSources({ seed: [aSnapshot(), aContent(), aRestore()] });
    await s.references.acquire(uid('restored'), daily);
    s.fault('get volumesnapshots', { kind: 'delay', ms: 1_000 }, 1);
    await s.remove('restored');
    s.references.release(uid('restored'), 'other');
    await s.settle();
    s.server.seed(aRestore({ name: 'next' }));
    await s.clock.advance(2_000);
    expect([s.finalizers(), s.writes()]).toEqual([both, []]);
  });
});

describe('conflicts over a source claim', () => {
  const user = 'example.com/user';

  it('given a source that is gone after two conflicts, when another of the name has three, then these are repeated soon as well', async () => {
    const s = await someSources();
    for (const round of [1, 2]) {
      s.fault('update persistentvolumeclaims', conflict, 3);
      s.server.seed(aDyingClaim({ finalizers: [user, cloningProtection] }));
      if (round === 1) {
        await s.clock.advance(75);
        s.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'original' });
        s.faults.splice(0);
      }
      await s.clock.advance(200);
    }
    expect(s.claim()?.metadata?.finalizers).toEqual([user]);
  });
});

describe('what is logged of a removal', () => {
  const messages = (s: Sources): readonly unknown[] =>
    s.logger.lines
      .filter(({ message }) => /emoved/.test(message))
      .map((line) => [line.kind === 'info' && line.level, line.message]);

  it('given a source claim, then the removal is one line of level 3', async () => {
    const s = await someSources({ seed: [aDyingClaim()] });
    expect(messages(s)).toEqual([[3, `Removed finalizer ${cloningProtection} from claim team/original`]]);
  });

  it('given a snapshot that this process did not protect, then the removal is one line of level 0; given one that is needed, then none', async () => {
    const s = await someSources({
      seed: [aSnapshot(), aContent(), aSnapshot({ name: 'needed' }), aRestore({ source: { name: 'needed' } })],
    });
    expect(messages(s)).toEqual([
      [0, 'SnapshotFinalizerProtection: removed orphaned finalizer from snapshot team/daily'],
    ]);
  });
});

it('given no sweep and a claim that ends, when its snapshot is of another driver, then the finalizer stays, and nothing fails', async () => {
  const s = await someSources({ sweep: 'off', seed: [aSnapshot(), aContent({ driver: 'other' }), aRestore()] });
  await s.remove('restored');
  expect([s.finalizers(), reads(s, 'volumesnapshotcontents'), errors(s)]).toEqual([both, 1, []]);
});

it.each([
  { node: 'n1', then: 'the finalizer goes', left: [boundFinalizer] },
  { node: 'n2', then: 'it is for the instance of that node, which may have a call open', left: both },
])('given node deployment and a restore on $node, when its claim goes, then $then', async ({ node, left }) => {
  const s = await someSources({
    settings: { node: aNodeDeployment('n1') },
    seed: [aSnapshot(), aContent(), aRestore({ node })],
  });
  await s.remove('restored');
  expect([s.finalizers(), errors(s)]).toEqual([left, []]);
});

describe('the node of a source claim', () => {
  const selected = { 'volume.kubernetes.io/selected-node': 'n2' };

  it('given a central deployment and a source claim for another node, when it is deleted, then it loses our finalizer and ends', async () => {
    const claim = aDyingClaim();
    const s = await someSources();
    s.server.seed({
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, ...selected } },
    });
    await s.settle();
    expect([s.claim(), errors(s)]).toEqual([undefined, []]);
  });

  it('given the instance of a node and a clone whose source is not being deleted, then nothing is requested, and no handler fails', async () => {
    const s = await someSources({ settings: { node: aNodeDeployment('n1') }, seed: [aClone()] });
    await s.bind('clone');
    expect([s.requestLines(), errors(s)]).toEqual([[], []]);
  });
});
