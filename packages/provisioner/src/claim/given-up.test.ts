// SPDX-License-Identifier: Apache-2.0
/** How long a deleted claim is kept for an outcome that never comes. */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { copying, finalizersOf, fromSnapshot, prepareSources, snapshotOf } from '../../testing/sources.ts';
import { provisioningFinalizer, snapshotSourceProtection } from '../names.ts';

type Code = 'DeadlineExceeded' | 'Internal';
const finalizer = provisioningFinalizer(driverName);
const givenUp =
  'Warning ProvisioningGivenUp team/data: volume pvc-uid-data may exist: CSI driver test.csi.example.com gave no conclusive answer after the claim was deleted, so the claim was released; delete the volume in the storage system if it is there';
const givenUpCount = (p: Fixture): number | undefined =>
  p.metrics.value('csi_sidecars_provisioning_given_up_total', { class: 'fast', source: '' });

/** The claim is protected, and the driver gives only this answer from then on. */
async function unsettled(code: Code, options: FixtureOptions = {}): Promise<Fixture> {
  const p = await aProvisioner({ seed: [aClass()], ...options });
  p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } });
  p.driver.faults.add({ method: 'CreateVolume', skip: 1, action: { kind: 'fail', code } });
  p.server.seed(aClaim());
  await p.settle();
  expect(p.claim()?.metadata?.finalizers).toEqual([finalizer]);
  return p;
}
/** The time at which the claim was gone, counted from now in steps of a second. */
async function secondsUntilGone(p: Fixture, limit = 3600): Promise<number | undefined> {
  for (let second = 0; second <= limit; second++) {
    if (p.claim() === undefined) return second;
    await p.clock.advance(1000);
  }
  return undefined;
}
function aDeleted(clock: Fixture['clock'], agoMs: number): PersistentVolumeClaim {
  const claim = aClaim({ protection: 'on', deleting: 'yes' });
  const deletionTimestamp = new Date(clock.nowMs() - agoMs).toISOString();
  return { ...claim, metadata: { ...claim.metadata, deletionTimestamp } };
}

