// SPDX-License-Identifier: Apache-2.0
/** The finalizers of a snapshot that is being deleted, while its content goes before it and after that. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { faultOn, there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  type VolumeSnapshot,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aContent, aGroup, aProtectedClaim, aSnapshot } from '../../testing/builders.ts';
import { aController, comeLate, conflict, type Fixture, forbidden } from '../../testing/controller-fixture.ts';
import { deleting, owner, prepared, ready } from '../../testing/snapshot-states.ts';

const name = 'snapcontent-uid-of-snap';
const ref = { namespace: 'team', name: 'snap' };
const all = [...prepared.finalizers, finalizers.inGroup];
const patch = 'patch volumesnapshots team/snap';

const aReadySnapshot = (more: Parameters<typeof aSnapshot>[0] = {}): VolumeSnapshot =>
  aSnapshot({ metadata: prepared, status: ready, ...more });
/** As another process left it, which waited for the content. */
const waiting = aReadySnapshot({ metadata: { ...prepared, ...deleting } });
const leaving = aContent({
  metadata: {
    annotations: { [snapshotAnnotations.beingDeleted]: 'yes' },
    finalizers: [finalizers.content, 'a.io/b'],
    ...deleting,
  },
});
const aMember = (finalizersOfIt: readonly string[], metadata: object = {}): VolumeSnapshot =>
  aReadySnapshot({
    metadata: { finalizers: finalizersOfIt, ...metadata },
    status: { ...ready, volumeGroupSnapshotName: 'group' },
  });

/** A snapshot whose deletion has begun here, and that waits for its content. */
async function whileItWaits(...objects: readonly KubeObject[]): Promise<Fixture> {
  const it = await aController({ with: objects.length === 0 ? [aReadySnapshot(), aContent()] : objects });
  await it.remove(volumeSnapshots, ref);
  expect(it.snapshot()).toBeDefined();
  it.server.clearRequests();
  return it;
}

const requests = (it: Fixture): readonly string[] =>
  it.server.requests.filter(({ verb }) => verb !== 'watch').map(({ verb, resource }) => `${verb} ${resource}`);

describe('given the process that waited for the content', () => {
  it('[snapshot-controller#107, D3] when the content is gone, then all finalizers go in one patch, and nothing is read', async () => {
    const it = await whileItWaits();
    expect(it.snapshot()?.metadata?.finalizers).toEqual(prepared.finalizers);
    await it.letGo();
    expect([it.snapshot(), requests(it)]).toEqual([undefined, ['patch volumesnapshots']]);
    await it.stop();
  });

  it.each([
    { given: 'a conflict', fault: conflict },
    { given: 'a refusal', fault: forbidden },
    { given: 'a lost answer', fault: { kind: 'status', point: 'after', code: 504, reason: 'Timeout' } as const },
  ])(
    '[snapshot-controller#107, D9] when the patch of the finalizers meets $given, then the content is not asked for, and the snapshot goes',
    async ({ fault }) => {
      const it = await whileItWaits();
      it.fault('patch volumesnapshots', fault);
      await it.letGo();
      await it.clock.advance(10_000);
      expect(it.snapshot()).toBeUndefined();
      expect(it.reads().filter((line) => line.includes('contents'))).toEqual([]);
      await it.stop();
    },
  );

  it('[snapshot-controller#107] when somebody takes the content away by force, then the snapshot goes, and nothing is read', async () => {
    const it = await whileItWaits();
    await it.vanish(volumeSnapshotContents, { name });
    expect([it.snapshot(), requests(it)]).toEqual([undefined, ['patch volumesnapshots']]);
    await it.stop();
  });

  it('[snapshot-controller#193] when the content becomes Retain, then all finalizers go at once', async () => {
    const it = await whileItWaits();
    await it.change(volumeSnapshotContents, { name }, (content) => ({
      ...content,
      spec: { ...content.spec, deletionPolicy: 'Retain' as const },
    }));
    expect([it.snapshot(), it.writes().at(-1)]).toEqual([undefined, `${patch} 200`]);
    expect(requests(it)).toEqual(['patch volumesnapshots']);
    await it.stop();
  });

  it('[snapshot-controller#193] when the content has a foreign finalizer, then the snapshot keeps its finalizers until that is off', async () => {
    const it = await whileItWaits(aReadySnapshot(), aContent({ metadata: { finalizers: ['a.io/b'] } }));
    await it.letGo();
    await it.clock.advance(3_600_000);
    expect([it.snapshot()?.metadata?.finalizers, requests(it)]).toEqual([prepared.finalizers, []]);
    await it.vanish(volumeSnapshotContents, { name });
    expect(it.snapshot()).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#D10] when a later snapshot has the name, then it is not taken for the earlier one, and its content is asked for', async () => {
    const it = await whileItWaits();
    await it.letGo();
    const later = aSnapshot({ uid: 'second', metadata: { ...prepared, ...deleting }, status: ready });
    it.server.clearRequests();
    await it.add(later);
    expect([it.snapshot(), requests(it)]).toEqual([undefined, ['get volumesnapshotcontents', 'patch volumesnapshots']]);
    await it.stop();
  });

  it('[snapshot-controller#191, D5] when a later group gets the name of that of the snapshot before the content is gone, then the snapshot does not say that it keeps it', async () => {
    const it = await whileItWaits(aMember(all), aContent());
    await it.add(aGroup({ uid: 'second' }));
    expect(it.events.filter((line) => line.includes('SnapshotDeletePending'))).toEqual([]);
    await it.stop();
  });

  it.each([
    { given: 'are watched', groups: true },
    { given: 'are switched off', groups: false },
  ])(
    '[snapshot-controller#191, D5] when groups $given, and a later group gets the name of that of the snapshot, then the group keeps nothing',
    async ({ groups }) => {
      const it = await aController({ with: [aMember(all), aContent()], settings: { groups } });
      await it.remove(volumeSnapshots, ref);
      await it.add(aGroup({ uid: 'second' }));
      it.server.clearRequests();
      await it.letGo();
      expect([it.snapshot(), requests(it)]).toEqual([undefined, ['patch volumesnapshots']]);
      await it.stop();
    },
  );
});

