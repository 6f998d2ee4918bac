// SPDX-License-Identifier: Apache-2.0
/** A claim that is restored from a snapshot, from the claim to the PersistentVolume. */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import type { Fault } from '@csi-sidecars/runtime/testing';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aGrant, aSnapshot, someSettings } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import {
  answerWithOrigin,
  copying,
  finalizersOf,
  fromSnapshot,
  prepareSources,
  snapshotOf,
  type SourceFacts,
} from '../../testing/sources.ts';
import { snapshotSourceProtection } from '../names.ts';
import { referenceGrants } from '../source/grants.ts';

const ours = [snapshotSourceProtection];
const prefix = 'Warning ProvisioningFailed team/data: ';
const handle = `${prefix}error getting handle for DataSource Type VolumeSnapshot by Name daily: `;
const conflict: Fault = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' };
const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };

interface Story extends SourceFacts {
  readonly fixture?: FixtureOptions;
  readonly prepare?: (p: Fixture) => void;
  readonly claim?: Parameters<typeof aClaim>[0];
}

async function restore({ fixture, prepare, claim, ...facts }: Story = {}): Promise<Fixture> {
  const p = await aProvisioner({ controller: copying, ...fixture });
  await prepareSources(p, facts);
  prepare?.(p);
  p.server.seed(aClaim(claim ?? { spec: fromSnapshot }));
  await p.settle();
  return p;
}
const warnings = ({ events }: Fixture): readonly string[] => events.filter((line) => line.startsWith('Warning'));
const contentOf = (p: Fixture, call = 0): unknown =>
  (p.requests('CreateVolume') as readonly CreateVolumeRequestInput[])[call]?.volume_content_source;
const gets = ({ server }: Fixture, plural: string): number =>
  server.requests.filter(({ verb, path }) => verb === 'get' && path.includes(`/${plural}/`)).length;