describe('a deleted claim without a conclusive answer', () => {
  it('[provisioner#P7] given a claim that backed off for long, when it is deleted, then the next call is made at once and the backoff starts again', async () => {
    const p = await unsettled('Internal');
    await p.clock.advance(200_000);
    const before = p.calls().length;
    p.deleteClaim();
    await p.clock.advance(3500);
    expect(p.calls().length - before).toBe(3);
  });

  it('[provisioner#P7] given Internal for ever, when the claim is deleted, then it is given up after one minute, with one Warning and one count', async () => {
    const p = await unsettled('Internal');
    p.deleteClaim();
    expect(await secondsUntilGone(p)).toBe(60);
    expect(p.events.filter((event) => event === givenUp)).toHaveLength(1);
    expect(givenUpCount(p)).toBe(1);
    const [calls, events] = [p.calls().length, p.events.length];
    await p.clock.advance(24 * 3_600_000);
    expect([p.calls().length, p.events.length]).toEqual([calls, events]);
  });

  it('[provisioner#P7] given DeadlineExceeded for ever, when the claim is deleted, then it is given up after five minutes, and calls from memory continue without events', async () => {
    const p = await unsettled('DeadlineExceeded');
    p.deleteClaim();
    expect(await secondsUntilGone(p)).toBe(300);
    expect([p.events.at(-1), givenUpCount(p)]).toEqual([givenUp, 1]);
    const events = p.events.length;
    p.driver.faults.clear();
    await p.clock.advance(600_000);
    expect([p.volume()?.spec?.claimRef?.uid, p.events.length, p.driver.volumes().length]).toEqual([
      'uid-data',
      events,
      1,
    ]);
  });

  it.each([
    { code: 'Internal', ago: '1h', agoMs: 3_600_000, calls: 3, seconds: 4 },
    { code: 'DeadlineExceeded', ago: '1h', agoMs: 3_600_000, calls: 3, seconds: 4 },
    { code: 'Internal', ago: '50s', agoMs: 50_000, calls: 4, seconds: 10 },
  ] as const)(
    '[provisioner#P7] given a restart and a claim that was deleted $ago before, when the driver answers $code, then it takes $calls calls to give it up',
    async ({ code, agoMs, calls, seconds }) => {
      const p = await aProvisioner({ seed: [aClass()] });
      p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code } });
      p.server.seed(aDeleted(p.clock, agoMs));
      await p.settle();
      expect([await secondsUntilGone(p), p.calls().length]).toEqual([seconds, calls]);
    },
  );

  it('[provisioner#P7] given a clock that is an hour behind the API server, when the claim is deleted, then it is still given up after one minute', async () => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aDeleted(p.clock, -3_600_000));
    await p.settle();
    expect(await secondsUntilGone(p)).toBe(60);
  });

  it('[provisioner#P7] given the class is gone after a restart, when the claim was deleted long ago, then it is given up without a call', async () => {
    const p = await aProvisioner({ seed: [] });
    p.server.seed(aDeleted(p.clock, 3_600_000));
    await p.settle();
    expect(await secondsUntilGone(p)).toBeLessThanOrEqual(5);
    expect([p.calls(), givenUpCount(p)]).toEqual([[], 1]);
  });

  it('[provisioner#P7] given the secret is gone after a restart, when the claim was deleted long ago, then it is given up without a call', async () => {
    const parameters = {
      'csi.storage.k8s.io/provisioner-secret-name': 's',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
    };
    const p = await aProvisioner({ seed: [aClass({ parameters })] });
    p.server.seed(aDeleted(p.clock, 3_600_000));
    await p.settle();
    expect(await secondsUntilGone(p)).toBeLessThanOrEqual(5);
    expect([p.calls(), givenUpCount(p)]).toEqual([[], 1]);
  });

  it('[provisioner#P7] given the finalizer cannot be removed at first, when retried, then it is removed and reported once', async () => {
    const p = await unsettled('Internal');
    p.deleteClaim();
    await p.settle();
    p.faults.push({
      when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
      fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      times: 2,
    });
    expect(await secondsUntilGone(p)).toBeLessThan(200);
    expect(p.events.filter((event) => event === givenUp)).toHaveLength(1);
    expect(givenUpCount(p)).toBe(1);
  });

  it('[provisioner#P7] given an answer that settles after two that do not, when the claim is deleted, then nothing is given up', async () => {
    const p = await unsettled('Internal');
    p.deleteClaim();
    await p.clock.advance(1500);
    p.driver.faults.clear();
    await p.clock.advance(3000);
    expect([p.claim(), p.volume()?.spec?.claimRef?.uid, givenUpCount(p)]).toEqual([undefined, 'uid-data', undefined]);
  });

  it('[provisioner#P7] given PersistentVolumes that cannot be saved, when the claim is deleted, then it is given up after five minutes, and the volume is saved later', async () => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.faults.push({
      when: ({ verb, resource }) => verb === 'create' && resource === 'persistentvolumes',
      fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      times: 1000,
    });
    p.server.seed(aClaim());
    await p.settle();
    p.deleteClaim();
    await p.settle();
    expect(await secondsUntilGone(p)).toBe(300);
    expect([p.events.at(-1), givenUpCount(p)]).toEqual([givenUp, 1]);
    p.faults.splice(0);
    await p.clock.advance(1_000_000);
    expect([p.driver.volumes().length, p.volume()?.spec?.claimRef?.uid]).toEqual([1, 'uid-data']);
  });

  it('[provisioner#P9] given --provisioning-protection=always, when the claim is deleted, then it is kept, and its events say how to give it up', async () => {
    const p = await unsettled('Internal', { settings: { provisioningProtection: 'always' } });
    p.deleteClaim();
    await p.clock.advance(24 * 3_600_000);
    expect(p.claim()?.metadata?.finalizers).toEqual([finalizer]);
    expect(p.events.at(-1)).toContain(
      `finalizer ${finalizer} keeps the claim until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`,
    );
    expect(givenUpCount(p)).toBeUndefined();
  });
});

