// SPDX-License-Identifier: Apache-2.0
/** Dynamic snapshots from their creation until they are ready. */
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { faultOn, there } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aDefaultClass,
  aProtectedClaim,
  aSnapshot,
  aVolume,
  withoutClass,
} from '../../testing/builders.ts';
import { planContent } from './plan-content.ts';
import { aController, type Fixture, forbidden, refuseInTurn } from '../../testing/controller-fixture.ts';

const name = 'snapcontent-uid-of-snap';
const ready = {
  creationTime: 1_700_000_000_123_456_789n,
  readyToUse: true,
  restoreSize: 1_073_741_824,
  snapshotHandle: 's1',
};
const ref = { namespace: 'team', name: 'snap' };
const failure = (it: Fixture): string | undefined => it.snapshot()?.status?.error?.message;
const creation = (cause: string): string => `Failed to create snapshot content with error ${cause}`;
const input = (cause: string): string =>
  creation(`failed to get input parameters to create snapshot snap: ${JSON.stringify(cause)}`);

describe('failures whose text changes', () => {
  it('[snapshot-controller#31] given a content that is refused with another text each time, then the backoff holds', async () => {
    const { faults, count } = refuseInTurn('volumesnapshotcontents');
    const it = await aController({ with: [aSnapshot()], faults });
    await it.clock.advance(60_000);
    // At 0, 1, 3, 7, 15 and 31 s.
    expect(new Set(it.events).size).toBeGreaterThan(3);
    expect(count()).toBe(6);
    const statuses = it.writes().filter((line) => line.startsWith('patch volumesnapshots/status'));
    expect(statuses.length).toBe(6);
    await it.stop();
  });
});

describe('requests', () => {
  it('[snapshot-controller#19, 38, 85] given a dynamic snapshot without a status, when its driver is slow, then six requests and three events', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.clock.advance(200);
    expect(it.writes()).toEqual([
      'patch volumesnapshots team/snap 200',
      'update persistentvolumeclaims team/data 200',
      `create volumesnapshotcontents ${name} 201`,
      'patch volumesnapshots/status team/snap 200',
    ]);
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: name, readyToUse: false });
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    expect(it.snapshot()?.metadata?.finalizers).toEqual([finalizers.asSource, finalizers.bound]);
    await it.report(ready);
    expect(it.writes().slice(4)).toEqual([
      'patch volumesnapshots/status team/snap 200',
      'update persistentvolumeclaims team/data 200',
    ]);
    expect(it.reads()).toEqual([]);
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    expect(it.claim()?.spec).toMatchObject(aClaim().spec ?? {});
    expect(it.events).toEqual([
      'Normal CreatingSnapshot team/snap: Waiting for a snapshot team/snap to be created by the CSI driver.',
      'Normal SnapshotCreated team/snap: Snapshot team/snap was successfully created by the CSI driver.',
      'Normal SnapshotReady team/snap: Snapshot team/snap is ready to use.',
    ]);
    await it.stop();
  });

  it('[snapshot-controller#1, 132, S12] given no class, when there is one default class, then it is written with the finalizers, and a resync costs nothing', async () => {
    const it = await aController({
      seed: [aClaim(), aVolume(), aDefaultClass('std')],
      with: [withoutClass(aSnapshot())],
    });
    expect(it.bodies()[0]).toMatchObject({
      metadata: { finalizers: [finalizers.asSource, finalizers.bound] },
      spec: { volumeSnapshotClassName: 'std' },
    });
    expect(it.content()?.spec?.volumeSnapshotClassName).toBe('std');
    await it.report(ready);
    const { length } = it.server.requests.filter(({ verb }) => verb !== 'watch');
    await it.clock.advance(3_600_000);
    expect(it.server.requests.filter(({ verb }) => verb !== 'watch').length).toBe(length);
    await it.stop();
  });

  it('[snapshot-controller#40, 86] given two snapshots of one claim, then the claim is protected once, and released when both are ready', async () => {
    const it = await aController({ with: [aSnapshot(), aSnapshot({ name: 'other' })] });
    // The second write of the claim meets a conflict and is repeated.
    await it.clock.advance(100);
    expect(it.content()).toBeDefined();
    expect(it.content('snapcontent-uid-of-other')).toBeDefined();
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.report(ready);
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.report(ready, 'snapcontent-uid-of-other');
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  });
});

