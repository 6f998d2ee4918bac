// SPDX-License-Identifier: Apache-2.0
/** Finalizers of snapshots and of their claims. */
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { faultOn, listOldState, there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aContent, aProtectedClaim, aSnapshot, aVolume } from '../../testing/builders.ts';
import { aController, conflict, type Fixture, forbidden } from '../../testing/controller-fixture.ts';

const name = 'snapcontent-uid-of-snap';
const bound = { boundVolumeSnapshotContentName: name, readyToUse: false };
const ready = { ...bound, readyToUse: true };
const both = [finalizers.asSource, finalizers.bound];
const claimWrites = (it: Fixture): readonly string[] => it.writes().filter((line) => line.includes('claims'));

describe('of snapshots', () => {
  it('[snapshot-controller#78, S10] given none, then both come in one write', async () => {
    const it = await aController({ with: [aSnapshot({ status: bound }), aContent()] });
    expect(it.snapshot()?.metadata?.finalizers).toEqual(both);
    expect(it.writes().filter((line) => line === 'patch volumesnapshots team/snap 200').length).toBe(1);
    await it.stop();
  });

  it('[snapshot-controller#79, 80] given some, then the missing ones come last, and the others keep their order', async () => {
    const metadata = { finalizers: ['z.io/a', finalizers.asSource, 'a.io/b'] };
    const it = await aController({ with: [aSnapshot({ metadata, status: bound }), aContent()] });
    expect(it.snapshot()?.metadata?.finalizers).toEqual([...metadata.finalizers, finalizers.bound]);
    await it.stop();
  });

  it('[snapshot-controller#81] given that they cannot be written, then an event, no status, and another attempt', async () => {
    const it = await aController({
      with: [aSnapshot()],
      faults: [{ when: ({ verb, resource }) => verb === 'patch' && resource === 'volumesnapshots', fault: forbidden }],
    });
    expect(it.events).toEqual([
      expect.stringMatching(/^Warning SnapshotFinalizerError team\/snap: Failed to check and update snapshot: ./),
    ]);
    expect([it.snapshot()?.status, it.content()]).toEqual([undefined, undefined]);
    await it.clock.advance(2_000);
    expect(it.content()).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#82] given the policy Retain, then only one finalizer, the other comes when the policy becomes Delete, and the deletion removes both when it is Retain again', async () => {
    const it = await aController({
      seed: [aClaim(), aVolume(), aClass('gold', { deletionPolicy: 'Retain' })],
      with: [aSnapshot()],
    });
    expect(it.snapshot()?.metadata?.finalizers).toEqual([finalizers.asSource]);
    await it.report({ readyToUse: true });
    await it.change(volumeSnapshotContents, { name }, (content) => ({
      ...content,
      spec: { ...content.spec, deletionPolicy: 'Delete' as const },
    }));
    expect(it.snapshot()?.metadata?.finalizers).toEqual(both);
    await it.change(volumeSnapshotContents, { name }, (content) => ({
      ...content,
      spec: { ...content.spec, deletionPolicy: 'Retain' as const },
    }));
    expect(it.snapshot()?.metadata?.finalizers).toEqual(both);
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    expect(it.snapshot()).toBeUndefined();
    expect(there(it.content()).metadata?.deletionTimestamp).toBeUndefined();
    await it.stop();
  });

  it('[P12] given a first pass that fails, then its error is written without a conflict', async () => {
    const it = await aController({ seed: [aClaim({ phase: 'Pending' }), aVolume(), aClass()], with: [aSnapshot()] });
    expect(it.writes().filter((line) => line.endsWith('409'))).toEqual([]);
    expect(it.snapshot()?.status?.error).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#83] given a deletion while the finalizers are written, then none is added', async () => {
    const it = await aController();
    it.fault('patch volumesnapshots', { kind: 'delay', ms: 1_000 });
    await it.add(aSnapshot({ metadata: { finalizers: ['a.io/b'] } }));
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    await it.clock.advance(2_000);
    expect(it.snapshot()?.metadata?.finalizers).toEqual(['a.io/b']);
    expect(it.content()).toBeUndefined();
    expect(it.events).toEqual([]);
    await it.stop();
  });
});