describe('a claim that is gone while its outcome is open', () => {
  const day = 24 * 3_600_000;
  const unsettledClaims = (p: Fixture): number =>
    p.metrics.value('csi_sidecars_provisioning_unsettled_deleted_claims', {}) ?? 0;
  const hourly = 'Volumes may exist for claims that are deleted or gone, the work on them continues';

  /** As a user who removes the finalizer by force. */
  function removeByForce(p: Fixture): void {
    p.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, finalizers: [] } }));
    p.deleteClaim();
  }

  it('[provisioner#P6] given DeadlineExceeded for ever, when the claim is gone, then the call is repeated for a day, with a gauge and a line an hour, and then the claim is counted and forgotten', async () => {
    const p = await unsettled('DeadlineExceeded');
    expect(unsettledClaims(p)).toBe(0);
    removeByForce(p);
    await p.clock.advance(day - 60_000);
    const lines = p.logger.lines.filter(({ message }) => message === hourly);
    expect(lines.map(({ facts }) => facts)).toEqual(
      Array.from({ length: 23 }, () => ({ count: 1, PVCs: 'team/data' })),
    );
    expect([p.claim(), unsettledClaims(p), givenUpCount(p)]).toEqual([undefined, 1, undefined]);
    await p.clock.advance(600_000);
    const calls = p.calls().length;
    expect([unsettledClaims(p), givenUpCount(p)]).toEqual([0, 1]);
    await p.clock.advance(2 * day);
    expect([p.calls().length, p.events.filter((event) => event === givenUp)]).toEqual([calls, []]);
  });

  it('[provisioner#P6] given a claim that was given up, when the driver still gives no answer after a day, then the calls end, and the claim is not counted twice', async () => {
    const p = await unsettled('DeadlineExceeded');
    p.deleteClaim();
    expect(await secondsUntilGone(p)).toBe(300);
    await p.clock.advance(day);
    const calls = p.calls().length;
    await p.clock.advance(2 * day);
    expect([p.calls().length, givenUpCount(p), unsettledClaims(p)]).toEqual([calls, 1, 0]);
  });

  it('[provisioner#P6] given a released request whose source is gone, when the claim is gone, then it is counted and forgotten in minutes, and the snapshot can go', async () => {
    const p = await aProvisioner({ controller: copying, settings: { provisioningProtection: 'always' } });
    await prepareSources(p);
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim({ spec: fromSnapshot, finalizers: [finalizer] }));
    await p.settle();
    p.deleteClaim();
    await p.clock.advance(300_000);
    expect(finalizersOf(snapshotOf(p))).toEqual([snapshotSourceProtection]);
    p.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
    p.server.objects.remove(volumeSnapshotContents, { name: 'content-daily' });
    removeByForce(p);
    await p.clock.advance(300_000);
    expect([p.claim(), snapshotOf(p)]).toEqual([undefined, undefined]);
    expect([
      unsettledClaims(p),
      p.metrics.value('csi_sidecars_provisioning_given_up_total', { class: 'fast', source: 'VolumeSnapshot' }),
    ]).toEqual([0, 1]);
  });

  it('[provisioner#P6] given the provisioner stops, then the gauge is 0, because its memory is gone', async () => {
    const p = await unsettled('DeadlineExceeded');
    removeByForce(p);
    await p.settle();
    expect(unsettledClaims(p)).toBe(1);
    const stopping = p.stop();
    await p.clock.advance(60_000);
    await stopping;
    expect(unsettledClaims(p)).toBe(0);
  });

  it('[provisioner#P6] given a driver that answers within the day, then the volume is recorded', async () => {
    const p = await unsettled('DeadlineExceeded');
    removeByForce(p);
    await p.clock.advance(day - 3_600_000);
    p.driver.faults.clear();
    await p.clock.advance(600_000);
    expect([p.volume()?.spec?.claimRef?.uid, unsettledClaims(p), givenUpCount(p)]).toEqual(['uid-data', 0, undefined]);
  });
});