describe('the content', () => {
  it('[snapshot-controller#20, 123, 39] given secrets, a volume mode and an unknown parameter, then the content has annotations, mode and its finalizer', async () => {
    const parameters = {
      'csi.storage.k8s.io/snapshotter-secret-name': 'of-${volumesnapshot.name}',
      'csi.storage.k8s.io/snapshotter-secret-namespace': '${volumesnapshot.namespace}',
      'csi.storage.k8s.io/unknown': 'x',
    };
    const it = await aController({
      seed: [aClaim(), aVolume({ spec: { volumeMode: 'Block' } }), aClass('gold', { parameters })],
      with: [aSnapshot()],
    });
    const version = it.snapshot()?.metadata?.resourceVersion;
    expect(Number(version)).toBeGreaterThan(0);
    expect(it.content()).toMatchObject({
      metadata: {
        finalizers: [finalizers.content],
        annotations: {
          [snapshotAnnotations.deletionSecretName]: 'of-snap',
          [snapshotAnnotations.deletionSecretNamespace]: 'team',
        },
      },
      spec: {
        deletionPolicy: 'Delete',
        driver: 'd.example.com',
        source: { volumeHandle: 'handle-1' },
        sourceVolumeMode: 'Block',
        volumeSnapshotClassName: 'gold',
        volumeSnapshotRef: {
          apiVersion: 'snapshot.storage.k8s.io/v1',
          kind: 'VolumeSnapshot',
          name: 'snap',
          namespace: 'team',
          uid: 'uid-of-snap',
        },
      },
    });
    expect(there(it.content()).metadata?.labels).toBeUndefined();
    await it.stop();
  });

  it.each([
    { flag: 'off', recordVolumeMode: false, volumeMode: 'Block', mode: undefined },
    { flag: 'on', recordVolumeMode: true, volumeMode: undefined, mode: undefined },
    { flag: 'on', recordVolumeMode: true, volumeMode: 'Block', mode: 'Block' },
  ])(
    '[snapshot-controller#123] given the flag $flag and a volume of mode $volumeMode, then the content says $mode',
    ({ recordVolumeMode, volumeMode, mode }) => {
      const { volumeMode: _, ...spec } = aVolume().spec ?? {};
      const volume = { ...aVolume(), spec: { ...spec, ...(volumeMode === undefined ? {} : { volumeMode }) } };
      const facts = { classes: [aClass()], claim: aClaim(), volume, node: '' };
      const content = planContent(facts, aSnapshot(), { recordVolumeMode });
      expect(content.kind === 'ok' ? [content.value.spec?.sourceVolumeMode] : content).toEqual([mode]);
    },
  );

  it('[snapshot-controller#124] given another mode of the volume, when the snapshot is reconciled again, then the content keeps its mode', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.clock.advance(200);
    const writes = it.writes().length;
    it.server.seed(aVolume({ spec: { volumeMode: 'Block' } }));
    await it.clock.advance(900_000);
    expect(it.content()?.spec?.sourceVolumeMode).toBe('Filesystem');
    expect(it.writes().length).toBe(writes);
    await it.stop();
  });
});