describe('given a new leader', () => {
  it('[snapshot-controller#107, D3] when the content went before, then it is asked for once, and all finalizers go in one patch', async () => {
    const it = await aController({ with: [waiting] });
    expect([it.snapshot(), it.reads(), it.writes()]).toEqual([
      undefined,
      [`get volumesnapshotcontents ${name}`],
      [`${patch} 200`],
    ]);
    await it.stop();
  });

  it('[snapshot-controller#107, D10] when the content is still on its way, then the snapshot keeps all finalizers, and goes after it without a read', async () => {
    const it = await aController({ with: [waiting, leaving] });
    await it.clock.advance(60_000);
    expect([it.snapshot()?.metadata?.finalizers, it.reads(), it.writes()]).toEqual([prepared.finalizers, [], []]);
    await it.vanish(volumeSnapshotContents, { name });
    expect([it.snapshot(), it.reads(), it.writes()]).toEqual([undefined, [], [`${patch} 200`]]);
    await it.stop();
  });

  it('[snapshot-controller#192] when upstream or an earlier release left only the last finalizer, then the snapshot goes after its content, and nothing is read', async () => {
    const metadata = { ...deleting, finalizers: [finalizers.bound] };
    const it = await aController({ with: [aReadySnapshot({ metadata }), leaving] });
    expect([it.snapshot()?.metadata?.finalizers, it.writes()]).toEqual([[finalizers.bound], []]);
    await it.vanish(volumeSnapshotContents, { name });
    expect([it.snapshot(), it.reads(), it.writes()]).toEqual([undefined, [], [`${patch} 200`]]);
    await it.stop();
  });

  it.each([
    { given: 'names the content', status: ready, reads: [] },
    { given: 'names no content', status: { readyToUse: false }, reads: [`get volumesnapshotcontents ${name}`] },
  ])(
    '[snapshot-controller#192, D3] when only the last finalizer is left, the content went before, and the status $given, then the snapshot goes after the reads $reads',
    async ({ status, reads }) => {
      const it = await aController({
        with: [aSnapshot({ metadata: { ...deleting, finalizers: [finalizers.bound] }, status })],
      });
      expect([it.snapshot(), it.reads(), it.writes()]).toEqual([undefined, reads, [`${patch} 200`]]);
      await it.stop();
    },
  );

  it.each([
    { given: 'are watched', groups: true },
    { given: 'are switched off', groups: false },
  ])(
    '[snapshot-controller#191, D5] when groups $given, the content went, and a later group has the name of that of the snapshot, then the snapshot goes',
    async ({ groups }) => {
      const member = aMember(all, groups ? deleting : { ...deleting, ownerReferences: [owner] });
      const it = await aController({ with: [member, aGroup({ uid: 'second' })], settings: { groups } });
      expect(it.snapshot()).toBeUndefined();
      await it.stop();
    },
  );

  it.each([
    { given: 'a member that its group made', member: aMember([finalizers.asSource, finalizers.inGroup], deleting) },
    {
      given: 'a member without a status',
      member: aSnapshot({ metadata: { ...prepared, ...deleting, ownerReferences: [owner] } }),
    },
  ])('[snapshot-controller#109, D5] when $given has no content, then its group keeps it', async ({ member }) => {
    const it = await aController({ with: [member, aGroup()] });
    expect(it.snapshot()).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#191] when the content went, and a claim is to be filled from the snapshot, then neither that nor csi-provisioner keeps it', async () => {
    const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' };
    const metadata = { ...deleting, finalizers: [...prepared.finalizers, finalizers.restored] };
    const it = await aController({
      with: [aReadySnapshot({ metadata }), aClaim({ name: 'restored', phase: 'Pending', spec: { dataSource } })],
    });
    expect([it.snapshot()?.metadata?.finalizers, it.events]).toEqual([[finalizers.restored], []]);
    await it.stop();
  });
});