describe('--provisioning-protection=off', () => {
  const off: FixtureOptions = { settings: { provisioningProtection: 'off' } };

  it('[provisioner#P10] given an ambiguous answer, when retried, then no claim is written and the volume is recorded', async () => {
    const p = await aProvisioner({ seed: [aClass()], ...off });
    p.driver.faults.add({ method: 'CreateVolume', times: 2, action: { kind: 'fail', code: 'DeadlineExceeded' } });
    p.server.seed(aClaim());
    await p.clock.advance(5000);
    expect(p.writes()).toEqual(['create persistentvolumes pvc-uid-data 201']);
  });

  it('[provisioner#P10] given a finalizer of an earlier process, when its claim is live or deleted, then it is settled and the finalizer removed', async () => {
    for (const claim of [aClaim({ protection: 'on' }), aClaim({ protection: 'on', deleting: 'yes' })]) {
      const p = await aProvisioner({ seed: [aClass(), claim], ...off });
      expect([p.volume()?.spec?.claimRef?.uid, p.claim()?.metadata?.finalizers ?? []]).toEqual(['uid-data', []]);
    }
  });

  it('[provisioner#P10] given a finalizer of an earlier process and no conclusive answer, when the claim is deleted, then it is given up as well', async () => {
    const p = await aProvisioner({ seed: [aClass()], ...off });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim({ protection: 'on' }));
    await p.settle();
    p.deleteClaim();
    expect([await secondsUntilGone(p), givenUpCount(p)]).toEqual([60, 1]);
  });
});

describe('--provisioning-protection=always', () => {
  const always: FixtureOptions = { settings: { provisioningProtection: 'always' } };
  const put = 'update persistentvolumeclaims team/data 200';

  it('[provisioner#P8] given a claim, when provisioned, then the finalizer is written before the call and removed after the record', async () => {
    const p = await aProvisioner({ seed: [aClass(), aClaim()], ...always });
    expect([p.writes(), p.calls()]).toEqual([
      [put, 'create persistentvolumes pvc-uid-data 201', put],
      ['CreateVolume pvc-uid-data OK'],
    ]);
  });

  it('[provisioner#P8] given a first answer that is final, when it comes, then it settles, since no call was made before', async () => {
    const p = await aProvisioner({ seed: [aClass()], ...always });
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim());
    await p.settle();
    expect([p.writes(), p.claim()?.metadata?.finalizers ?? []]).toEqual([[put, put], []]);
  });

  it('[provisioner#P8] given claims may not be updated, when provisioned, then there is an event and no call', async () => {
    const p = await aProvisioner({ seed: [aClass()], ...always });
    p.faults.push({
      when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
      fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
    });
    p.server.seed(aClaim());
    await p.settle();
    expect([p.calls(), p.events.at(-1)]).toEqual([
      [],
      `Warning ProvisioningFailed team/data: cannot put finalizer ${finalizer} on the claim, which --provisioning-protection=always asks for before a volume is created`,
    ]);
    await p.clock.advance(1200);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('[provisioner#P8] given a class that refused the claim, when five minutes have passed, then the next call is protected again', async () => {
    const p = await aProvisioner({ seed: [aClass()], ...always });
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'InvalidArgument' } });
    p.server.seed(aClaim());
    await p.clock.advance(310_000);
    expect(p.writes()).toEqual([put, put, put, 'create persistentvolumes pvc-uid-data 201', put]);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data InvalidArgument', 'CreateVolume pvc-uid-data OK']);
  });
});
