// SPDX-License-Identifier: Apache-2.0
/** Snapshots whose contents an administrator made. */
import { there } from '@csi-sidecars/test-driver/testing';
import { snapshotFinalizers as finalizers, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aStaticContent, aStaticSnapshot } from '../../testing/builders.ts';
import { aController, conflict, type Fixture, forbidden } from '../../testing/controller-fixture.ts';

const bound = { boundVolumeSnapshotContentName: 'content', readyToUse: false };
const content = (it: Fixture) => it.content('content');
const failure = (it: Fixture): string | undefined => it.snapshot()?.status?.error?.message;
const withClass = aStaticSnapshot({ spec: { volumeSnapshotClassName: 'gold' } });
const misbound = 'VolumeSnapshotContent [content] is bound to a different snapshot';
const refTo = (more: object) => ({ name: 'snap', namespace: 'team', ...more });

describe('binding', () => {
  it('[snapshot-controller#43] given a content without UID, then UID, class and finalizer are written in one request, and the status follows', async () => {
    const it = await aController({
      with: [withClass, aStaticContent({ status: { readyToUse: true, restoreSize: 1024 } })],
    });
    expect(it.writes()).toEqual([
      'patch volumesnapshots team/snap 200',
      'patch volumesnapshotcontents content 200',
      'patch volumesnapshots/status team/snap 200',
    ]);
    expect(content(it)).toMatchObject({
      metadata: { finalizers: [finalizers.content] },
      spec: { volumeSnapshotClassName: 'gold', volumeSnapshotRef: refTo({ uid: 'uid-of-snap' }) },
    });
    expect(it.snapshot()?.status).toEqual({ ...bound, readyToUse: true, restoreSize: '1Ki' });
    await it.stop();
  });

  it('[snapshot-controller#44, S15] given a bound content without a class, then it gets the class of the snapshot', async () => {
    const it = await aController({
      with: [withClass, aStaticContent({ spec: { volumeSnapshotRef: refTo({ uid: 'uid-of-snap' }) } })],
    });
    // Both loops write the content, so that one of them meets a conflict.
    await it.clock.advance(50);
    expect(content(it)?.spec?.volumeSnapshotClassName).toBe('gold');
    await it.stop();
  });

  it('[snapshot-controller#45] given that the content cannot be written, then status and event say so, and the next attempt binds', async () => {
    const it = await aController({
      with: [withClass, aStaticContent()],
      faults: [
        {
          when: ({ verb, resource }) => verb === 'patch' && resource === 'volumesnapshotcontents',
          fault: forbidden,
          times: 2,
        },
      ],
    });
    expect(failure(it)).toMatch(/^Snapshot failed to bind VolumeSnapshotContent, ./);
    expect(it.snapshot()?.status?.readyToUse).toBe(false);
    expect(it.events.map((line) => line.split(' ')[1])).toEqual(['SnapshotBindFailed']);
    await it.clock.advance(10_000);
    expect(it.snapshot()?.status).toEqual(bound);
    await it.stop();
  });

  it('[snapshot-controller#46] [P29] given neither a class nor a change, then a bound content is not written again', async () => {
    const it = await aController({ with: [aStaticSnapshot(), aStaticContent()] });
    await it.clock.advance(3_600_000);
    expect(it.writes().filter((line) => line.includes('volumesnapshotcontents'))).toEqual([
      'patch volumesnapshotcontents content 200',
    ]);
    await it.stop();
  });

  it('[snapshot-controller#47] given a content with another class, when it is bound, then it gets the class of the snapshot', async () => {
    const it = await aController({ with: [withClass, aStaticContent({ spec: { volumeSnapshotClassName: 'x' } })] });
    expect(content(it)?.spec?.volumeSnapshotClassName).toBe('gold');
    await it.stop();
  });

  it.each([
    {
      id: '[snapshot-controller#48]',
      given: 'the UID of another snapshot',
      reference: refTo({ uid: 'another' }),
      status: undefined,
    },
    {
      id: '[snapshot-controller#48]',
      given: 'the UID of another snapshot, after it was bound',
      reference: refTo({ uid: 'another' }),
      status: bound,
    },
    {
      id: '[snapshot-controller#49]',
      given: 'another namespace',
      reference: refTo({ namespace: 'other' }),
      status: undefined,
    },
  ])('$id given a content with $given, then it is not touched', async ({ reference, status }) => {
    const it = await aController({
      with: [
        aStaticSnapshot(status === undefined ? {} : { status }),
        aStaticContent({ spec: { volumeSnapshotRef: reference } }),
      ],
    });
    expect(it.snapshot()?.status).toMatchObject({ readyToUse: false, error: { message: misbound } });
    expect(it.events).toEqual([`Warning SnapshotContentMisbound team/snap: ${misbound}`]);
    expect(content(it)?.spec).toEqual(aStaticContent({ spec: { volumeSnapshotRef: reference } }).spec);
    expect(there(content(it)).metadata?.annotations).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#53] given a snapshot of the same name in another namespace, then it does not get the content', async () => {
    const it = await aController({
      with: [aStaticSnapshot(), aStaticSnapshot({ namespace: 'other', uid: 'o' }), aStaticContent()],
    });
    expect(it.snapshot()?.status).toEqual(bound);
    const other = it.get(volumeSnapshots, { namespace: 'other', name: 'snap' });
    expect(other?.status?.error?.message).toBe(misbound);
    await it.stop();
  });

  it('[snapshot-controller#50, C3] given a dynamic content, then it is refused, and not touched', async () => {
    const text = 'VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one';
    const it = await aController({
      with: [aStaticSnapshot(), aStaticContent({ spec: { source: { volumeHandle: 'x' } } })],
    });
    expect(it.snapshot()?.status).toMatchObject({ readyToUse: false, error: { message: text } });
    expect(it.events).toEqual([`Warning SnapshotContentMismatch team/snap: ${text}`]);
    expect(it.writes()).toEqual(['patch volumesnapshots/status team/snap 200']);
    await it.stop();
  });

  it('[snapshot-controller#51] [P9] given no content, then status and event say so, and a late content is bound at once', async () => {
    const it = await aController({ with: [aStaticSnapshot()] });
    await it.clock.advance(120_000);
    expect(it.events).toEqual(['Warning SnapshotContentMissing team/snap: VolumeSnapshotContent is missing']);
    expect(it.snapshot()?.status?.readyToUse).toBe(false);
    await it.add(aStaticContent());
    expect(it.snapshot()?.status).toEqual(bound);
    await it.stop();
  });

  it('[snapshot-controller#71] given a ready snapshot whose content vanishes, then it is not ready any more, with one event, and stays so', async () => {
    const it = await aController({ with: [aStaticSnapshot(), aStaticContent({ status: { readyToUse: true } })] });
    expect(it.snapshot()?.status).toEqual({ ...bound, readyToUse: true });
    await it.vanish(volumeSnapshotContents, { name: 'content' });
    await it.clock.advance(600_000);
    expect(it.snapshot()?.status).toMatchObject({ ...bound, error: { message: 'VolumeSnapshotContent is missing' } });
    expect(it.events.filter((line) => line.startsWith('Warning'))).toEqual([
      'Warning SnapshotContentMissing team/snap: VolumeSnapshotContent is missing',
    ]);
    await it.stop();
  });

  it('[snapshot-controller#52] given a content that no snapshot refers to, then it gets no finalizer and no event', async () => {
    const it = await aController({ with: [aStaticContent()] });
    await it.clock.advance(60_000);
    expect([it.writes(), it.events]).toEqual([[], []]);
    await it.stop();
  });

  it('[snapshot-controller#54] given a static snapshot, then no claim is touched', async () => {
    const it = await aController({ with: [aStaticSnapshot(), aStaticContent({ status: { readyToUse: true } })] });
    await it.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    expect(it.writes().filter((line) => line.includes('persistentvolumeclaims'))).toEqual([]);
    await it.stop();
  });

  it('given a content that another snapshot gets while it is bound, then it is not taken away', async () => {
    const it = await aController({ with: [aStaticContent(), aClass(), aClaim()] });
    it.fault('patch volumesnapshotcontents', { kind: 'delay', ms: 1_000 });
    await it.add(aStaticSnapshot());
    await it.change(volumeSnapshotContents, { name: 'content' }, (found) => ({
      ...found,
      spec: { ...found.spec, volumeSnapshotRef: refTo({ uid: 'another' }) },
    }));
    await it.clock.advance(2_000);
    expect(content(it)?.spec?.volumeSnapshotRef?.uid).toBe('another');
    expect(failure(it)).toBe(misbound);
    await it.stop();
  });

  it('given a conflict when the content is bound, then it is read and written again in place', async () => {
    const it = await aController({ with: [aStaticContent()] });
    it.fault('patch volumesnapshotcontents', conflict);
    await it.add(aStaticSnapshot());
    await it.clock.advance(20);
    expect(it.snapshot()?.status).toEqual(bound);
    expect(it.events).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#S6] given an empty name of the content, then nothing is written', async () => {
    const it = await aController({ with: [aStaticSnapshot({ spec: { source: { volumeSnapshotContentName: '' } } })] });
    await it.clock.advance(5_000);
    expect([it.writes(), it.events]).toEqual([[], []]);
    expect(it.logger.lines.some(({ kind, ...line }) => kind === 'error' || 'error' in line)).toBe(true);
    await it.stop();
  });
});
