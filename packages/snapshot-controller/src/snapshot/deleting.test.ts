// SPDX-License-Identifier: Apache-2.0
/** Deletion of single snapshots. */
import { definedOnly, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aContent,
  aGroup,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
} from '../../testing/builders.ts';
import { aController, claimsComeLate, type Fixture, forbidden } from '../../testing/controller-fixture.ts';
import { owner } from '../../testing/snapshot-states.ts';
import { clusterRules } from '../rbac.ts';

const name = 'snapcontent-uid-of-snap';
const ref = { namespace: 'team', name: 'snap' };
const bound = { boundVolumeSnapshotContentName: name, readyToUse: true };
const staticBound = { boundVolumeSnapshotContentName: 'content', readyToUse: true };
const both = { finalizers: [finalizers.asSource, finalizers.bound] };
const marked = { [snapshotAnnotations.beingDeleted]: 'yes' };
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

const aReadySnapshot = (more: Parameters<typeof aSnapshot>[0] = {}): VolumeSnapshot =>
  aSnapshot({ metadata: both, status: bound, ...more });
const boundStatic = aStaticSnapshot({ metadata: both, status: staticBound });
const boundStaticContent = (policy: 'Delete' | 'Retain'): VolumeSnapshotContent =>
  aStaticContent({
    metadata: { finalizers: [finalizers.content] },
    spec: { deletionPolicy: policy, volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
  });
const kinds = [
  {
    kind: 'dynamic',
    at: name,
    snapshot: aReadySnapshot(),
    content: (policy: 'Delete' | 'Retain') => aContent({ spec: { deletionPolicy: policy } }),
  },
  { kind: 'static', at: 'content', snapshot: boundStatic, content: boundStaticContent },
];
const remove = (it: Fixture): Promise<void> => it.remove(volumeSnapshots, ref);
const pending = (more: object = {}) =>
  aClaim({
    name: 'restored',
    phase: 'Pending',
    spec: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap', ...more } },
  });

const protectedByProvisioner = aReadySnapshot({ metadata: { finalizers: [...both.finalizers, finalizers.restored] } });
const lists = ({ server }: Fixture): readonly string[] =>
  server.requests.filter(({ verb }) => verb === 'list').map(({ resource }) => resource);

describe('content and snapshot', () => {
  it.each(kinds)(
    '[snapshot-controller#93, 99, 107] given a $kind snapshot with the policy Delete, then mark and deletion in this order, and the snapshot goes after its content, with all finalizers at once',
    async ({ snapshot, content, at }) => {
      const it = await aController({ with: [snapshot, content('Delete')] });
      await remove(it);
      expect(it.writes()).toEqual([
        `patch volumesnapshotcontents ${at} 200`,
        `delete volumesnapshotcontents ${at} 200`,
      ]);
      expect(it.content(at)?.metadata).toMatchObject({ annotations: marked, deletionTimestamp: expect.any(String) });
      expect(it.snapshot()?.metadata?.finalizers).toEqual(both.finalizers);
      await it.letGo(at);
      expect(it.snapshot()).toBeUndefined();
      expect(it.writes().slice(2)).toEqual(['patch volumesnapshots team/snap 200']);
      expect(it.events).toEqual([]);
      await it.stop();
    },
  );

  it('[snapshot-controller#100] given a content that is being deleted and loses its being-deleted annotation to a stale write, when nothing is ever offered again, then it is marked again at once, and our own write wakes nothing', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent()], settings: { resyncMs: 0 } });
    await remove(it);
    const runs = (): number =>
      it.logger.lines.filter(({ facts }) => facts['row'] === 'D10' && facts['action'] === 'conclude').length;
    const [before, earlierRuns] = [it.writes().length, runs()];
    await it.change(volumeSnapshotContents, { name }, (content) => ({
      ...content,
      metadata: { ...content.metadata, annotations: { other: 'kept' } },
    }));
    expect(it.writes().slice(before)).toEqual([`patch volumesnapshotcontents ${name} 200`]);
    expect(it.content()?.metadata?.annotations).toEqual({ ...marked, other: 'kept' });
    await it.clock.advance(900_000);
    expect(runs() - earlierRuns).toBe(1);
    await it.stop();
  });

  describe('given a cache that is behind', () => {
    const retained = (known: VolumeSnapshotContent): VolumeSnapshotContent => ({
      ...known,
      spec: { ...known.spec, deletionPolicy: 'Retain' },
    });
    const ofAnother = (known: VolumeSnapshotContent): VolumeSnapshotContent => ({
      ...known,
      spec: { ...known.spec, volumeSnapshotRef: { namespace: 'team', name: 'other', uid: 'uid-of-other' } },
    });
    const lines = (it: Fixture): readonly string[] =>
      it.writes().flatMap((line) => (line.includes('contents') ? [line.replace(/ .* /, ' ')] : []));

    it.each([
      { given: 'not marked yet', annotations: {}, first: 'patch', then: ['patch 409', 'patch 200'] },
      { given: 'marked', annotations: marked, first: 'delete', then: ['delete 409'] },
    ])(
      '[snapshot-controller#96] when the policy of a content that is $given became Retain a moment before, then the content stays',
      async ({ annotations, first, then }) => {
        const content = aContent({ metadata: { finalizers: [finalizers.content], annotations } });
        const it = await aController({ with: [aReadySnapshot(), content] });
        const change = { ref: { name }, change: retained };
        it.overtake(`${first} volumesnapshotcontents`, volumeSnapshotContents, change);
        await remove(it);
        await it.clock.advance(1_000);
        expect(there(it.content()).metadata?.deletionTimestamp).toBeUndefined();
        expect(it.content()?.metadata?.annotations).toEqual(marked);
        expect(lines(it)).toEqual(then);
        expect(it.snapshot()).toBeUndefined();
        expect(it.events).toEqual([]);
        await it.stop();
      },
    );

    it.each([
      { given: 'not marked yet', annotations: {}, first: 'patch', then: ['patch 409'] },
      { given: 'marked', annotations: marked, first: 'delete', then: ['delete 409'] },
    ])(
      '[snapshot-controller#98] when a content that is $given was given to another snapshot a moment before, then it is neither marked nor deleted',
      async ({ annotations, first, then }) => {
        const content = aContent({ metadata: { finalizers: [finalizers.content], annotations } });
        const it = await aController({ with: [aReadySnapshot(), content] });
        const change = { ref: { name }, change: ofAnother };
        it.overtake(`${first} volumesnapshotcontents`, volumeSnapshotContents, change);
        await remove(it);
        await it.clock.advance(1_000);
        expect(lines(it)).toEqual(then);
        expect(there(it.content()).metadata?.deletionTimestamp).toBeUndefined();
        expect(it.snapshot()).toBeUndefined();
        await it.stop();
      },
    );
  });

  it.each(kinds)(
    '[snapshot-controller#96, 99, D6] given a $kind snapshot with the policy Retain, then the content is marked and stays',
    async ({ snapshot, content, at }) => {
      const it = await aController({ with: [snapshot, content('Retain')] });
      await remove(it);
      expect(it.snapshot()).toBeUndefined();
      expect(it.content(at)?.metadata?.annotations).toEqual(marked);
      expect(there(it.content(at)).metadata?.deletionTimestamp).toBeUndefined();
      expect(it.content(at)?.spec?.volumeSnapshotRef?.uid).toBe('uid-of-snap');
      await it.stop();
    },
  );

  it.each(kinds)(
    '[snapshot-controller#94, 99] given that the content of a $kind snapshot cannot be deleted, then an event, and the finalizers stay',
    async ({ snapshot, content, at }) => {
      const it = await aController({ with: [snapshot, content('Delete')] });
      it.fault('delete volumesnapshotcontents', forbidden);
      await remove(it);
      expect(it.events).toEqual([
        'Warning SnapshotContentObjectDeleteError team/snap: Failed to delete snapshot content API object',
      ]);
      expect(it.content(at)?.metadata?.annotations).toEqual(marked);
      expect(it.snapshot()?.metadata?.finalizers).toEqual(both.finalizers);
      await it.clock.advance(5_000);
      expect(it.content(at)?.metadata?.deletionTimestamp).toBeDefined();
      await it.stop();
    },
  );

  it.each(kinds)(
    '[snapshot-controller#97, S14, D3] given a $kind snapshot without its content, then it goes at once',
    async ({ snapshot }) => {
      const it = await aController({ with: [snapshot] });
      await remove(it);
      expect(it.snapshot()).toBeUndefined();
      await it.stop();
    },
  );

  it.each(
    kinds.flatMap((kind) => [
      { ...kind, what: 'UID', more: { uid: 'another' } },
      { ...kind, what: 'name', more: { name: 'another', uid: 'uid-of-snap' } },
    ]),
  )(
    '[snapshot-controller#98] given a $kind snapshot whose content refers to another $what, then the content is not touched',
    async ({ snapshot, content, at, more }) => {
      const found = content('Delete');
      const foreign = {
        ...found,
        spec: { ...found.spec, volumeSnapshotRef: { name: 'snap', namespace: 'team', ...more } },
      };
      const it = await aController({
        with: [{ ...snapshot, metadata: { ...snapshot.metadata, ...deleting } }, foreign],
      });
      expect(it.snapshot()).toBeUndefined();
      expect(it.content(at)).toMatchObject(foreign);
      expect(it.writes().filter((line) => line.includes('contents'))).toEqual([]);
      await it.stop();
    },
  );

  it('[snapshot-controller#95] given a content that vanishes before its deletion, then that counts as done', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent({ metadata: { annotations: marked } })] });
    it.fault('delete volumesnapshotcontents', { kind: 'status', point: 'before', code: 404, reason: 'NotFound' });
    await remove(it);
    expect(it.events).toEqual([]);
    expect(it.snapshot()?.metadata?.finalizers).toEqual(both.finalizers);
    expect(it.reads()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#100] given a content that is marked, then it is not marked again', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent({ metadata: { annotations: marked } })] });
    await remove(it);
    expect(it.writes()[0]).toBe(`delete volumesnapshotcontents ${name} 200`);
    await it.stop();
  });

  it('[snapshot-controller#100] given a content that is marked and being deleted, without its finalizer, then it is not written', async () => {
    const metadata = { annotations: marked, finalizers: ['a.io/b'], ...deleting };
    const it = await aController({ with: [aReadySnapshot(), aContent({ metadata })] });
    await remove(it);
    expect(it.writes()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#108] given that the content cannot be marked, then it is not deleted', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent()] });
    it.fault('patch volumesnapshotcontents', forbidden);
    await remove(it);
    expect(it.writes()).toEqual([]);
    expect(there(it.content()).metadata?.deletionTimestamp).toBeUndefined();
    await it.clock.advance(5_000);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#104] given a content that no status names yet, then it is found by its derived name', async () => {
    const it = await aController({ with: [aSnapshot({ metadata: { ...both, ...deleting } }), aContent()] });
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    expect(it.snapshot()?.metadata?.finalizers).toEqual(both.finalizers);
    await it.stop();
  });

  it('[snapshot-controller#104] given a content that was made although its creation seemed to fail, and that the cache does not show yet, then it is not left behind', async () => {
    const isContents = ({ resource }: { readonly resource: string }): boolean => resource === 'volumesnapshotcontents';
    const it = await aController({
      faults: [{ when: (target) => target.verb === 'watch' && isContents(target), fault: { kind: 'lag', ms: 60_000 } }],
    });
    await it.clock.advance(300_000);
    it.fault('create volumesnapshotcontents', { kind: 'status', point: 'after', code: 403, reason: 'Forbidden' });
    it.fault('get volumesnapshotcontents', forbidden);
    it.fault('patch volumesnapshots/status', forbidden, 2);
    await it.add(aSnapshot());
    expect([it.content() === undefined, it.snapshot()?.status]).toEqual([false, undefined]);
    await remove(it);
    expect(it.reads()).toContain(`get volumesnapshotcontents ${name}`);
    expect(it.content()?.metadata).toMatchObject({ annotations: marked, deletionTimestamp: expect.any(String) });
    expect(it.snapshot()?.metadata?.finalizers).toEqual(both.finalizers);
    await it.stop();
  });

  it('[snapshot-controller#93] given a content that another release left without its finalizer, then it stays until its storage snapshot is deleted', async () => {
    const it = await aController({
      with: [
        aReadySnapshot({ metadata: { ...both, ...deleting } }),
        aContent({ metadata: { finalizers: [], annotations: marked } }),
      ],
      faults: [
        {
          when: ({ verb, resource, request }) =>
            verb === 'patch' &&
            resource === 'volumesnapshotcontents' &&
            !String(request.body).includes(snapshotAnnotations.beingDeleted),
          fault: forbidden,
          times: Infinity,
        },
      ],
    });
    expect(it.content()?.metadata).toMatchObject({
      finalizers: [finalizers.content],
      deletionTimestamp: expect.any(String),
    });
    await it.stop();
  });

  it.each(['a%b', '..', 'A', 'a/b', 'x'.repeat(300)])(
    '[snapshot-controller#97, D10] given a static snapshot that names a content as no object can be named, %s, then it goes, and the API server is not asked',
    async (volumeSnapshotContentName) => {
      const spec = { source: { volumeSnapshotContentName } };
      const it = await aController({ with: [aStaticSnapshot({ metadata: { ...both, ...deleting }, spec })] });
      expect(it.reads()).toEqual([]);
      expect(it.snapshot()).toBeUndefined();
      await it.stop();
    },
  );

  it('[snapshot-controller#105] [P33] given a bound static content that no status names yet, then it is found by the name in the spec', async () => {
    const it = await aController({
      with: [aStaticSnapshot({ metadata: { ...both, ...deleting } }), boundStaticContent('Delete')],
    });
    expect(it.content('content')?.metadata).toMatchObject({
      annotations: marked,
      deletionTimestamp: expect.any(String),
    });
    await it.stop();
  });

  it('[snapshot-controller#106, D1, D2] given a snapshot without our finalizers, then nothing is done', async () => {
    const it = await aController({
      with: [aSnapshot({ metadata: { ...deleting, finalizers: ['a.io/b'] } }), aContent()],
    });
    expect([it.writes(), it.events]).toEqual([[], []]);
    await it.stop();
  });

  it('[snapshot-controller#111] [P18] given a content that is being created, then its other annotations survive the mark', async () => {
    const annotations = { [snapshotAnnotations.beingCreated]: 'yes', mine: 'x' };
    const it = await aController({ with: [aReadySnapshot(), aContent({ metadata: { annotations } })] });
    await remove(it);
    expect(it.bodies()[0]).toMatchObject({ metadata: { annotations: marked } });
    expect(it.content()?.metadata).toMatchObject({
      annotations: { ...annotations, ...marked },
      deletionTimestamp: expect.any(String),
    });
    await it.stop();
  });

  it('[snapshot-controller#112, 80] given foreign finalizers, then ours go, theirs stay in their order, and the content is deleted meanwhile', async () => {
    const it = await aController({
      with: [aReadySnapshot({ metadata: { finalizers: ['a.io/b', ...both.finalizers, 'c.io/d'] } }), aContent()],
    });
    await remove(it);
    await it.letGo();
    expect(it.snapshot()?.metadata?.finalizers).toEqual(['a.io/b', 'c.io/d']);
    expect(it.content()).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#113] given a content that a user deletes, then it is not marked while its snapshot lives', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent()] });
    await it.remove(volumeSnapshotContents, { name });
    expect(it.writes()).toEqual([]);
    await remove(it);
    expect(it.writes()).toEqual([`patch volumesnapshotcontents ${name} 200`]);
    await it.stop();
  });

  it('[P25] given a ready dynamic snapshot, when it is deleted, then three requests in all, and no event', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent({ status: { readyToUse: true } }), aClaim()] });
    it.server.clearRequests();
    await remove(it);
    await it.letGo();
    const requests = it.server.requests.filter(({ verb }) => verb !== 'watch');
    expect(requests.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
      'patch volumesnapshotcontents',
      'delete volumesnapshotcontents',
      'patch volumesnapshots',
    ]);
    expect([it.snapshot(), it.content(), it.events]).toEqual([undefined, undefined, []]);
    await it.stop();
  });

  it('[P29] given a snapshot that waits for its content, then it costs no further request', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent()] });
    await remove(it);
    const writes = it.writes().length;
    await it.clock.advance(3_600_000);
    expect(it.writes().length).toBe(writes);
    await it.stop();
  });
});

