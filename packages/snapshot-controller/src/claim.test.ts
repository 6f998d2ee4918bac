// SPDX-License-Identifier: Apache-2.0
/** The loop of claims that are left without a snapshot. */
import { type KubeObject, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { snapshotFinalizers as finalizers, volumeSnapshots } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClaim, aClass, aProtectedClaim, aSnapshot, aVolume } from '../testing/builders.ts';
import { aController, claimsComeLate, type Fixture, forbidden } from '../testing/controller-fixture.ts';
import { aControllerOf } from '../testing/decided.ts';
import { isProtected } from './snapshot/snapshot.ts';

const queue = 'snapshot-controller-claim';
const ref = { namespace: 'team', name: 'data' };
const snapshotRef = { namespace: 'team', name: 'snap' };
const user = 'example.com/user';
/** A deleted claim that nothing but our finalizer keeps. */
const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [finalizers.claim] };
const held = aClaim({ metadata });
const withSource = (claim: KubeObject): readonly KubeObject[] => [claim, aVolume(), aClass()];
const released = 'update persistentvolumeclaims team/data 200';

const lists = ({ server }: Fixture): number =>
  server.requests.filter(({ verb, resource }) => verb === 'list' && resource === 'volumesnapshots').length;
const claimWrites = (it: Fixture): readonly string[] => it.writes().filter((line) => line.includes('claims'));
const isOurs = (it: Fixture): boolean => isProtected(it.claim());

it('[snapshot-controller#190] given a claim that the process before left behind, when a new leader starts, then one list, and the claim goes', async () => {
  const it = await aController({ seed: [held] });
  expect([it.claim(), it.writes(), lists(it), it.events]).toEqual([undefined, [released], 1, []]);
  await it.clock.advance(900_000);
  expect([it.writes(), lists(it)]).toEqual([[released], 1]);
  await it.stop();
});

it('[snapshot-controller#R1] given a claim that is gone before its release is tried again, then nothing is asked or written for it', async () => {
  const it = await aControllerOf(queue, {
    seed: [held],
    faults: [{ when: ({ verb }) => verb === 'update', fault: forbidden, times: 1 }],
  });
  const before = it.server.requests.length;
  await it.vanish(persistentVolumeClaims, ref);
  await it.clock.advance(60_000);
  expect(it.decided()).toEqual(['team/data R1']);
  expect(it.server.requests.slice(before).filter(({ verb }) => verb !== 'watch')).toEqual([]);
  await it.stop();
});

it('[snapshot-controller#190, R3] given a claim that is left behind and not being deleted, then nothing is asked or written before its deletion', async () => {
  const it = await aControllerOf(queue, { seed: [aProtectedClaim()] });
  await it.clock.advance(900_000);
  expect([it.decided(), it.writes(), lists(it)]).toEqual([[], [], 0]);
  await it.remove(persistentVolumeClaims, ref);
  expect([it.claim(), it.writes(), lists(it)]).toEqual([undefined, [released], 1]);
  await it.stop();
});

it('[snapshot-controller#190] given a claim that is being deleted while a snapshot of it is cut, when a person takes the finalizers of that off by force, then the claim goes', async () => {
  const it = await aControllerOf(queue, { seed: withSource(aClaim()), with: [aSnapshot()] });
  await it.remove(persistentVolumeClaims, ref);
  expect([it.decided(), lists(it), isOurs(it)]).toEqual([['team/data R2'], 0, true]);
  await it.vanish(volumeSnapshots, snapshotRef);
  expect([it.claim(), lists(it)]).toEqual([undefined, 1]);
  await it.stop();
});

it('[snapshot-controller#190] given a live claim while a snapshot of it is cut, when a person takes the finalizers of that off by force, then the claim is released once, and stays as it is when it is protected by hand', async () => {
  const it = await aControllerOf(queue, { seed: withSource(aClaim()), with: [aSnapshot()] });
  expect(isOurs(it)).toBe(true);
  await it.vanish(volumeSnapshots, snapshotRef);
  expect([isOurs(it), lists(it)]).toEqual([false, 1]);
  it.server.objects.change(persistentVolumeClaims, ref, (claim) => ({
    ...claim,
    metadata: { ...claim.metadata, finalizers: [finalizers.claim] },
  }));
  await it.clock.advance(900_000);
  expect([isOurs(it), lists(it)]).toEqual([true, 1]);
  await it.stop();
});

it('[snapshot-controller#R1] given a claim that is made again after a snapshot of the earlier one went, then nothing is asked or written for it', async () => {
  const it = await aControllerOf(queue, { seed: [aClaim()], with: [aSnapshot()] });
  await it.vanish(volumeSnapshots, snapshotRef);
  await it.vanish(persistentVolumeClaims, ref);
  await it.add(aProtectedClaim({ metadata: { uid: 'another' } }));
  expect([it.decided(), claimWrites(it), lists(it)]).toEqual([[], [], 0]);
  await it.stop();
});