describe('a restore', () => {
  it('[provisioner#114] given a snapshot, when a claim names it, then it is protected before CreateVolume names its handle', async () => {
    const p = await restore();
    expect(p.writes().slice(0, 2)).toEqual([
      'update volumesnapshots team/daily 200',
      'create persistentvolumes pvc-uid-data 201',
    ]);
    expect(contentOf(p)).toMatchObject({ snapshot: { snapshot_id: expect.any(String) as string } });
    expect(warnings(p)).toEqual([]);
    expect([gets(p, 'volumesnapshotcontents'), p.volume()?.spec?.capacity]).toEqual([1, { storage: '5Gi' }]);
  });

  it('[provisioner#X5] given a snapshot with a field that no type knows, when it is protected, then the field stays', async () => {
    const p = await restore({
      prepare: ({ server }) =>
        void server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
          ...snapshot,
          spec: { ...snapshot.spec, future: { field: 1 } },
        })),
    });
    const put = p.server.writes().find(({ path }) => path.endsWith('/volumesnapshots/daily'));
    expect(put?.body).toMatchObject({ spec: { future: { field: 1 } }, metadata: { finalizers: ours } });
  });

  it('[provisioner#115] given a claim smaller than the snapshot, then there is no call and no finalizer, and the event names both sizes', async () => {
    const p = await restore({ claim: { spec: { ...fromSnapshot, resources: { requests: { storage: '1Gi' } } } } });
    expect([p.calls(), finalizersOf(snapshotOf(p))]).toEqual([[], undefined]);
    expect(warnings(p)).toEqual([
      `${handle}requested volume size 1073741824 is less than the size 5368709120 for the source snapshot daily`,
    ]);
  });

  it('[provisioner#L4] given a claim larger than the snapshot, or a snapshot that is being deleted, then the log says so in upstream words', async () => {
    const large = await restore({ claim: { spec: { ...fromSnapshot, resources: { requests: { storage: '8Gi' } } } } });
    expect(large.logger.messages()).toEqual(
      expect.arrayContaining([
        `Added finalizer ${snapshotSourceProtection} to snapshot team/daily`,
        'requested volume size 8589934592 is greater than the size 5368709120 for the source snapshot daily. Volume plugin needs to handle volume expansion.',
      ]),
    );
    const dying = await restore({ snapshot: { deleting: 'yes', finalizers: ours } });
    expect(dying.logger.messages()).toContain(
      'Snapshot team/daily is being deleted but has volumesnapshot-as-source-protection finalizer, allowing provisioning to continue',
    );
    for (const p of [dying, await restore()]) {
      expect(p.logger.messages().filter((line) => line.includes('greater than'))).toEqual([]);
    }
  });

  it('given a snapshot that is not ready, when it gets ready, then the next retry provisions', async () => {
    const p = await restore({ snapshot: { ready: false } });
    expect(warnings(p)).toEqual([`${handle}snapshot daily is not Ready`]);
    p.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, () => aSnapshot());
    await p.clock.advance(1200);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it.each(['daily/status', '../secrets', '..', 'daily%2Fstatus'])(
    'given the claim names %s, then it is refused without a request, and the process goes on',
    async (name) => {
      const p = await restore({ claim: { spec: { dataSource: { ...fromSnapshot.dataSource, name } } } });
      await p.clock.advance(10_000);
      expect([p.calls(), gets(p, 'volumesnapshots')]).toEqual([[], 0]);
      expect(warnings(p)[0]).toContain(`by Name ${name}: error getting snapshot ${name} from api server: invalid`);
      p.server.seed(aClaim({ name: 'plain' }));
      await p.settle();
      expect(p.calls()).toEqual(['CreateVolume pvc-uid-plain OK']);
    },
  );

  it('[provisioner#127] given a snapshot that is being deleted, then there is no call', async () => {
    const p = await restore({ snapshot: { deleting: 'yes', finalizers: ['x.io/y'] } });
    expect([p.calls(), warnings(p)]).toEqual([[], [`${handle}snapshot daily is being deleted`]]);
  });

  it('[provisioner#129,X7] given a snapshot that is being deleted with our finalizer, then it is restored without a write to it', async () => {
    const p = await restore({ snapshot: { deleting: 'yes', finalizers: [...ours, 'x.io/y'] } });
    expect([p.calls(), p.writes()[0]]).toEqual([
      ['CreateVolume pvc-uid-data OK'],
      'create persistentvolumes pvc-uid-data 201',
    ]);
  });

  it('[provisioner#130,X6] given the update of the snapshot is forbidden, then the restore goes on unprotected, and the log says so', async () => {
    const p = await restore({
      prepare: ({ faults }) => void faults.push(faultOn('update volumesnapshots', forbidden)),
    });
    expect([p.calls(), warnings(p)]).toEqual([['CreateVolume pvc-uid-data OK'], []]);
    expect(p.logger.lines.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /^Unable to add finalizer to snapshot team\/daily due to missing RBAC permissions \(needs 'update' on volumesnapshots\): /,
      ),
    );
  });

  it('[provisioner#131] given conflicts on the update of the snapshot, then it is read again and written, three times at most', async () => {
    const twice = await restore({
      prepare: ({ faults }) => void faults.push(faultOn('update volumesnapshots', conflict, 2)),
    });
    expect([twice.calls(), warnings(twice)]).toEqual([['CreateVolume pvc-uid-data OK'], []]);
    const thrice = await restore({
      prepare: ({ faults }) => void faults.push(faultOn('update volumesnapshots', conflict, 3)),
    });
    expect([thrice.calls(), warnings(thrice).length]).toEqual([[], 1]);
    await thrice.clock.advance(1200);
    expect(thrice.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('given the update of the snapshot fails in another way, then there is no call, and the claim is retried', async () => {
    const p = await restore({
      prepare: ({ faults }) =>
        void faults.push(
          faultOn('update volumesnapshots', { kind: 'status', point: 'before', code: 422, reason: 'Invalid' }),
        ),
    });
    expect([p.calls(), warnings(p).length]).toEqual([[], 1]);
    await p.clock.advance(1200);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('[provisioner#84] given a class with an unknown reserved key, then there is no call, and the snapshot is protected all the same', async () => {
    const parameters = { 'csi.storage.k8s.io/unknown': 'x' };
    const p = await restore({ fixture: { seed: [aClass({ parameters })] } });
    expect([p.calls(), finalizersOf(snapshotOf(p)), warnings(p).length]).toEqual([[], ours, 1]);
  });

  it('[provisioner#133] given a claim that cannot be requested and alone protects its snapshot, when the snapshot is deleted, then it goes; a finalizer that was there before stays', async () => {
    const parameters = { 'csi.storage.k8s.io/unknown': 'x' };
    const features = { ...someSettings().features, snapshotSweep: true };
    const fixture = { seed: [aClass({ parameters })], settings: { features } };
    for (const [before, after] of [
      [[], undefined],
      [ours, ours],
    ] as const) {
      const p = await restore({ fixture, snapshot: { finalizers: before } });
      p.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
      await p.clock.advance(60_000);
      expect([p.calls(), finalizersOf(snapshotOf(p))]).toEqual([[], after]);
    }
  });

  it('[provisioner#132] given a driver without CREATE_DELETE_SNAPSHOT, then the claim fails before the snapshot is read', async () => {
    const p = await restore({
      fixture: { controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME', 'CREATE_DELETE_SNAPSHOT'] },
    });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
    const without = await aProvisioner({ controller: ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME'] });
    without.server.seed(aClaim({ spec: fromSnapshot }));
    await without.settle();
    expect([without.calls(), gets(without, 'volumesnapshots'), warnings(without)]).toEqual([
      [],
      0,
      [
        `${prefix}CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported`,
      ],
    ]);
  });

  it('[provisioner#136] given a cluster without the snapshot API, then the claim is retried with an event, and others are provisioned', async () => {
    const p = await aProvisioner({ controller: copying, snapshotApi: 'absent' });
    p.server.seed(aClaim({ spec: fromSnapshot }));
    p.server.seed(aClaim({ name: 'plain' }));
    await p.settle();
    expect(warnings(p)).toEqual([expect.stringContaining(`${handle}error getting snapshot daily from api server: `)]);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-plain OK']);
    await p.clock.advance(1200);
    expect(warnings(p)).toHaveLength(2);
  });

  it('given a snapshot that is replaced by another of its name during a conflict, then the other is not taken for it', async () => {
    const p = await restore({
      prepare: ({ server, faults }) => {
        faults.push({
          when: ({ verb, resource }) => {
            if (verb !== 'update' || resource !== 'volumesnapshots') return false;
            const ref = { namespace: 'team', name: 'daily' };
            server.objects.remove(volumeSnapshots, ref);
            server.seed({ ...aSnapshot(), metadata: { ...aSnapshot().metadata, uid: 'uid-of-other' } });
            return true;
          },
          fault: conflict,
          times: 1,
        });
      },
    });
    expect(p.calls()).toEqual([]);
    await p.clock.advance(1200);
    expect(warnings(p).at(-1)).toBe(
      `${handle}snapshotcontent content-daily for snapshot daily is bound to a different snapshot`,
    );
  });
});

describe('a restore whose first answer is ambiguous', () => {
  const failOnce = ({ driver }: Fixture, code: 'Aborted' | 'Internal'): void =>
    void driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code } });

  it('[provisioner#X4] given the snapshot would be refused now, when the call is repeated, then the snapshot is not read, and the request is the same', async () => {
    const p = await restore({ prepare: (fixture) => failOnce(fixture, 'Aborted') });
    const before = gets(p, 'volumesnapshotcontents');
    p.server.objects.change(volumeSnapshots, { namespace: 'team', name: 'daily' }, (snapshot) => ({
      ...snapshot,
      status: { ...snapshot.status, readyToUse: false },
    }));
    await p.clock.advance(1_200);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data Aborted', 'CreateVolume pvc-uid-data OK']);
    expect(contentOf(p, 1)).toEqual(contentOf(p, 0));
    expect(gets(p, 'volumesnapshotcontents')).toBe(before);
  });

  it('given a final code that does not settle, when the request is planned again, then the snapshot is read again', async () => {
    const p = await restore({ prepare: (fixture) => failOnce(fixture, 'Aborted') });
    failOnce(p, 'Internal');
    const contents = gets(p, 'volumesnapshotcontents');
    await p.clock.advance(1500);
    expect(gets(p, 'volumesnapshotcontents')).toBe(contents);
    await p.clock.advance(3000);
    expect(p.calls()).toEqual([
      'CreateVolume pvc-uid-data Aborted',
      'CreateVolume pvc-uid-data Internal',
      'CreateVolume pvc-uid-data OK',
    ]);
    expect(gets(p, 'volumesnapshotcontents')).toBe(contents + 1);
  });
});

describe('an answer without content_source', () => {
  const forgetful = (p: Fixture): void =>
    void p.driver.faults.add({
      method: 'CreateVolume',
      times: 1,
      action: { kind: 'answer', set: { volume: { content_source: null } } },
    });

  it('[provisioner#123,X8] given a restore, then the volume is deleted, and the claim is retried', async () => {
    const p = await restore({ prepare: forgetful });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK', expect.stringMatching(/^DeleteVolume .* OK$/)]);
    expect([warnings(p), p.volume()]).toEqual([[`${prefix}volume content source missing`], undefined]);
    await p.clock.advance(1200);
    expect([p.calls().length, p.volume()?.metadata?.name]).toEqual([3, 'pvc-uid-data']);
  });

  it('[provisioner#123] given the volume cannot be deleted, then the event says that it is orphaned, and the claim is protected', async () => {
    const p = await restore({
      prepare: (fixture) => {
        forgetful(fixture);
        fixture.driver.faults.add({
          method: 'DeleteVolume',
          action: { kind: 'fail', code: 'Internal', message: 'no' },
        });
      },
    });
    expect(warnings(p)).toEqual([
      expect.stringMatching(
        /volume content source missing\. cleanup of volume pvc-uid-data failed, volume is orphaned: .*/,
      ),
    ]);
    expect(p.claim()?.metadata?.finalizers).toHaveLength(1);
  });

  it('[C30] given the volume is that of another claim, then it is not deleted, and the event names its PersistentVolume', async () => {
    const p = await restore({ prepare: answerWithOrigin });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
    expect(warnings(p)).toEqual([expect.stringContaining('because PersistentVolume pv-origin has it')]);
    await p.clock.advance(3_000);
    expect([p.calls().length, p.volume()?.metadata?.name]).toEqual([2, 'pvc-uid-data']);
  });

  it('[provisioner#161] given a source in another namespace, then the volume is deleted', async () => {
    const to = { group: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot' };
    const p = await aProvisioner({ controller: copying, settings: crossing, seed: [aClass(), aGrant('store', to)] });
    await prepareSources(p, { namespace: 'store' });
    forgetful(p);
    p.server.seed(aClaim({ spec: { dataSourceRef: { ...fromSnapshot.dataSource, namespace: 'store' } } }));
    await p.settle();
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK', expect.stringMatching(/^DeleteVolume /)]);
    expect(warnings(p)).toEqual([`${prefix}volume content source missing`]);
  });
});

const crossing = {
  features: { ...someSettings().features, crossNamespaceVolumeDataSource: true },
};

describe('a snapshot of another namespace', () => {
  const claim = aClaim({ spec: { dataSourceRef: { ...fromSnapshot.dataSource, namespace: 'store' } } });
  const to = { group: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot' };
  const denied = `${prefix}accessing store/daily of VolumeSnapshot dataSource from team/data isn't allowed`;

  it('[provisioner#150,153] given no grant, when one is created, then the claim is provisioned at once, and the snapshot protected where it is', async () => {
    const p = await aProvisioner({ controller: copying, settings: crossing });
    await prepareSources(p, { namespace: 'store' });
    p.server.seed(claim);
    await p.settle();
    expect([p.calls(), warnings(p)]).toEqual([[], [denied]]);
    p.server.seed(aGrant('store', to));
    await p.settle();
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
    expect(p.server.writes().find(({ verb }) => verb === 'update')?.path).toContain(
      '/namespaces/store/volumesnapshots/daily',
    );
  });

  it('[provisioner#X2] given the grant is revoked while a call is open, then the call is repeated, and the claim is provisioned', async () => {
    const p = await aProvisioner({ controller: copying, settings: crossing, seed: [aClass(), aGrant('store', to)] });
    await prepareSources(p, { namespace: 'store' });
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'Aborted' } });
    p.server.seed(claim);
    await p.settle();
    p.server.objects.remove(referenceGrants, { namespace: 'store', name: 'grant' });
    await p.clock.advance(1200);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data Aborted', 'CreateVolume pvc-uid-data OK']);
  });

  it('[provisioner#156] given the gate is off, then the claim fails even with a grant, and grants are not watched', async () => {
    const p = await aProvisioner({ controller: copying, seed: [aClass(), aGrant('store', to)] });
    await prepareSources(p, { namespace: 'store' });
    p.server.seed(claim);
    await p.settle();
    expect([p.calls(), warnings(p)]).toEqual([
      [],
      [`${prefix}dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled`],
    ]);
    expect(p.server.requests.filter(({ path }) => path.includes('referencegrants'))).toEqual([]);
  });
});