describe('restores', () => {
  it('[snapshot-controller#101] [P9] given a pending claim that is filled from the snapshot, then nothing is deleted until the claim is bound', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent(), pending()] });
    await remove(it);
    expect(it.writes()).toEqual([]);
    expect(it.events).toEqual(['Warning SnapshotDeletePending team/snap: Snapshot is being used to restore a PVC']);
    await it.clock.advance(10_000);
    expect([it.writes(), it.events.length > 1]).toEqual([[], true]);
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'restored' }, (claim) => ({
      ...claim,
      status: { phase: 'Bound' },
    }));
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#188] given a snapshot that csi-provisioner protects and a cache that lacks the pending claim, then nothing is deleted until the claim is bound', async () => {
    const it = await aController({ with: [protectedByProvisioner, aContent()], faults: [claimsComeLate] });
    await it.clock.advance(300_000);
    await it.add(pending());
    await remove(it);
    expect([it.writes(), lists(it)]).toEqual([[], ['persistentvolumeclaims']]);
    expect(it.events).toEqual(['Warning SnapshotDeletePending team/snap: Snapshot is being used to restore a PVC']);
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'restored' }, (claim) => ({
      ...claim,
      status: { phase: 'Bound' },
    }));
    await it.clock.advance(300_000);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#188, D11] given a snapshot that csi-provisioner protects, and claims that cannot be listed, then nothing is deleted until they are listed', async () => {
    const it = await aController({ with: [protectedByProvisioner, aContent()] });
    it.fault('list persistentvolumeclaims', forbidden);
    await remove(it);
    expect(it.writes()).toEqual([]);
    await it.clock.advance(10_000);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#188] given a snapshot without the finalizer of csi-provisioner, then claims are not listed', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent()] });
    await remove(it);
    expect(lists(it)).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#101] given the pending claim is deleted, then the snapshot follows', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent(), pending()] });
    await remove(it);
    await it.remove(persistentVolumeClaims, { namespace: 'team', name: 'restored' });
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it.each([
    { given: 'another kind', claim: pending({ kind: 'PersistentVolumeClaim' }) },
    { given: 'another API group', claim: pending({ apiGroup: 'example.com' }) },
    { given: 'another name', claim: pending({ name: 'other' }) },
    {
      given: 'another namespace',
      claim: { ...pending(), metadata: { name: 'restored', namespace: 'other', uid: 'u' } },
    },
    {
      given: 'a reference from another namespace, P27',
      claim: aClaim({
        name: 'restored',
        namespace: 'other',
        phase: 'Pending',
        spec: {
          dataSourceRef: {
            apiGroup: 'snapshot.storage.k8s.io',
            kind: 'VolumeSnapshot',
            name: 'snap',
            namespace: 'team',
          },
        },
      }),
    },
    { given: 'no data source', claim: aClaim({ name: 'restored', phase: 'Pending' }) },
    {
      given: 'a data source without API group, P22',
      claim: aClaim({
        name: 'restored',
        phase: 'Pending',
        spec: { dataSource: { kind: 'VolumeSnapshot', name: 'snap' } },
      }),
    },
  ])('[snapshot-controller#102] given a pending claim with $given, then it does not matter', async ({ claim }) => {
    const it = await aController({ with: [aReadySnapshot(), aContent(), claim] });
    await remove(it);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#103] given a pending claim but no content, then the snapshot goes', async () => {
    const it = await aController({ with: [aReadySnapshot(), pending()] });
    await remove(it);
    expect(it.snapshot()).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#D4] given a restore and a content that a user deleted, then the content is not marked, because csi-snapshotter would delete the data', async () => {
    const it = await aController({ with: [aReadySnapshot(), aContent(), pending()] });
    await it.remove(volumeSnapshotContents, { name });
    await remove(it);
    await it.report({ readyToUse: true });
    expect(there(it.content()).metadata?.annotations).toBeUndefined();
    await it.stop();
  });
});

