// SPDX-License-Identifier: Apache-2.0
/** What the loop of PersistentVolumes leaves to csi-provisioner of its process, and what it offers it. */
import type { ControllerPorts, KubeObject, PersistentVolume } from '@csi-sidecars/runtime';
import { createSharedRelease } from '@csi-sidecars/sidecar';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture } from '../testing/attacher-fixture.ts';
import { anAttachment, attached, aVolume, driverName, finalizer, someSettings } from '../testing/builders.ts';
import { annotations } from './names.ts';
import { type ProvisionerBeside, pvFinalizerLoop } from './pv-finalizer.ts';
import { watchedBy } from './watched.ts';

const released = 'patch persistentvolumes pv1 200';
const theirs = 'provisioner.example/x';
const { csi: _csi, ...inTree } = aVolume({ spec: { gcePersistentDisk: { pdName: 'disk' } } }).spec ?? {};

const deletingSince = (deletionTimestamp: string): PersistentVolume => {
  const volume = aVolume({ finalizers: [finalizer, theirs] });
  return { ...volume, metadata: { ...volume.metadata, deletionTimestamp } };
};

/** The loop of csi-provisioner works. */
async function attacherWith(...seed: readonly KubeObject[]): Promise<Fixture> {
  const sharedRelease = createSharedRelease();
  const idle = { informers: [], run: () => new Promise<void>(() => undefined) };
  const working = sharedRelease.taking({ assemble: () => idle }, theirs).assemble({} as ControllerPorts);
  void working.run(new AbortController().signal).catch(() => undefined);
  return await anAttacher({ seed, sharedRelease });
}

describe('what is left to csi-provisioner', () => {
  it.each([
    { age: 'of now', since: '2026-01-01T00:00:00Z', leftMs: 30_000 },
    { age: 'of 29 s ago', since: '2025-12-31T23:59:31Z', leftMs: 1_000 },
    { age: 'of a clock that is 29 s ahead', since: '2026-01-01T00:00:29Z', leftMs: 59_000 },
  ])(
    '[attacher#F5] given a deletion $age, then our finalizer is removed $leftMs ms later, if it is still there',
    async ({ since, leftMs }) => {
      const p = await attacherWith(deletingSince(since));
      await p.clock.advance(leftMs - 1);
      expect(p.writes()).toEqual([]);
      await p.clock.advance(1);
      expect(p.writes()).toEqual([released]);
      await p.stop();
    },
  );

  it.each([
    { given: 'a deletion of 30 s ago', volume: deletingSince('2025-12-31T23:59:30Z') },
    { given: 'a deletion that this clock will reach in 30 s', volume: deletingSince('2026-01-01T00:00:30Z') },
    { given: 'a volume without their finalizer', volume: aVolume({ deleting: 'yes' }) },
  ])('[attacher#F5] given $given, then our finalizer is removed at once', async ({ volume }) => {
    const p = await attacherWith(volume);
    expect(p.writes()).toEqual([released]);
    await p.stop();
  });

  it('[attacher#114] given a rollback of the migration and no deletion, then our finalizer is removed at once', async () => {
    const volume: PersistentVolume = { ...aVolume({ finalizers: [finalizer, theirs] }), spec: inTree };
    const p = await attacherWith(volume);
    expect(p.writes()).toEqual([released]);
    await p.stop();
  });
});

describe('what is offered to csi-provisioner', () => {
  const since = '2026-01-01T00:00:00Z';
  const deleting = deletingSince(since);

  interface World {
    /** What the cache shows. */
    readonly volume: PersistentVolume | undefined;
    readonly attachments?: readonly KubeObject[];
    readonly gate?: { readonly held: boolean };
  }
  function offerIn({ volume, attachments = [], gate }: World) {
    let make: Parameters<ProvisionerBeside['offering']>[1] | undefined;
    const sharedRelease: ProvisionerBeside = {
      ...createSharedRelease(),
      offering: (loop, given) => {
        make = given;
        return loop;
      },
    };
    const watched = watchedBy({ driverName, resyncMs: 0 });
    pvFinalizerLoop({ driverName, settings: someSettings(), sharedRelease }, watched);
    const listers = new Map<unknown, unknown>([
      [watched.volumes, { get: (key: string) => (key === 'pv1' ? volume : undefined) }],
      [watched.attachments, { byIndex: (_: string, key: string) => (key === 'pv1' ? attachments : []) }],
    ]);
    const informers = { informer: (options: unknown) => ({ lister: listers.get(options) }) };
    return make!({ informers, gate } as unknown as ControllerPorts);
  }

  it.each([
    { given: 'the lease is held', world: { volume: deleting, gate: { held: true } } },
    { given: 'there is no lease', world: { volume: deleting } },
  ])('given $given, the cache shows the deletion, and nothing is attached, then our finalizer', ({ world }) => {
    expect(offerIn(world)(deleting)).toEqual([finalizer]);
  });

  it.each<{ readonly given: string; readonly world: World }>([
    { given: 'a cache that lacks the volume', world: { volume: undefined } },
    { given: 'a cache that does not show the deletion yet', world: { volume: aVolume() } },
    {
      given: 'a cache that has another volume of the name',
      world: { volume: { ...deleting, metadata: { ...deleting.metadata, uid: 'another' } } },
    },
    {
      given: 'a cache that shows a rollback of the migration, and no deletion yet',
      world: { volume: { ...aVolume(), spec: inTree } },
    },
    { given: 'an attachment of any attacher', world: { volume: deleting, attachments: [anAttachment(attached)] } },
    { given: 'a lease that may be lost', world: { volume: deleting, gate: { held: false } } },
    {
      given: 'a volume without our finalizer',
      world: { volume: { ...deleting, metadata: { ...deleting.metadata, finalizers: [theirs] } } },
    },
  ])('given $given, then nothing', ({ world }) => {
    expect(offerIn(world)(deleting)).toEqual([]);
  });

  it('given an in-tree volume that is migrated to us, then our finalizer', () => {
    const metadata = { ...deleting.metadata, annotations: { [annotations.migratedTo]: driverName } };
    expect(offerIn({ volume: { ...deleting, metadata, spec: inTree } })(deleting)).toEqual([finalizer]);
  });
});
