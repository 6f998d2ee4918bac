// SPDX-License-Identifier: Apache-2.0
/** Which class a snapshot has. */
import { there } from '@csi-sidecars/test-driver/testing';
import { snapshotFinalizers as finalizers, volumeSnapshotClasses, volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aDefaultClass,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  aVolume,
  withoutClass,
} from '../../testing/builders.ts';
import { aController, type Fixture } from '../../testing/controller-fixture.ts';

const base = [aClaim(), aVolume()];
const failure = (it: Fixture): string | undefined => it.snapshot()?.status?.error?.message;
const ref = { namespace: 'team', name: 'snap' };
const missing = 'Failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "gold" not found';
const isReady = { boundVolumeSnapshotContentName: 'snapcontent-uid-of-snap', readyToUse: true };

describe('a class that is named', () => {
  it('[snapshot-controller#2] given another default class, then the named one stays', async () => {
    const it = await aController({ seed: [...base, aClass(), aDefaultClass('std')], with: [aSnapshot()] });
    expect(it.snapshot()?.spec?.volumeSnapshotClassName).toBe('gold');
    expect(it.content()?.spec?.volumeSnapshotClassName).toBe('gold');
    await it.stop();
  });

  it('[snapshot-controller#3, S4] [P9] given a class that does not exist, then status and event say so without readiness, and its arrival starts the snapshot', async () => {
    const it = await aController({ seed: base, with: [aSnapshot()] });
    expect(it.snapshot()?.status).toEqual({ error: { time: expect.any(String), message: missing } });
    expect(it.events).toEqual([`Warning GetSnapshotClassFailed team/snap: ${missing}`]);
    expect(there(it.snapshot()).metadata?.finalizers).toBeUndefined();
    await it.clock.advance(60_000);
    expect(it.events.length).toBe(1);
    await it.add(aClass());
    expect(it.content()).toBeDefined();
    await it.clock.advance(200);
    expect(failure(it)).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#13] [P31] given a ready snapshot whose class is deleted, then the error appears once, readiness stays, and nothing is retried', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report({ readyToUse: true, snapshotHandle: 's' });
    await it.remove(volumeSnapshotClasses, { name: 'gold' });
    await it.clock.advance(900_000);
    expect(failure(it)).toBe(missing);
    expect(it.snapshot()?.status?.readyToUse).toBe(true);
    expect(it.events.filter((line) => line.startsWith('Warning'))).toEqual([
      `Warning GetSnapshotClassFailed team/snap: ${missing}`,
    ]);
    expect(it.logger.lines.filter(({ message }) => message.includes('will retry'))).toEqual([]);
    await it.add(aClass());
    expect(failure(it)).toBe(missing);
    await it.stop();
  });

  it('[snapshot-controller#11, 12, D9] given a snapshot that is being deleted, when class and claim are gone, then the deletion needs neither', async () => {
    const metadata = { finalizers: [finalizers.asSource], deletionTimestamp: '2026-01-01T00:00:00Z' };
    const it = await aController({
      seed: [],
      with: [aSnapshot({ metadata }), withoutClass(aSnapshot({ name: 'bare', metadata }))],
    });
    expect(it.snapshot()).toBeUndefined();
    expect(it.snapshot('bare')).toBeUndefined();
    expect(it.events).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#8] given a static snapshot without a class, then none is looked for, and it is bound', async () => {
    const it = await aController({ seed: [aDefaultClass('std')], with: [aStaticSnapshot(), aStaticContent()] });
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: 'content', readyToUse: false });
    expect(there(it.content('content')?.spec).volumeSnapshotClassName).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#9] given a static snapshot that names a missing class, then it is bound when the class exists', async () => {
    const snapshot = aStaticSnapshot({ spec: { volumeSnapshotClassName: 'gold' } });
    const it = await aController({ seed: [], with: [snapshot, aStaticContent()] });
    expect(failure(it)).toBe(missing);
    expect(it.content('content')!.spec!.volumeSnapshotRef!.uid).toBeUndefined();
    await it.add(aClass());
    expect(it.content('content')?.spec?.volumeSnapshotRef?.uid).toBe('uid-of-snap');
    await it.stop();
  });

  it('[snapshot-controller#10] given a member of a group without a class, then no default is looked for', async () => {
    const owner = { apiVersion: 'groupsnapshot.storage.k8s.io/v1', kind: 'VolumeGroupSnapshot', name: 'g', uid: 'g' };
    const it = await aController({
      seed: [aClaim({ phase: 'Pending' })],
      with: [withoutClass(aSnapshot({ metadata: { ownerReferences: [owner] } }))],
    });
    expect(there(it.snapshot()?.spec).volumeSnapshotClassName).toBeUndefined();
    expect(it.events).toEqual([]);
    await it.stop();
  });
});