describe('what prevents the content', () => {
  const secretName = 'csi.storage.k8s.io/snapshotter-secret-name';
  it.each([
    {
      id: '[snapshot-controller#21]',
      given: 'half a secret',
      seed: [aClaim(), aVolume(), aClass('gold', { parameters: { [secretName]: 'x' } })],
      text: input(
        'failed to get name and namespace template from params: either name and namespace for Snapshotter secrets specified, Both must be specified',
      ),
    },
    {
      id: '[snapshot-controller#22]',
      given: 'no claim',
      seed: [aVolume(), aClass()],
      text: creation('snapshot controller failed to update snap on API server: cannot get claim from snapshot'),
    },
    {
      id: '[snapshot-controller#23]',
      given: 'no PersistentVolume',
      seed: [aClaim(), aClass()],
      text: input('failed to retrieve PV pv1 from the API server: "persistentvolumes \\"pv1\\" not found"'),
    },
    {
      id: '[snapshot-controller#24]',
      given: 'a claim that is not bound',
      seed: [aClaim({ phase: 'Pending' }), aVolume(), aClass()],
      text: input('the PVC data is not yet bound to a PV, will not attempt to take a snapshot'),
    },
    {
      id: '[snapshot-controller#25]',
      given: 'a lost claim',
      seed: [aClaim({ phase: 'Lost' }), aVolume(), aClass()],
      text: input('the PVC data is not yet bound to a PV, will not attempt to take a snapshot'),
    },
    {
      id: '[snapshot-controller#26]',
      given: 'a PersistentVolume of another claim',
      seed: [aClaim(), aVolume({ claim: aClaim({ uid: 'another' }) }), aClass()],
      text: input('claim in dataSource not bound or invalid'),
    },
    {
      id: '[snapshot-controller#26]',
      given: 'a volume of another name, without UID',
      seed: [aClaim(), aVolume({ spec: { claimRef: { namespace: 'team', name: 'other' } } }), aClass()],
      text: input('claim in dataSource not bound or invalid'),
    },
    {
      id: '[snapshot-controller#26]',
      given: 'a volume of another namespace, no UID',
      seed: [aClaim(), aVolume({ spec: { claimRef: { namespace: 'other', name: 'data' } } }), aClass()],
      text: input('claim in dataSource not bound or invalid'),
    },
    {
      id: '',
      given: 'a volume without a claim, P22',
      seed: [aClaim(), { ...aVolume(), spec: { csi: aVolume().spec?.csi as never } }, aClass()],
      text: input('claim in dataSource not bound or invalid'),
    },
    {
      id: '[snapshot-controller#28]',
      given: 'a PersistentVolume that is not CSI',
      seed: [aClaim(), { ...aVolume(), spec: { claimRef: { namespace: 'team', name: 'data' } } }, aClass()],
      text: creation('cannot find CSI PersistentVolumeSource for volume pv1'),
    },
    {
      id: '[snapshot-controller#42]',
      given: 'a class of another driver, P7',
      seed: [aClaim(), aVolume(), aClass('gold', { driver: 'other.example.com' })],
      text: creation(
        'Volume CSI driver (d.example.com) mismatch with VolumeSnapshotClass (other.example.com) team/snap: pv1',
      ),
    },
    {
      id: '[snapshot-controller#30]',
      given: 'a claim that is being deleted and is not protected',
      seed: [aClaim({ deleting: 'yes' }), aVolume(), aClass()],
      text: creation(
        'snapshot controller failed to update data on API server: cannot add finalizer on claim because it is being deleted',
      ),
    },
  ])('$id given $given, then there is no content, and status and event say why', async ({ seed, text }) => {
    const it = await aController({ seed, with: [aSnapshot()] });
    expect(it.content()).toBeUndefined();
    expect(failure(it)).toBe(text);
    expect(it.snapshot()?.status?.readyToUse).toBe(false);
    expect(it.events).toEqual([`Warning SnapshotContentCreationFailed team/snap: ${text}`]);
    await it.clock.advance(60_000);
    expect(it.events.length).toBe(1);
    await it.stop();
  });

  it('[P11] given a problem that cannot be written to the status, then its event is about the snapshot', async () => {
    const it = await aController({
      seed: [aClaim({ phase: 'Pending' }), aVolume(), aClass()],
      // The write of the finalizers wakes the snapshot once more.
      faults: [faultOn('patch volumesnapshots/status', forbidden, 2)],
      with: [aSnapshot()],
    });
    const text = input('the PVC data is not yet bound to a PV, will not attempt to take a snapshot');
    expect(there(it.snapshot()).status).toBeUndefined();
    const line = `Warning SnapshotContentCreationFailed team/snap: ${text}`;
    expect(it.events).toEqual([line, line]);
    await it.clock.advance(2_400);
    expect(failure(it)).toBe(text);
    await it.stop();
  });

  it('[snapshot-controller#27] given a claim reference without UID, then it counts', async () => {
    const volume = aVolume({ spec: { claimRef: { namespace: 'team', name: 'data' } } });
    const it = await aController({ seed: [aClaim(), volume, aClass()], with: [aSnapshot()] });
    expect(it.content()).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#29] given a claim that is being deleted under the protection of another snapshot, then the content is made', async () => {
    const claim = aProtectedClaim({ deleting: 'yes', metadata: { finalizers: [finalizers.claim] } });
    const it = await aController({ seed: [claim, aVolume(), aClass()], with: [aSnapshot()] });
    expect(it.content()).toBeDefined();
    expect(it.writes().filter((line) => line.includes('claims'))).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#24, 36] [P9] given a claim that is not bound, when it is bound, then the snapshot is taken at once, and its error goes', async () => {
    const it = await aController({ seed: [aClaim({ phase: 'Pending' }), aVolume(), aClass()], with: [aSnapshot()] });
    await it.clock.advance(60_000);
    expect(it.content()).toBeUndefined();
    expect(it.writes().filter((line) => line.endsWith('409'))).toEqual([]);
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'data' }, (claim) => ({
      ...claim,
      status: { phase: 'Bound' },
    }));
    expect(it.content()).toBeDefined();
    await it.clock.advance(200);
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: name, readyToUse: false });
    await it.stop();
  });

  it('[snapshot-controller#23] [P9] given a PersistentVolume that comes late, then the claim is protected meanwhile, and the snapshot is taken at once', async () => {
    const it = await aController({ seed: [aClaim(), aClass()], with: [aSnapshot()] });
    await it.clock.advance(60_000);
    expect(it.content()).toBeUndefined();
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.add(aVolume());
    expect(it.content()).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#31] given a refused creation, then two events and the error, and the next attempt succeeds', async () => {
    const it = await aController({
      faults: [faultOn('create volumesnapshotcontents', forbidden, 2)],
      with: [aSnapshot()],
    });
    const text = failure(it) ?? '';
    expect(text).toMatch(
      /^Failed to create snapshot content with error snapshot controller failed to update team\/snap on API server: ./,
    );
    expect(it.events.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      'Warning CreateSnapshotContentFailed',
      'Warning SnapshotContentCreationFailed',
      'Warning CreateSnapshotContentFailed',
    ]);
    expect(it.events[0]).toMatch(/: Error creating volume snapshot content object for snapshot team\/snap: .*\.$/);
    await it.clock.advance(10_000);
    expect(it.content()).toBeDefined();
    expect(failure(it)).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#37] given an error from before, when the content is made, then the error goes', async () => {
    const status = { error: { time: '2026-01-01T00:00:00Z', message: 'no' }, readyToUse: false };
    const it = await aController({ with: [aSnapshot({ status })] });
    await it.clock.advance(200);
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: name, readyToUse: false });
    await it.stop();
  });
});

