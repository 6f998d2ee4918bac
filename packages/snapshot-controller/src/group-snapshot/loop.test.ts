// SPDX-License-Identifier: Apache-2.0
/** Which changes of other objects wake the group loop, seen from the rows that it decides. */
import { type KubeObject, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { volumeGroupSnapshotContents, volumeGroupSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aGroup,
  aGroupClass,
  aGroupContent,
  aProtectedClaim,
  aSnapshot,
  aVolume,
  withSpec,
} from '../../testing/builders.ts';
import type { FixtureOptions } from '../../testing/controller-fixture.ts';
import { aControllerOf, type ObservedFixture } from '../../testing/decided.ts';
import { boundGroup, preparedGroup, readyGroup } from '../../testing/group-states.ts';
import { owner } from '../../testing/snapshot-states.ts';

const controlled = (options: FixtureOptions): Promise<ObservedFixture> =>
  aControllerOf('snapshot-controller-group-snapshot', options);
const claimRef = { namespace: 'team', name: 'data' };
const groupRef = { namespace: 'team', name: 'group' };
const labels = { app: 'db' };
/** They wait for a claim that is not bound. */
const waiting: readonly KubeObject[] = [
  aGroup(),
  aGroupClass(),
  aClaim({ phase: 'Pending', metadata: { labels } }),
  aVolume(),
];
const keysOf = (decided: readonly string[]): readonly string[] => [
  ...new Set(decided.map((line) => line.split(' ')[0] ?? '')),
];
const phase = (text: string) => (claim: ReturnType<typeof aClaim>) => ({ ...claim, status: { phase: text } });

describe('a claim', () => {
  it.each(['Pending', 'Bound'])(
    'given one that is %s, when its labels change, then no group is looked at',
    async (phaseNow) => {
      const it = await controlled({
        with: [...waiting.slice(0, 2), aClaim({ phase: phaseNow, metadata: { labels } })],
      });
      it.decided();
      await it.change(persistentVolumeClaims, claimRef, (claim) => ({
        ...claim,
        metadata: { ...claim.metadata, labels: { ...labels, tier: 'log' } },
      }));
      expect(it.decided()).toEqual([]);
      await it.stop();
    },
  );

  it('given one that appears without a status, then no group is looked at', async () => {
    const it = await controlled({ with: waiting });
    it.decided();
    const { status: _, ...withoutStatus } = aClaim({ name: 'new', uid: 'new', metadata: { labels } });
    await it.add(withoutStatus);
    expect(it.decided()).toEqual([]);
    await it.add(aVolume({ name: 'pv-new', claim: withoutStatus }));
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given it is bound or gone, then the groups of its namespace that wait are looked at; other phases do not matter', async () => {
    const elsewhere = aGroup({ namespace: 'other', uid: 'o' });
    const bound = aGroup({ name: 'bound', metadata: preparedGroup, status: readyGroup });
    const unbound = aClaim({ name: 'unbound', uid: 'unbound', phase: 'Pending', metadata: { labels } });
    const it = await controlled({ with: [...waiting, elsewhere, bound, unbound] });
    it.decided();
    await it.change(persistentVolumeClaims, claimRef, phase('Bound'));
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.change(persistentVolumeClaims, claimRef, phase('Lost'));
    expect(it.decided()).toEqual([]);
    await it.vanish(persistentVolumeClaims, claimRef);
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.stop();
  });

  it('given it appears bound, then the groups of its namespace that wait are looked at', async () => {
    const it = await controlled({ with: waiting.slice(0, 2) });
    it.decided();
    await it.add(aClaim());
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.stop();
  });

  it('given it is provisioned, then each group that waits lists claims once', async () => {
    const it = await controlled({ with: [...waiting.slice(0, 2), aGroup({ name: 'second', uid: 's' })] });
    const lists = (): number =>
      it.server.requests.filter(({ verb, resource }) => verb === 'list' && resource === 'persistentvolumeclaims')
        .length;
    const before = lists();
    const late = { name: 'late', uid: 'late', spec: { volumeName: 'pv-late' } };
    await it.add(aClaim({ ...late, phase: 'Pending' }));
    await it.add(
      aVolume({
        name: 'pv-late',
        handle: 'late',
        spec: { claimRef: { namespace: 'team', name: 'late', uid: 'late' } },
      }),
    );
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'late' }, phase('Bound'));
    expect(lists() - before).toBe(2);
    await it.stop();
  });

  const member = aSnapshot({ name: 'member', metadata: { ownerReferences: [owner] }, status: { readyToUse: true } });
  const stranger = aSnapshot({ name: 'stranger', status: { readyToUse: true } });

  it.each([
    {
      given: 'a member of a group',
      source: { kind: 'VolumeSnapshot', name: 'member' },
      woken: ['team/second', 'team/group'],
    },
    { given: 'a snapshot of no group', source: { kind: 'VolumeSnapshot', name: 'stranger' }, woken: ['team/second'] },
    { given: 'a snapshot that is not there', source: { kind: 'VolumeSnapshot', name: 'none' }, woken: ['team/second'] },
    {
      given: 'a claim that is called as a member',
      source: { kind: 'PersistentVolumeClaim', name: 'member' },
      woken: ['team/second'],
    },
    { given: 'nothing', source: undefined, woken: ['team/second'] },
  ])('given it was filled from $given, when it is bound, then these groups are looked at: $woken', async (row) => {
    const dataSource = row.source && { apiGroup: 'snapshot.storage.k8s.io', ...row.source };
    const it = await controlled({
      with: [
        aGroup({ name: 'second', uid: 's' }),
        aGroup({ metadata: preparedGroup, status: boundGroup }),
        aGroupContent(),
        aGroupClass(),
        member,
        stranger,
        // Our finalizer keeps it whole in the cache.
        aProtectedClaim({ name: 'restored', phase: 'Pending', spec: dataSource === undefined ? {} : { dataSource } }),
      ],
    });
    it.decided();
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'restored' }, phase('Bound'));
    expect(keysOf(it.decided())).toEqual(row.woken);
    await it.stop();
  });
});