describe('groups', () => {
  const all = [...both.finalizers, finalizers.inGroup];
  const member = aReadySnapshot({
    metadata: { finalizers: all, ownerReferences: [owner] },
    status: { ...bound, volumeGroupSnapshotName: 'group' },
  });
  const text =
    'deletion of the individual volume snapshot team/snap is not allowed as it belongs to group snapshot team/group. Deleting the group snapshot will trigger the deletion of all the individual volume snapshots that are part of the group.';

  it('[snapshot-controller#109, 110] [P9] given a member, then its group keeps it, and the end of the group releases it at once', async () => {
    const it = await aController({ with: [member, aContent(), aGroup()] });
    await remove(it);
    expect(it.events.filter((line) => line.includes('team/snap'))).toEqual([
      `Warning SnapshotDeletePending team/snap: ${text}`,
    ]);
    expect(it.writes().filter((line) => !line.includes('volumegroup'))).toEqual([]);
    await it.vanish(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    expect(it.writes().filter((line) => line.startsWith('patch volumesnapshots '))).toHaveLength(0);
    await it.letGo();
    expect(it.snapshot()).toBeUndefined();
    await it.stop();
  });

  it.each([
    { given: 'the finalizer', more: { finalizers: [...both.finalizers, finalizers.inGroup] } },
    { given: 'the owner', more: { ownerReferences: member.metadata?.ownerReferences } },
  ])(
    '[snapshot-controller#104] given a dynamic snapshot that gets $given of a member before its status names its content, when it is deleted, then its content goes with it',
    async ({ more }) => {
      const it = await aController();
      it.fault('patch volumesnapshots/status', forbidden, 99);
      await it.add(aSnapshot());
      await it.change(volumeSnapshots, ref, (snapshot) => ({
        ...snapshot,
        metadata: { ...snapshot.metadata, ...definedOnly(more) },
      }));
      expect(it.content()?.metadata).toMatchObject({ finalizers: [finalizers.content] });
      const before = it.writes().length;
      await remove(it);
      await it.letGo();
      expect([it.content(), it.snapshot()]).toEqual([undefined, undefined]);
      expect(it.writes().slice(before)).toEqual([
        `patch volumesnapshotcontents ${name} 200`,
        `delete volumesnapshotcontents ${name} 200`,
        'update persistentvolumeclaims team/data 200',
        'patch volumesnapshots team/snap 200',
      ]);
      await it.stop();
    },
  );

  it('[snapshot-controller#104] given a dynamic snapshot that gets the finalizer of a member before its status names its content, when status writes work again, then it becomes ready', async () => {
    const it = await aController();
    it.fault('patch volumesnapshots/status', forbidden, 2);
    await it.add(aSnapshot());
    await it.change(volumeSnapshots, ref, (snapshot) => ({
      ...snapshot,
      metadata: { ...snapshot.metadata, finalizers: [...both.finalizers, finalizers.inGroup] },
    }));
    await it.report({ readyToUse: true });
    await it.clock.advance(10_000);
    expect(it.snapshot()?.status).toEqual(bound);
    await it.stop();
  });

  it('[P5] given a member with nothing but its finalizer, before its first status, when its group is gone, then it goes', async () => {
    const metadata = { ...deleting, finalizers: [finalizers.inGroup], ownerReferences: [owner] };
    const it = await aController({ with: [aSnapshot({ metadata })] });
    expect(it.snapshot()).toBeUndefined();
    await it.stop();
  });

  it('[P5] given a member without a status, then its group is known by its owner reference', async () => {
    const metadata = { ...deleting, finalizers: [finalizers.inGroup], ownerReferences: [owner] };
    const it = await aController({ with: [aSnapshot({ metadata }), aGroup()] });
    expect(it.snapshot()).toBeDefined();
    expect(it.events.filter((line) => line.includes('team/snap'))).toEqual([
      `Warning SnapshotDeletePending team/snap: ${text}`,
    ]);
    await it.stop();
  });

  it('[snapshot-controller#S13] [P23] given an owner of an older version, then the snapshot is a member', async () => {
    const older = { ...owner, apiVersion: 'groupsnapshot.storage.k8s.io/v1beta1' };
    const it = await aController({ with: [aSnapshot({ metadata: { ownerReferences: [older] } }), aGroup()] });
    await it.clock.advance(10_000);
    expect(it.writes().filter((line) => line.startsWith('create volumesnapshotcontents'))).toEqual([]);
    await it.stop();
  });

  it('given a group of the same name with another UID, then it keeps nothing', async () => {
    const it = await aController({ with: [member, aContent(), aGroup({ uid: 'second' })] });
    await remove(it);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it.each([
    { given: 'there', more: [aGroup()], isKept: true },
    { given: 'gone', more: [], isKept: false },
  ])(
    '[snapshot-controller#D5] [P21] given that groups are switched off, when the group is $given, then that is asked of the API server',
    async ({ more, isKept }) => {
      const it = await aController({ with: [member, aContent(), ...more], settings: { groups: false } });
      await remove(it);
      expect(it.reads()).toContain('get volumegroupsnapshots group');
      await it.letGo();
      expect(it.snapshot() !== undefined).toBe(isKept);
      await it.stop();
    },
  );

  it('[P21] given that groups are switched off and cannot be read, then the member stays, and is tried again', async () => {
    const it = await aController({ with: [member, aContent()], settings: { groups: false } });
    it.fault('get volumegroupsnapshots', forbidden);
    await remove(it);
    expect(it.snapshot()).toBeDefined();
    expect(it.events).toContain(
      'Warning SnapshotDeletePending team/snap: failed to look for group snapshot team/group: injected fault',
    );
    await it.clock.advance(5_000);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[P21] given that groups are switched off, and only the permissions without them, when the group is gone, then the member goes', async () => {
    const rules = clusterRules.filter(({ when }) => when === undefined);
    const it = await aController({ with: [member, aContent()], settings: { groups: false }, rules });
    await remove(it);
    expect(it.content()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[P21] given that groups are switched off, and an owner with a name that no object can have, then the member goes, and the API server is not asked', async () => {
    const owner = { apiVersion: 'groupsnapshot.storage.k8s.io/v1', kind: 'VolumeGroupSnapshot', name: 'a%b', uid: 'x' };
    const it = await aController({
      with: [aSnapshot({ metadata: { ...both, ownerReferences: [owner] } })],
      settings: { groups: false },
    });
    await remove(it);
    expect(it.reads().filter((line) => line.includes('group'))).toEqual([]);
    expect(it.snapshot()).toBeUndefined();
    await it.stop();
  });
});

describe('the claim', () => {
  const unready = aSnapshot({ metadata: both, status: { boundVolumeSnapshotContentName: name, readyToUse: false } });

  it('[snapshot-controller#88] given the last snapshot that is not ready, then the claim is released before the finalizers of the snapshot', async () => {
    const it = await aController({ with: [unready, aContent(), aProtectedClaim()] });
    await remove(it);
    expect(it.writes()).toEqual([
      `patch volumesnapshotcontents ${name} 200`,
      `delete volumesnapshotcontents ${name} 200`,
      'update persistentvolumeclaims team/data 200',
    ]);
    await it.letGo();
    expect(it.writes().slice(3)).toEqual(['patch volumesnapshots team/snap 200']);
    await it.stop();
  });

  it('[snapshot-controller#D8] given a claim that cannot be released, then an event, and the snapshot stays', async () => {
    const it = await aController();
    it.fault('update persistentvolumeclaims', forbidden);
    // Its content is gone.
    await it.add(aProtectedClaim(), { ...unready, metadata: { ...unready.metadata, ...deleting } });
    expect(it.events.at(-1)).toBe(
      'Warning ErrorPVCFinalizer team/snap: Error check and remove PVC Finalizer for VolumeSnapshot',
    );
    expect(it.snapshot()).toBeDefined();
    await it.clock.advance(5_000);
    expect(it.snapshot()).toBeUndefined();
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  });
});