describe('a content that is there', () => {
  it.each([
    {
      id: '[snapshot-controller#34]',
      given: 'was made by an administrator',
      content: aContent({ spec: { source: { snapshotHandle: 'x' } } }),
      reason: 'SnapshotContentMismatch',
      text: `VolumeSnapshotContent ${name} is pre-provisioned while expecting a dynamically provisioned one`,
    },
    {
      id: '[snapshot-controller#35]',
      given: 'is bound to another UID',
      content: aContent({ of: aSnapshot({ uid: 'another' }), name }),
      reason: 'SnapshotContentMisbound',
      text: `VolumeSnapshotContent [${name}] is bound to a different snapshot`,
    },
    {
      id: '[snapshot-controller#S9]',
      given: 'has both handles',
      content: aContent({ spec: { source: { snapshotHandle: 'x', volumeHandle: 'handle-1' } } }),
      reason: 'SnapshotHandleSet',
      text: 'Snapshot handle should not be set in content team/snap for dynamic provisioning',
    },
  ])(
    '[snapshot-controller#S8] $id given a content that $given, then neither content nor finalizers are touched',
    async ({ content, reason, text }) => {
      const it = await aController({ with: [aSnapshot(), content] });
      expect(it.snapshot()?.status?.error?.message).toBe(text);
      expect(it.snapshot()?.status?.readyToUse).toBe(false);
      expect(there(it.snapshot()).metadata?.finalizers).toBeUndefined();
      expect(it.events.filter((line) => line.includes('team/snap'))).toEqual([`Warning ${reason} team/snap: ${text}`]);
      expect(it.content()).toMatchObject(content);
      expect(it.writes().filter((line) => line.includes('volumesnapshotcontents'))).toEqual([]);
      await it.stop();
    },
  );

  it.each([
    { of: 'this snapshot', content: aContent({ status: ready }), isReady: true, message: undefined },
    {
      of: 'another one',
      content: aContent({ of: aSnapshot({ uid: 'another' }), name, status: ready }),
      isReady: false,
      message: `VolumeSnapshotContent [${name}] is bound to a different snapshot`,
    },
  ])(
    '[snapshot-controller#33] [P2] given a content of $of that the cache does not show yet, when it is created again, then it is read and compared',
    async ({ content, isReady, message }) => {
      const it = await aController();
      it.fault('create volumesnapshotcontents', { kind: 'delay', ms: 1_000 });
      await it.add(aSnapshot());
      await it.add(content);
      await it.clock.advance(2_000);
      expect(it.reads()).toContain(`get volumesnapshotcontents ${name}`);
      expect(it.snapshot()?.status?.readyToUse).toBe(isReady);
      expect(it.snapshot()?.status?.error?.message).toBe(message);
      expect(it.events.some((line) => line.includes('CreatingSnapshot'))).toBe(isReady);
      await it.stop();
    },
  );

  it('[snapshot-controller#32] given that the status cannot be written, then the content stays, and the next attempt binds', async () => {
    const it = await aController({
      faults: [{ when: ({ subresource }) => subresource === 'status', fault: forbidden, times: 2 }],
      with: [aSnapshot()],
    });
    await it.clock.advance(200);
    expect(it.content()).toBeDefined();
    expect(there(it.snapshot()).status).toBeUndefined();
    expect(it.events.filter((line) => line.startsWith('Warning SnapshotStatusUpdateFailed'))[0]).toMatch(
      /: Snapshot status update failed, snapshot controller failed to update team\/snap on API server: ./,
    );
    await it.clock.advance(10_000);
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: name, readyToUse: false });
    expect(it.writes().filter((line) => line.startsWith('create'))).toEqual([
      `create volumesnapshotcontents ${name} 201`,
    ]);
    await it.stop();
  });

  it('[snapshot-controller#41, 130] given a snapshot that is made again under its name, then it gets a content of its own, and the retained one is left alone', async () => {
    const it = await aController({
      seed: [aClaim(), aVolume(), aClass('gold', { deletionPolicy: 'Retain' })],
      with: [aSnapshot()],
    });
    await it.report(ready);
    const before = it.content();
    await it.remove(volumeSnapshots, ref);
    expect(it.snapshot()).toBeUndefined();
    await it.add(aSnapshot({ uid: 'second' }));
    expect(it.content('snapcontent-second')?.spec?.volumeSnapshotRef?.uid).toBe('second');
    expect(it.content()?.spec).toEqual(before?.spec);
    expect(there(it.content()).metadata?.deletionTimestamp).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#74, 71] [P6] given a ready snapshot whose content vanishes, then no other content is made, and the old creation time does not stand for new data', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report(ready);
    await it.vanish(volumeSnapshotContents, { name });
    await it.clock.advance(600_000);
    expect(it.content()).toBeUndefined();
    expect(it.snapshot()?.status).toMatchObject({
      readyToUse: false,
      error: { message: 'VolumeSnapshotContent is missing' },
    });
    expect(it.events.filter((line) => line.startsWith('Warning'))).toEqual([
      'Warning SnapshotContentMissing team/snap: VolumeSnapshotContent is missing',
    ]);
    await it.stop();
  });

  it.each([
    { given: 'creation time', report: { creationTime: ready.creationTime, readyToUse: false } },
    { given: 'restore size', report: { restoreSize: 1024, readyToUse: false } },
  ])(
    '[snapshot-controller#S11] [P6] given a snapshot with a $given that is not ready, when its content vanishes, then no other content is made',
    async ({ report }) => {
      const it = await aController({ with: [aSnapshot()] });
      await it.report(report);
      await it.vanish(volumeSnapshotContents, { name });
      await it.clock.advance(600_000);
      expect(it.content()).toBeUndefined();
      expect(failure(it)).toBe('VolumeSnapshotContent is missing');
      await it.stop();
    },
  );

  it('[P6] given a ready snapshot without a creation time whose content vanishes, then no other content is made either', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report({ readyToUse: true, snapshotHandle: 's1' });
    await it.vanish(volumeSnapshotContents, { name });
    await it.clock.advance(600_000);
    expect(it.content()).toBeUndefined();
    await it.stop();
  });
});