describe('a PersistentVolume', () => {
  const volumeRef = { name: 'pv1' };
  const claim = aClaim({ metadata: { labels } });

  it.each([
    { given: 'is not bound yet', objects: waiting.slice(0, 3) },
    { given: 'is not there', objects: waiting.slice(0, 2) },
  ])('given its claim $given, then no group is looked at', async ({ objects }) => {
    const it = await controlled({ with: objects });
    it.decided();
    await it.add(aVolume());
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given it appears, or is bound to another claim of the name, then the groups that wait are looked at; other changes and its end do not matter', async () => {
    const elsewhere = aGroup({ namespace: 'other', uid: 'o' });
    const unbound = aClaim({ name: 'unbound', uid: 'unbound', phase: 'Pending', metadata: { labels } });
    const it = await controlled({ with: [...waiting.slice(0, 2), claim, unbound, elsewhere] });
    it.decided();
    await it.add(aVolume());
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.change(persistentVolumes, volumeRef, withSpec({ volumeMode: 'Block' }));
    expect(it.decided()).toEqual([]);
    const claimRef = { ...aVolume().spec?.claimRef, uid: 'another' };
    await it.change(persistentVolumes, volumeRef, withSpec({ claimRef }));
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.vanish(persistentVolumes, volumeRef);
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given it is bound to a claim later, then the groups that wait are looked at', async () => {
    const free = aVolume({ spec: { claimRef: undefined as never } });
    const it = await controlled({ with: [...waiting.slice(0, 2), claim, free] });
    it.decided();
    await it.change(persistentVolumes, volumeRef, () => aVolume());
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.stop();
  });

  it('given it has no claim, then no group is looked at', async () => {
    const it = await controlled({ with: waiting });
    it.decided();
    await it.add(aVolume({ name: 'free', spec: { claimRef: undefined as never } }));
    expect(it.decided()).toEqual([]);
    await it.stop();
  });
});

describe('a group', () => {
  it('given a class that comes for another group, then it is not looked at', async () => {
    const it = await controlled({ with: waiting });
    it.decided();
    await it.add(aGroupClass('other'));
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given it is gone, then it is not looked at any more', async () => {
    const it = await controlled({ with: waiting });
    it.decided();
    await it.vanish(volumeGroupSnapshots, groupRef);
    expect(it.decided()).toEqual([]);
    // Its operations are not in flight any more.
    expect(it.metrics.value('snapshot_controller_operations_in_flight')).toBe(0);
    // The retry that waited finds nothing to do.
    await it.clock.advance(60_000);
    await it.settle();
    expect(it.decided()).toEqual(['team/group G1']);
    await it.stop();
  });

  it('given its content gets other labels, then it is not looked at; given its content is gone, then it is', async () => {
    const it = await controlled({
      with: [aGroup({ metadata: preparedGroup, status: readyGroup }), aGroupContent(), aGroupClass()],
    });
    it.decided();
    const name = 'groupsnapcontent-uid-of-group';
    await it.change(volumeGroupSnapshotContents, { name }, (content) => ({
      ...content,
      metadata: { ...content.metadata, labels },
    }));
    expect(it.decided()).toEqual([]);
    await it.vanish(volumeGroupSnapshotContents, { name });
    expect(keysOf(it.decided())).toEqual(['team/group']);
    await it.stop();
  });
});