describe('a default class', () => {
  const failed = (cause: string): string => `Failed to set default snapshot class with error ${cause}`;
  const unnamed = withoutClass(aSnapshot());

  it.each([
    {
      id: '[snapshot-controller#4]',
      given: 'no claim',
      seed: [aDefaultClass()],
      text: failed('failed to retrieve PVC data from the lister: "persistentvolumeclaim \\"data\\" not found"'),
    },
    {
      id: '[snapshot-controller#5]',
      given: 'two default classes',
      seed: [...base, aDefaultClass('a'), aDefaultClass('b')],
      text: failed('2 default snapshot classes were found'),
    },
    {
      id: '[snapshot-controller#7]',
      given: 'marks that are not the text true',
      seed: [...base, aDefaultClass('a', {}, 'True'), aDefaultClass('b', {}, '1'), aDefaultClass('c', {}, 'false')],
      text: failed('cannot find default snapshot class'),
    },
    {
      id: '[snapshot-controller#28]',
      given: 'a volume that is not CSI',
      seed: [aClaim(), { ...aVolume(), spec: { claimRef: { namespace: 'team', name: 'data' } } }, aDefaultClass()],
      text: failed('snapshotting non-CSI volumes is not supported, snapshot:team/snap'),
    },
  ])('[snapshot-controller#S2] $id given $given, then status and event say so', async ({ seed, text }) => {
    const it = await aController({ seed, with: [unnamed] });
    expect(it.snapshot()?.status).toEqual({ error: { time: expect.any(String), message: text } });
    expect(it.events).toEqual([`Warning SetDefaultSnapshotClassFailed team/snap: ${text}`]);
    await it.stop();
  });

  it('[snapshot-controller#5] given two default classes, when one loses its mark, then the other is used', async () => {
    const it = await aController({ seed: [...base, aDefaultClass('a'), aDefaultClass('b')], with: [unnamed] });
    await it.change(volumeSnapshotClasses, { name: 'a' }, (found) => ({ ...found, metadata: { name: 'a', uid: 'u' } }));
    expect(it.snapshot()?.spec?.volumeSnapshotClassName).toBe('b');
    await it.clock.advance(200);
    expect(failure(it)).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#5] given two default classes, when one is deleted, then the other is used at once', async () => {
    const it = await aController({ seed: [...base, aDefaultClass('a'), aDefaultClass('b')], with: [unnamed] });
    await it.clock.advance(60_000);
    await it.remove(volumeSnapshotClasses, { name: 'a' });
    expect(it.snapshot()?.spec?.volumeSnapshotClassName).toBe('b');
    await it.clock.advance(200);
    expect(failure(it)).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#6] given two default classes of two drivers, then that of the volume is used', async () => {
    const other = aDefaultClass('other', { driver: 'other.example.com' });
    const it = await aController({ seed: [...base, other, aDefaultClass('ours')], with: [unnamed] });
    expect(it.snapshot()?.spec?.volumeSnapshotClassName).toBe('ours');
    await it.stop();
  });

  it('[snapshot-controller#14] given that the class cannot be written, then nothing is made without it, and the next attempt writes it', async () => {
    const refused = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' } as const;
    const it = await aController({
      seed: [...base, aDefaultClass()],
      with: [unnamed],
      faults: [{ when: ({ verb, subresource }) => verb === 'patch' && subresource === undefined, fault: refused }],
    });
    expect(it.events[0]).toMatch(/^Warning SnapshotFinalizerError team\/snap: Failed to check and update snapshot: ./);
    expect(it.content()).toBeUndefined();
    await it.clock.advance(1_500);
    expect(it.content()?.spec?.volumeSnapshotClassName).toBe('gold');
    await it.stop();
  });

  it('given a class that a user sets while the default is written, then the class of the user stays', async () => {
    const it = await aController({ seed: [...base, aDefaultClass('std'), aClass()] });
    it.fault('patch volumesnapshots', { kind: 'delay', ms: 1_000 });
    await it.add(unnamed);
    await it.change(volumeSnapshots, ref, (found) => ({
      ...found,
      spec: { ...found.spec, volumeSnapshotClassName: 'gold' },
    }));
    await it.clock.advance(2_000);
    expect(it.snapshot()?.spec?.volumeSnapshotClassName).toBe('gold');
    expect(it.content()?.spec?.volumeSnapshotClassName).toBe('gold');
    await it.stop();
  });
});

describe('sources that are not valid', () => {
  const text = 'Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified';
  it.each([
    { id: '[snapshot-controller#15]', given: 'neither source', source: {} },
    {
      id: '[snapshot-controller#16]',
      given: 'both sources',
      source: { persistentVolumeClaimName: 'data', volumeSnapshotContentName: 'x' },
    },
  ])('[snapshot-controller#S5] $id given $given, then status and event say so', async ({ source }) => {
    const it = await aController({ with: [aSnapshot({ spec: { source } })] });
    expect(it.snapshot()?.status).toMatchObject({ readyToUse: false, error: { message: text } });
    expect(it.events).toEqual([`Warning SnapshotValidationError team/snap: ${text}`]);
    await it.stop();
  });

  it('[snapshot-controller#17] given an invalid source and a deletion, then the deletion is processed', async () => {
    const metadata = { finalizers: [finalizers.asSource], deletionTimestamp: '2026-01-01T00:00:00Z' };
    const it = await aController({ with: [aSnapshot({ metadata, spec: { source: {} } })] });
    expect(it.snapshot()).toBeUndefined();
    expect(it.events).toEqual([]);
    await it.stop();
  });

  it('given a ready snapshot with its content, then it needs no claim', async () => {
    const it = await aController({ seed: [aClass()], with: [aSnapshot({ status: isReady }), aContent()] });
    expect(it.events).toEqual([]);
    expect(it.snapshot()?.status).toEqual(isReady);
    await it.stop();
  });
});