it('[snapshot-controller#159, D9] given a member that its group made, whose content has to go first, then it does not wait for it', async () => {
  const member = aMember([finalizers.asSource, finalizers.inGroup]);
  const it = await aController({ with: [member, aContent()] });
  await it.remove(volumeSnapshots, ref);
  expect(it.snapshot()).toBeUndefined();
  expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
  await it.stop();
});

it('[snapshot-controller#D9] given a cache that does not show yet that another replica added the finalizer that waits for the content, when the content has to go first, then that finalizer stays', async () => {
  const metadata = { ...deleting, finalizers: [finalizers.asSource] };
  const it = await aController({
    with: [aReadySnapshot({ metadata }), aContent()],
    faults: [faultOn('patch volumesnapshotcontents', forbidden, 1)],
  });
  it.overtake('patch volumesnapshots', volumeSnapshots, {
    ref,
    change: (known) => ({ ...known, metadata: { ...known.metadata, finalizers: prepared.finalizers } }),
  });
  await it.clock.advance(5_000);
  expect(it.writes().filter((line) => line.startsWith(patch))).toEqual([`${patch} 409`, `${patch} 200`]);
  expect(it.snapshot()?.metadata?.finalizers).toEqual([finalizers.bound]);
  await it.letGo();
  expect(it.snapshot()).toBeUndefined();
  await it.stop();
});

it('[snapshot-controller#107] given a slow watch of contents, when the content is gone, then its snapshot goes as soon as that is seen, and nothing is read', async () => {
  const it = await aController({ with: [aReadySnapshot(), aContent()], faults: [comeLate('volumesnapshotcontents')] });
  await it.clock.advance(300_000);
  await it.remove(volumeSnapshots, ref);
  await it.letGo();
  expect(there(it.snapshot()).metadata?.finalizers).toEqual(prepared.finalizers);
  await it.clock.advance(300_000);
  expect([it.snapshot(), it.reads()]).toEqual([undefined, []]);
  await it.stop();
});

it('[snapshot-controller#88, D8] given two snapshots of a claim that were never ready, when both are deleted and wait for their contents, then the claim is released while they wait', async () => {
  const unready = [aSnapshot(), aSnapshot({ name: 'other' })].map((snapshot) => ({
    ...snapshot,
    metadata: { ...snapshot.metadata, ...prepared },
  }));
  const it = await aController({
    seed: [aProtectedClaim()],
    with: [...unready, ...unready.map((of) => aContent({ of }))],
  });
  for (const { metadata } of unready) it.server.objects.delete(volumeSnapshots, { ...ref, name: metadata.name ?? '' });
  await it.settle();
  expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
  expect([it.snapshot(), it.snapshot('other')].map((each) => each?.metadata?.finalizers?.length)).toEqual([2, 2]);
  await it.letGo();
  await it.letGo('snapcontent-uid-of-other');
  expect([it.snapshot(), it.snapshot('other')]).toEqual([undefined, undefined]);
  await it.stop();
});