describe('of claims', () => {
  const isReady = (status: object = ready) => aSnapshot({ metadata: { finalizers: both }, status });
  /** The claim of a ready snapshot is to be released; the first attempts meet this. */
  const releasing = (fault: Fault, times = 1): Promise<Fixture> =>
    aController({
      seed: [aProtectedClaim(), aVolume(), aClass()],
      with: [isReady(), aContent({ status: { readyToUse: true } })],
      faults: [faultOn('update persistentvolumeclaims', fault, times)],
    });

  it('[snapshot-controller#84] given a claim that has it, then it is not written again', async () => {
    const it = await aController({ seed: [aProtectedClaim(), aVolume(), aClass()], with: [aSnapshot()] });
    expect(claimWrites(it)).toEqual([]);
    expect(it.reads()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#84] given a claim with other finalizers, then ours comes last and leaves with the others untouched', async () => {
    const claim = aClaim({ metadata: { finalizers: ['kubernetes.io/pvc-protection'], labels: { a: 'b' } } });
    const it = await aController({ seed: [claim, aVolume(), aClass()], with: [aSnapshot()] });
    expect(it.claim()?.metadata?.finalizers).toEqual(['kubernetes.io/pvc-protection', finalizers.claim]);
    await it.report({ readyToUse: true });
    expect(it.claim()?.metadata).toMatchObject({ finalizers: ['kubernetes.io/pvc-protection'], labels: { a: 'b' } });
    await it.stop();
  });

  describe.each([
    { id: '[snapshot-controller#24]', phase: 'Pending' },
    { id: '[snapshot-controller#25]', phase: 'Lost' },
  ])('[snapshot-controller#S21] $id given a claim that is $phase', ({ phase }) => {
    const seed = [aClaim({ phase }), aVolume(), aClass()];

    it('when it is deleted, then it goes at once, and the snapshot says why it is not taken', async () => {
      const it = await aController({ seed, with: [aSnapshot(), aSnapshot({ name: 'b' })] });
      await it.clock.advance(60_000);
      expect(claimWrites(it)).toEqual([]);
      expect(it.snapshot()?.status?.error?.message).toContain('the PVC data is not yet bound to a PV');
      await it.remove(persistentVolumeClaims, ref('data'));
      expect(it.claim()).toBeUndefined();
      expect(it.snapshot()?.status?.error?.message).toContain('cannot get claim from snapshot');
      await it.stop();
    });

    it('when it is bound, then it is protected before the content is made', async () => {
      const it = await aController({ seed, with: [aSnapshot()] });
      const before = it.writes().length;
      await it.change(persistentVolumeClaims, ref('data'), (claim) => ({ ...claim, status: { phase: 'Bound' } }));
      expect(it.writes().slice(before)).toEqual([
        'update persistentvolumeclaims team/data 200',
        `create volumesnapshotcontents ${name} 201`,
      ]);
      expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
      await it.stop();
    });

    it('[snapshot-controller#30] when it is bound, and deleted before it is protected, then no content is made of a claim that is about to go', async () => {
      const slow = ['example.com/slow'];
      const claim = aClaim({ phase, metadata: { finalizers: slow } });
      const it = await aController({ seed: [claim, aVolume(), aClass()], with: [aSnapshot()] });
      it.overtake('update persistentvolumeclaims', persistentVolumeClaims, {
        ref: ref('data'),
        change: (known) => ({ ...known, metadata: { ...known.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      });
      await it.change(persistentVolumeClaims, ref('data'), (known) => ({ ...known, status: { phase: 'Bound' } }));
      await it.clock.advance(60_000);
      expect(claimWrites(it)).toEqual(['update persistentvolumeclaims team/data 409']);
      expect(it.claim()?.metadata?.finalizers).toEqual(slow);
      expect(it.content()).toBeUndefined();
      expect(it.snapshot()?.status?.error?.message).toContain('it is being deleted');
      await it.stop();
    });
  });

  it('[snapshot-controller#87] [P26] given a snapshot that always fails, then the claim stays protected until the snapshot is deleted', async () => {
    const it = await aController({ seed: [aClaim(), aClass()], with: [aSnapshot()] });
    await it.clock.advance(600_000);
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#87] [P26] given a snapshot that always fails after it got its finalizers, beside one that is ready, then the claim stays protected until it is deleted', async () => {
    const it = await aController({
      seed: [aProtectedClaim(), aVolume(), aClass(), aClass('foreign', { driver: 'other.example.com' })],
      with: [
        isReady(),
        aContent({ status: { readyToUse: true } }),
        aSnapshot({ name: 'failing', spec: { volumeSnapshotClassName: 'foreign' } }),
      ],
    });
    await it.clock.advance(1_000_000);
    expect(it.snapshot('failing')?.status?.error).toBeDefined();
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'failing' });
    await it.clock.advance(1_000_000);
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#89, S18] given a ready snapshot whose claim cannot be released, then an event, nothing else changes, and the backoff tries again', async () => {
    const it = await releasing(forbidden, 3);
    const line = 'Warning ErrorPVCFinalizer team/snap: Error check and remove PVC Finalizer for VolumeSnapshot';
    expect(it.events).toEqual([line]);
    expect(it.snapshot()?.status).toEqual(ready);
    await it.clock.advance(20_000);
    expect(it.events).toEqual([line, line, line]);
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#90] given conflicts, then the claim is read again and released in place', async () => {
    const it = await releasing(conflict, 4);
    await it.clock.advance(100);
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    expect(it.events).toEqual([]);
    expect(it.reads().length).toBe(4);
    await it.stop();
  });

  it('[snapshot-controller#90] given five conflicts in a row, then an event, and the backoff tries again', async () => {
    const it = await releasing(conflict, 5);
    await it.clock.advance(100);
    expect(it.events).toEqual([
      'Warning ErrorPVCFinalizer team/snap: Error check and remove PVC Finalizer for VolumeSnapshot',
    ]);
    expect([it.reads().length, it.claim()?.metadata?.finalizers]).toEqual([4, [finalizers.claim]]);
    await it.clock.advance(1_200);
    expect([it.events.length, it.claim()?.metadata?.finalizers ?? []]).toEqual([1, []]);
    await it.stop();
  });

  it('[snapshot-controller#91] given a claim that goes before it is released, then that counts as done', async () => {
    const it = await releasing({ kind: 'status', point: 'before', code: 404, reason: 'NotFound' });
    expect(it.events).toEqual([]);
    expect(it.logger.lines.filter(({ message }) => message.includes('will retry'))).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#91] given a claim that is gone, then there is nothing to release', async () => {
    const it = await aController({ seed: [aClass()], with: [isReady(), aContent({ status: { readyToUse: true } })] });
    expect([it.writes(), it.events]).toEqual([[], []]);
    await it.stop();
  });

  it('[snapshot-controller#92] given a claim that no snapshot names, then its finalizer stays', async () => {
    const it = await aController({
      seed: [aProtectedClaim({ name: 'other' }), aClass()],
      with: [isReady(), aContent()],
    });
    await it.clock.advance(900_000);
    expect(it.claim('other')?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.stop();
  });

  it('given a snapshot that comes while the claim is released, then it is protected before the content is made', async () => {
    const it = await aController({
      seed: [aProtectedClaim(), aVolume(), aClass()],
      faults: [
        {
          when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
          fault: { kind: 'lag', ms: 1_000 },
        },
      ],
    });
    await it.add(isReady(), aContent({ status: { readyToUse: true } }));
    await it.add(aSnapshot({ name: 'late' }));
    expect(it.content('snapcontent-uid-of-late')).toBeUndefined();
    await it.clock.advance(2_000);
    expect(it.content('snapcontent-uid-of-late')).toBeDefined();
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.stop();
  });

  it('given a claim whose release has reached the API server and is not answered yet, and a slow watch of claims, when a new snapshot has its finalizers, then it does not rely on the finalizer of the claim that the cache still shows', async () => {
    const slow: FaultRule['when'] = ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumeclaims';
    const it = await aController({
      seed: [aProtectedClaim(), aVolume(), aClass()],
      faults: [{ when: slow, fault: { kind: 'lag', ms: 5_000 }, times: 9 }],
    });
    await it.clock.advance(60_000);
    it.fault('update persistentvolumeclaims', { kind: 'lag', ms: 1_000 });
    await it.add(isReady(), aContent({ status: { readyToUse: true } }));
    const before = it.writes().length;
    await it.add(aSnapshot({ name: 'late' }));
    await it.clock.advance(500);
    expect(it.writes().slice(before)).toEqual(['patch volumesnapshots team/late 200']);
    await it.clock.advance(2_000);
    expect(it.writes().slice(before + 1)).toEqual([
      'update persistentvolumeclaims team/data 200',
      'create volumesnapshotcontents snapcontent-uid-of-late 201',
      'patch volumesnapshots/status team/late 200',
    ]);
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.stop();
  });

  it('given a new snapshot at the moment of a conflict, then the claim is not released', async () => {
    const it = await aController({
      seed: [aProtectedClaim(), aVolume(), aClass()],
      faults: [faultOn('update persistentvolumeclaims', conflict)],
    });
    await it.add(isReady(), aContent({ status: { readyToUse: true } }));
    // The release waits before it reads the claim again.
    await it.add(aSnapshot({ name: 'late' }));
    await it.clock.advance(1_000);
    expect(claimWrites(it)).toEqual([]);
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    expect(it.content('snapcontent-uid-of-late')).toBeDefined();
    await it.stop();
  });

  const taken = (name: string, className = 'gold') =>
    aSnapshot({
      name,
      spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: className },
    });
  const ref = (name: string) => ({ namespace: 'team', name });

  it.each([
    // Without the volume there are no contents.
    { what: 'without contents', seed: [aClaim(), aClass()] },
    {
      what: 'with contents that stay',
      seed: [aClaim(), aVolume(), aClass('gold', { deletionPolicy: 'Retain' })],
    },
  ])(
    '[snapshot-controller#88] given snapshots $what that are not ready, when they are deleted at the same moment, then the claim is released before the last one goes',
    async ({ seed }) => {
      const late = { kind: 'lag', ms: 500 } as const;
      const it = await aController({
        seed,
        with: [taken('a'), taken('b')],
        faults: [
          { when: ({ verb, resource }) => verb === 'watch' && resource === 'volumesnapshots', fault: late, times: 9 },
        ],
      });
      await it.clock.advance(10_000);
      expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
      // Each looks at the claim before it sees the end of the other one, and the process dies before it can look again.
      it.fault('patch volumesnapshots', { kind: 'lag', ms: 5_000 }, 2);
      it.server.objects.delete(volumeSnapshots, ref('a'));
      await it.remove(volumeSnapshots, ref('b'));
      await it.clock.advance(1_400);
      expect([it.snapshot('a'), it.snapshot('b')]).toEqual([undefined, undefined]);
      it.crash();
      expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    },
  );

  it('[snapshot-controller#86] given a new leader whose watch does not show yet that another snapshot was begun, when one of the claim is deleted, then the claim stays protected', async () => {
    const held = { finalizers: both };
    const begun = (key: string): ReturnType<typeof aSnapshot> =>
      aSnapshot({ name: key, uid: `uid-of-${key}`, metadata: held, status: { readyToUse: false } });
    const it = await aController({
      seed: [aProtectedClaim(), aVolume(), aClass(), begun('a'), aContent({ of: begun('a') })],
      faults: [
        {
          when: ({ verb, resource }) => verb === 'watch' && resource === 'volumesnapshots',
          fault: { kind: 'lag', ms: 3_000 },
        },
      ],
    });
    it.server.objects.delete(volumeSnapshots, ref('a'));
    it.server.seed(begun('b'));
    it.server.seed(aContent({ of: begun('b') }));
    await it.clock.advance(60_000);
    expect(it.content('snapcontent-uid-of-a')?.metadata?.deletionTimestamp).toBeDefined();
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.stop();
  });

  it('[snapshot-controller#88] given another snapshot that has no class and so none of our finalizers, when the one that protected the claim is deleted, then the claim is released', async () => {
    const it = await aController({ seed: [aClaim(), aClass()], with: [taken('a'), taken('b', 'missing')] });
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.remove(volumeSnapshots, ref('a'));
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.remove(volumeSnapshots, ref('b'));
    expect([it.snapshot('a'), it.snapshot('b')]).toEqual([undefined, undefined]);
    await it.stop();
  });

  describe('given a ready snapshot, and another one whose class is missing', () => {
    const seed = [aProtectedClaim(), aVolume(), aClass()];
    const pair = [isReady(), aContent({ status: { readyToUse: true } }), taken('b', 'missing')];
    const isListed = (it: Fixture): boolean =>
      it.server.requests.filter(({ verb, resource }) => verb === 'list' && resource === 'volumesnapshots').length > 0;

    it('[snapshot-controller#87] then the claim is released, and one that is being deleted goes (upstream: external-snapshotter#1305)', async () => {
      const it = await aController({ seed, with: pair });
      expect(it.writes()).toEqual([
        'patch volumesnapshots/status team/b 200',
        'update persistentvolumeclaims team/data 200',
      ]);
      expect(isListed(it)).toBe(true);
      await it.remove(persistentVolumeClaims, ref('data'));
      expect(it.claim()).toBeUndefined();
      await it.clock.advance(900_000);
      expect(it.writes().slice(2)).toEqual([]);
      await it.stop();
    });

    it('[snapshot-controller#87] when its class appears, then the claim is protected again before its content is made', async () => {
      const it = await aController({ seed, with: pair });
      await it.add(aClass('missing'));
      expect(it.writes().slice(2)).toEqual([
        'patch volumesnapshots team/b 200',
        'update persistentvolumeclaims team/data 200',
        'create volumesnapshotcontents snapcontent-uid-of-b 201',
      ]);
      expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
      await it.stop();
    });

    it('[snapshot-controller#30, 87] when its class appears while the claim is being deleted, then no content is made of a claim that is about to go', async () => {
      const claim = aProtectedClaim({
        metadata: { finalizers: [finalizers.claim, 'example.com/slow'], deletionTimestamp: '2026-01-01T00:00:00Z' },
      });
      const it = await aController({ seed: [claim, aVolume(), aClass()], with: pair });
      expect(it.claim()?.metadata?.finalizers).toEqual(['example.com/slow']);
      await it.add(aClass('missing'));
      expect(it.content('snapcontent-uid-of-b')).toBeUndefined();
      expect(it.snapshot('b')?.status?.error?.message).toContain('it is being deleted');
      await it.stop();
    });

    it('[snapshot-controller#86] when another replica has taken that one since it was cached, then the claim stays protected', async () => {
      const it = await aController({ seed });
      it.overtake('list volumesnapshots', volumeSnapshots, {
        ref: ref('b'),
        change: (snapshot) => ({ ...snapshot, metadata: { ...snapshot.metadata, finalizers: [finalizers.asSource] } }),
      });
      it.server.seed(taken('b', 'missing'));
      await it.add(...pair.slice(0, 2));
      expect(isListed(it)).toBe(true);
      await it.clock.advance(20_000);
      expect(claimWrites(it)).toEqual([]);
      expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
      await it.stop();
    });

    it('[snapshot-controller#89] when the API server does not say which snapshots there are, then the claim stays protected, with an event, and the backoff tries again', async () => {
      const it = await aController({ seed });
      it.fault('list volumesnapshots', forbidden, 4);
      it.server.seed(taken('b', 'missing'));
      await it.add(isReady(), aContent({ status: { readyToUse: true } }));
      expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
      expect(it.events).toContain(
        'Warning ErrorPVCFinalizer team/snap: Error check and remove PVC Finalizer for VolumeSnapshot',
      );
      await it.clock.advance(60_000);
      expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
      await it.stop();
    });
  });

  it('given a claim that is released while a new snapshot of it gets its finalizers, then it is protected again before the content is made', async () => {
    const it = await aController({ seed: [aClaim(), aVolume(), aClass()], with: [taken('a')] });
    it.fault('patch volumesnapshots', { kind: 'delay', ms: 1_000 });
    await it.add(taken('b'));
    await it.remove(volumeSnapshots, ref('a'));
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.clock.advance(2_000);
    const writes = it.writes().slice(it.writes().lastIndexOf('update persistentvolumeclaims team/data 200'));
    expect(writes).toContain('create volumesnapshotcontents snapcontent-uid-of-b 201');
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.stop();
  });

  it.each<{ readonly answer: string; readonly fault: Fault }>([
    { answer: 'no answer', fault: { kind: 'break', point: 'after', failure: 'reset' } },
    { answer: '502 as the answer', fault: { kind: 'status', point: 'after', code: 502, reason: '' } },
  ])(
    '[snapshot-controller#88] given a claim that was protected with $answer, and a slow watch of claims, when the snapshot is deleted meanwhile, then the claim is released',
    async ({ fault }) => {
      const slow: FaultRule['when'] = ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumeclaims';
      const it = await aController({ faults: [{ when: slow, fault: { kind: 'lag', ms: 5_000 }, times: 9 }] });
      await it.clock.advance(60_000);
      const protection: FaultRule['when'] = ({ verb, resource }) => {
        const isIt = verb === 'update' && resource === 'persistentvolumeclaims';
        if (isIt) it.server.objects.delete(volumeSnapshots, ref('snap'));
        return isIt;
      };
      it.faults.push({ when: protection, fault, times: 1 });
      await it.add(aSnapshot());
      await it.clock.advance(60_000);
      if (it.content() !== undefined) await it.letGo(name);
      await it.clock.advance(60_000);
      expect([it.snapshot(), it.claim()?.metadata?.finalizers ?? []]).toEqual([undefined, []]);
      await it.stop();
    },
  );

  /** Old lists lack the object. */
  async function oldServer(plural: string, object: KubeObject) {
    const cluster = (await aController()).crash();
    listOldState(cluster, plural, () => cluster.server.seed(object));
    return cluster;
  }

  it('[snapshot-controller#182] given an API server that streams no lists, and whose old ones show the claim without our finalizer, when a new leader finds its last snapshot being deleted, then the claim is released', async () => {
    const cluster = await oldServer('persistentvolumeclaims', aProtectedClaim());
    const metadata = { finalizers: both, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const it = await aController({ cluster, seed: [aSnapshot({ metadata, status: bound })] });
    await it.clock.advance(60_000);
    expect([it.snapshot(), it.claim()?.metadata?.finalizers ?? []]).toEqual([undefined, []]);
    await it.stop();
  });

  it('[snapshot-controller#184] given an API server that streams no lists, and whose old ones lack a content, when a new leader finds its snapshot waiting for the end of the content, then the snapshot stays until that end', async () => {
    const leaving = {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      annotations: { [snapshotAnnotations.beingDeleted]: 'yes' },
    };
    const cluster = await oldServer('volumesnapshotcontents', aContent({ metadata: leaving }));
    const metadata = { finalizers: [finalizers.bound], deletionTimestamp: '2026-01-01T00:00:00Z' };
    const it = await aController({ cluster, seed: [aSnapshot({ metadata, status: bound })] });
    await it.clock.advance(60_000);
    expect([it.snapshot()?.metadata?.finalizers, it.content()?.metadata?.finalizers?.length]).toEqual([
      metadata.finalizers,
      1,
    ]);
    await it.stop();
  });
});