it('[snapshot-controller#190] given the write that protects a claim is not answered yet, and a late watch of claims, when its snapshot is gone, then the claim is released once the watch shows it', async () => {
  const it = await aController({ seed: withSource(aClaim()) });
  it.faults.push(claimsComeLate);
  it.server.endWatches('broken');
  await it.clock.advance(30_000);
  it.fault('update persistentvolumeclaims', { kind: 'lag', ms: 2_000 });
  await it.add(aSnapshot());
  await it.vanish(volumeSnapshots, snapshotRef);
  await it.clock.advance(10_000);
  expect(isOurs(it)).toBe(true);
  await it.clock.advance(120_000);
  expect(isOurs(it)).toBe(false);
  await it.stop();
});

it('[snapshot-controller#190] given a restored backup that undoes the release of a claim, and a late watch of claims, when the snapshot goes before that watch shows it, then the claim can be deleted', async () => {
  const it = await aController({ with: [aSnapshot()] });
  const restore = it.server.backup();
  await it.report({ readyToUse: true });
  expect(isOurs(it)).toBe(false);
  it.faults.push(claimsComeLate);
  restore();
  await it.clock.advance(30_000);
  await it.remove(volumeSnapshots, snapshotRef);
  await it.letGo();
  expect([it.snapshot(), isOurs(it)]).toEqual([undefined, true]);
  await it.clock.advance(120_000);
  await it.remove(persistentVolumeClaims, ref);
  await it.clock.advance(120_000);
  expect(it.claim()).toBeUndefined();
  await it.stop();
});

it('[snapshot-controller#190] given a snapshot that only the API server shows yet, when its claim is deleted, then the claim stays protected, and goes after the snapshot', async () => {
  const late = { kind: 'lag', ms: 10_000 } as const;
  const isLate = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
    verb === 'watch' && resource === 'volumesnapshots';
  const it = await aController({
    seed: withSource(aProtectedClaim()),
    faults: [{ when: isLate, fault: late, times: 9 }],
  });
  await it.clock.advance(30_000);
  await it.add(aSnapshot({ spec: { volumeSnapshotClassName: 'missing' } }));
  await it.remove(persistentVolumeClaims, ref);
  expect([claimWrites(it), lists(it), isOurs(it)]).toEqual([[], 1, true]);
  await it.clock.advance(60_000);
  expect(isOurs(it)).toBe(true);
  await it.vanish(volumeSnapshots, snapshotRef);
  await it.clock.advance(60_000);
  expect([it.claim(), lists(it)]).toEqual([undefined, 2]);
  await it.stop();
});

it('[snapshot-controller#190] given a list that fails, then nothing is written, and the backoff lists again', async () => {
  const it = await aController({
    seed: [held],
    faults: [
      { when: ({ verb, resource }) => verb === 'list' && resource === 'volumesnapshots', fault: forbidden, times: 1 },
    ],
  });
  expect([it.writes(), isOurs(it)]).toEqual([[], true]);
  await it.clock.advance(2_000);
  expect([it.claim(), lists(it)]).toEqual([undefined, 1]);
  await it.stop();
});

it('[snapshot-controller#190] given the release of a claim is under way, when a snapshot of the claim appears, then no content is made', async () => {
  const it = await aController({
    seed: withSource(aProtectedClaim({ metadata: { finalizers: [user, finalizers.claim] } })),
  });
  it.fault('update persistentvolumeclaims', { kind: 'delay', ms: 2_000 });
  await it.remove(persistentVolumeClaims, ref);
  await it.add(aSnapshot());
  await it.clock.advance(10_000);
  expect([isOurs(it), it.content()]).toEqual([false, undefined]);
  expect(it.snapshot()?.status?.error?.message).toContain('it is being deleted');
  await it.stop();
});

it('[snapshot-controller#190] given the snapshots are listed for a claim, when one of it appears, then the claim stays protected for that', async () => {
  const it = await aController({ seed: withSource(aProtectedClaim()) });
  it.fault('list volumesnapshots', { kind: 'delay', ms: 2_000 });
  await it.remove(persistentVolumeClaims, ref);
  await it.add(aSnapshot());
  await it.clock.advance(10_000);
  expect([isOurs(it), claimWrites(it)]).toEqual([true, []]);
  expect(it.content()).toBeDefined();
  await it.report({ readyToUse: true });
  expect(it.claim()).toBeUndefined();
  await it.stop();
});
