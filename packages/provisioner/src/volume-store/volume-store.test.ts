// SPDX-License-Identifier: Apache-2.0
/** From a created volume to its record: bad answers of the driver, and an API server that refuses the record. */
import { persistentVolumes } from '@csi-sidecars/runtime';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aSecret, aVolume, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { provisioningFinalizer } from '../names.ts';

const put = 'update persistentvolumeclaims team/data 200';
const saved = 'create persistentvolumes pvc-uid-data 201';
const exists = 'create persistentvolumes pvc-uid-data 409';
const success = 'Normal ProvisioningSucceeded team/data: Successfully provisioned volume pvc-uid-data';
const losing = expect.stringMatching(
  /^PersistentVolume pvc-uid-data of this claim is being deleted, .* finalizers \(a\/b\) keep it/,
) as unknown;
const labels = { class: 'fast', source: '' };

async function claimed(prepare: (p: Fixture) => void, options: FixtureOptions = {}): Promise<Fixture> {
  const p = await aProvisioner({ seed: [aClass()], ...options });
  prepare(p);
  p.server.seed(aClaim());
  await p.settle();
  return p;
}
/** The API server refuses this number of PersistentVolumes. */
function refuseVolumes(p: Fixture, times: number, [code, reason] = [500, 'InternalError'] as [number, string]): void {
  p.faults.push({
    when: ({ verb, resource }) => verb === 'create' && resource === 'persistentvolumes',
    fault: { kind: 'status', point: 'before', code, reason },
    times,
  });
}
/** The create is executed, and its answer is lost. */
function loseAnswer(p: Fixture): void {
  p.faults.push({
    when: ({ verb, resource }) => verb === 'create' && resource === 'persistentvolumes',
    fault: { kind: 'break', point: 'after', failure: 'reset' },
    times: 1,
  });
}
const ref = { name: 'pvc-uid-data' };
/** A user deletes the PersistentVolume, and the finalizer of another program keeps it. */
function terminate(p: Fixture, phase = 'Available'): void {
  p.server.objects.change(persistentVolumes, ref, (volume) => ({
    ...volume,
    metadata: { ...volume.metadata, finalizers: ['a/b'], deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase },
  }));
}
/** From now on nothing that happens to claims is seen. */
async function claimsComeLate(p: Fixture): Promise<void> {
  p.faults.push({
    when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumeclaims',
    fault: { kind: 'lag', ms: 600_000 },
    times: 9,
  });
  p.server.endWatches('broken');
  await p.clock.advance(30_000);
}
function answer(p: Fixture, change: { readonly set?: object; readonly unset?: readonly string[] }, times = 1): void {
  p.driver.faults.add({ method: 'CreateVolume', times, action: { kind: 'answer', ...change } });
}
const isProtected = (p: Fixture): boolean =>
  p.claim()?.metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true;
const warnings = (p: Fixture): readonly string[] =>
  p.events.filter((event) => event.startsWith('Warning')).map((event) => event.split(': ').slice(1).join(': '));

describe('a volume that is too small', () => {
  const small = { set: { volume: { capacity_bytes: '80' } } };
  const text = 'created volume capacity 80 less than requested capacity 5368709120';
  const secretive = aClass({
    parameters: {
      'csi.storage.k8s.io/provisioner-secret-name': 's',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
    },
  });
  const secret = aSecret();

  it('[provisioner#63,65] given fewer bytes than requested, when answered, then it is deleted with the secret, and the claim is settled', async () => {
    const p = await claimed((fixture) => answer(fixture, small), { seed: [secretive, secret] });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK', expect.stringMatching(/^DeleteVolume .* OK$/)]);
    expect(p.requests('DeleteVolume')).toMatchObject([{ secrets: { key: 'value' } }]);
    expect([warnings(p), p.writes(), p.driver.volumes()]).toEqual([[text], [], []]);
    p.deleteClaim();
    await p.clock.advance(600_000);
    expect(p.calls()).toHaveLength(2);
  });

  it('[provisioner#64] given the deletion fails five times, when answered, then the claim is protected, the event says orphaned, and the next attempt calls CreateVolume again', async () => {
    const p = await claimed((fixture) => {
      answer(fixture, small);
      fixture.driver.faults.add({ method: 'DeleteVolume', times: 5, action: { kind: 'fail', code: 'Internal' } });
    });
    expect(p.calls().filter((call) => call.startsWith('DeleteVolume'))).toHaveLength(5);
    expect(warnings(p)).toEqual([
      `${text}. Cleanup of volume pvc-uid-data failed, volume is orphaned: rpc error: code = Internal desc = fault rule: Internal`,
    ]);
    expect(isProtected(p)).toBe(true);
    await p.clock.advance(1200);
    expect(p.writes()).toEqual([put, saved, put]);
    expect(p.driver.volumes()).toHaveLength(1);
  });

  it('given the deletion hangs, when one timeout has passed, then the attempts end', async () => {
    const p = await claimed((fixture) => {
      answer(fixture, small);
      fixture.driver.faults.add({ method: 'DeleteVolume', action: { kind: 'hang' } });
    });
    await p.clock.advance(10_000);
    expect(p.calls().filter((call) => call.startsWith('DeleteVolume'))).toHaveLength(1);
    expect(isProtected(p)).toBe(true);
  });
});

describe('an unusable answer about a volume that is recorded already', () => {
  const small = { set: { volume: { capacity_bytes: '80' } } };
  const ours = (volumeHandle: string) =>
    aVolume({ phase: 'Bound', spec: { csi: { driver: driverName, volumeHandle } } });

  /** The record is in the API server, and the cache does not have it yet. */
  async function behind(prepare: (p: Fixture) => void): Promise<Fixture> {
    const p = await aProvisioner({ seed: [aClass()] });
    p.faults.push({
      when: ({ verb, resource }) => (verb === 'watch' || verb === 'list') && resource === 'persistentvolumes',
      fault: { kind: 'break', point: 'before', failure: 'refused' },
      times: Infinity,
    });
    p.server.endWatches('broken');
    await p.clock.advance(10_000);
    p.server.seed(ours('volume-1'));
    answer(p, small);
    prepare(p);
    p.server.seed(aClaim());
    await p.settle();
    return p;
  }

  it('[provisioner#224] given another replica has recorded the volume, and the cache does not have that yet, then the volume is not deleted', async () => {
    const p = await behind(() => undefined);
    expect([p.calls(), p.driver.volumes().map(({ id }) => id), warnings(p)]).toEqual([
      ['CreateVolume pvc-uid-data OK'],
      ['volume-1'],
      [expect.stringContaining('volume volume-1 is not deleted, because PersistentVolume pvc-uid-data has it')],
    ]);
  });

  it('[provisioner#224] given the record cannot be read, then the volume is not deleted, and is read for again before another CreateVolume', async () => {
    const failing = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' } as const;
    const p = await behind(({ faults }) => faults.push(faultOn('get persistentvolumes', failing, 99)));
    await p.clock.advance(20_000);
    expect([p.calls(), isProtected(p)]).toEqual([['CreateVolume pvc-uid-data OK'], true]);
    p.faults.splice(0);
    p.server.objects.remove(persistentVolumes, ref);
    await p.clock.advance(60_000);
    expect(p.calls().map((call) => call.split(' ')[0])).toEqual(['CreateVolume', 'DeleteVolume', 'CreateVolume']);
    expect([p.driver.volumes().length, p.volume()?.spec?.csi?.volumeHandle]).toEqual([1, p.driver.volumes()[0]?.id]);
  });
});

describe('a deletion that may still be going on', () => {
  it('given the deletion of a volume that is too small times out, when retried, then it is deleted before CreateVolume is called again', async () => {
    const p = await claimed((fixture) => {
      answer(fixture, { set: { volume: { capacity_bytes: '80' } } });
      fixture.driver.faults.add({
        method: 'DeleteVolume',
        at: 'during',
        times: 1,
        action: { kind: 'delay', ms: 45_000 },
      });
    });
    await p.clock.advance(300_000);
    const order = p.calls().map((call) => call.split(' ')[0]);
    expect(order.lastIndexOf('DeleteVolume')).toBeLessThan(order.lastIndexOf('CreateVolume'));
    expect(order.filter((method) => method === 'CreateVolume')).toHaveLength(2);
    expect([p.driver.volumes().map(({ id }) => id), isProtected(p)]).toEqual([
      [p.volume()?.spec?.csi?.volumeHandle],
      false,
    ]);
  });
});

describe('a response that cannot be used', () => {
  it.each([
    ['no volume', { unset: ['volume'] }, 'CreateVolume response has no volume'],
    ['an empty volume_id', { set: { volume: { volume_id: '' } } }, 'CreateVolume response has an empty volume_id'],
  ])(
    'given %s, when answered, then the claim is protected, an event reports it, and the driver is called again',
    async (_what, change, text) => {
      const p = await claimed((fixture) => answer(fixture, change));
      expect([warnings(p), isProtected(p)]).toEqual([[text], true]);
      await p.clock.advance(1200);
      expect([p.writes(), p.driver.volumes().length]).toEqual([[put, saved, put], 1]);
    },
  );
});

describe('a record that is not taken at once', () => {
  it('[provisioner#173,174] given the create fails twice, when retried in the background, then it is saved, and the volume was created once', async () => {
    const p = await claimed((fixture) => refuseVolumes(fixture, 2));
    expect([p.writes(), isProtected(p), p.events.includes(success)]).toEqual([[put], true, false]);
    expect(p.metrics.value('controller_persistentvolumeclaim_provision_total', labels)).toBe(1);
    await p.clock.advance(100);
    expect(p.writes()).toEqual([put, saved, put]);
    expect([p.calls(), p.events.includes(success), isProtected(p)]).toEqual([
      ['CreateVolume pvc-uid-data OK'],
      true,
      false,
    ]);
    await p.stop();
    expect(p.clock.pending).toBe(0);
  });

  it('given an ambiguous answer before it, when the save after a repeated call fails, then it is still saved in the background', async () => {
    const p = await claimed((fixture) => {
      fixture.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'Aborted' } });
      refuseVolumes(fixture, 1);
    });
    await p.clock.advance(1300);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data Aborted', 'CreateVolume pvc-uid-data OK']);
    expect([p.writes(), isProtected(p)]).toEqual([[put, saved, put], false]);
  });

  it('given the answer to the create is lost, when retried, then the same record counts as saved', async () => {
    const p = await claimed((fixture) =>
      fixture.faults.push({
        when: ({ verb, resource }) => verb === 'create' && resource === 'persistentvolumes',
        fault: { kind: 'break', point: 'after', failure: 'reset' },
      }),
    );
    await p.clock.advance(100);
    expect([p.writes(), p.events.includes(success)]).toEqual([[saved, put, exists, put], true]);
  });

  it.each(['ambiguous', 'always'] as const)(
    '[provisioner#222] given the answer to the create is lost and the record is deleted, with protection %s, then that is reported and not taken for success, and as soon as the record is gone the claim gets a new one of the same volume',
    async (provisioningProtection) => {
      const p = await claimed(loseAnswer, { settings: { provisioningProtection } });
      terminate(p);
      await p.clock.advance(600_000);
      expect([new Set(warnings(p)), p.events.includes(success), isProtected(p)]).toEqual([
        new Set([losing]),
        false,
        true,
      ]);
      p.server.objects.remove(persistentVolumes, ref);
      await p.settle();
      expect([p.volume()?.spec?.csi?.volumeHandle, p.driver.volumes().length, isProtected(p)]).toEqual([
        p.driver.volumes()[0]?.id,
        1,
        false,
      ]);
      expect(p.events.includes(success)).toBe(true);
    },
  );

  it.each(['Available', 'Bound'])(
    '[provisioner#222] given a record that was saved and is deleted, %s, before its claim names it, then that is reported at once, the claim gets the finalizer, and as soon as the record is gone a new record of the same volume',
    async (phase) => {
      const p = await claimed(() => undefined);
      terminate(p, phase);
      await p.settle();
      expect([p.writes(), warnings(p)]).toEqual([[saved, put], [losing]]);
      await p.clock.advance(16 * 60_000);
      expect([p.writes(), new Set(warnings(p)), p.calls()]).toEqual([
        [saved, put],
        new Set([losing]),
        ['CreateVolume pvc-uid-data OK'],
      ]);
      p.server.objects.remove(persistentVolumes, ref);
      await p.settle();
      expect([p.driver.volumes().map(({ id }) => id), isProtected(p)]).toEqual([
        [p.volume()?.spec?.csi?.volumeHandle],
        false,
      ]);
      expect(new Set(p.calls())).toEqual(new Set(['CreateVolume pvc-uid-data OK']));
    },
  );

  it('[provisioner#222] given a bound record is deleted while the watch has not brought yet that the claim names it, then nothing is reported or written', async () => {
    const p = await claimed(() => undefined);
    await claimsComeLate(p);
    p.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeName: 'pvc-uid-data' } }));
    terminate(p, 'Bound');
    await p.clock.advance(120_000);
    expect([p.writes(), warnings(p), p.calls()]).toEqual([[saved], [], ['CreateVolume pvc-uid-data OK']]);
    await p.stop();
  });

  it('[provisioner#222] given a bound record is deleted and the claim cannot be read, then nothing is reported before it can', async () => {
    const p = await claimed(() => undefined);
    p.faults.push({
      when: ({ verb, resource }) => verb === 'get' && resource === 'persistentvolumeclaims',
      fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      times: 1,
    });
    terminate(p, 'Bound');
    await p.settle();
    expect([p.writes(), warnings(p)]).toEqual([[saved], []]);
    await p.clock.advance(2_000);
    expect([p.writes(), warnings(p)]).toEqual([[saved, put], [losing]]);
  });

  it.each([
    {
      given: 'is Released and deleted',
      end: (p: Fixture): void => {
        p.server.objects.change(persistentVolumes, ref, (volume) => ({ ...volume, status: { phase: 'Released' } }));
      },
      calls: ['CreateVolume pvc-uid-data OK', 'DeleteVolume volume-1 OK'],
    },
    {
      given: 'is removed',
      end: (p: Fixture): void => p.server.objects.remove(persistentVolumes, ref),
      calls: ['CreateVolume pvc-uid-data OK'],
    },
  ])(
    '[provisioner#228] given a record that $given after its claim, while the watch of claims is late, then the volume is not made again',
    async ({ end, calls }) => {
      const p = await claimed(() => undefined);
      await claimsComeLate(p);
      p.deleteClaim();
      end(p);
      await p.clock.advance(30_000);
      expect([p.volume(), p.calls()]).toEqual([undefined, calls]);
      await p.stop();
    },
  );

  it.each(['lives', 'dies'] as const)(
    '[provisioner#222] given such a record, when it goes while the process %s, and then the claim, then the volume has a record that its deletion needs',
    async (process) => {
      const p = await claimed(loseAnswer);
      terminate(p);
      await p.clock.advance(20_000);
      const cluster = process === 'dies' ? p.crash() : undefined;
      p.server.objects.remove(persistentVolumes, ref);
      p.deleteClaim();
      const last = cluster === undefined ? p : await aProvisioner({ cluster, seed: [] });
      await last.clock.advance(5_000);
      expect([last.claim(), last.driver.volumes().map(({ id }) => id)]).toEqual([
        undefined,
        [last.volume()?.spec?.csi?.volumeHandle],
      ]);
    },
  );

  it('[provisioner#222] given such a record that a user has the claim bound to, then the finalizer is removed, and no call is made for it', async () => {
    const p = await claimed(loseAnswer);
    terminate(p);
    await p.clock.advance(20_000);
    p.driver.forgetCalls();
    p.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeName: 'pvc-uid-data' } }));
    await p.settle();
    expect([isProtected(p), p.calls(), p.driver.volumes().length]).toEqual([false, [], 1]);
  });

  it.each(['ambiguous', 'always'] as const)(
    '[provisioner#222] given such a record that stays, with protection %s, when the claim is deleted, then the claim goes at once',
    async (provisioningProtection) => {
      const p = await claimed(loseAnswer, { settings: { provisioningProtection } });
      terminate(p);
      await p.clock.advance(10_000);
      p.deleteClaim();
      await p.settle();
      expect([p.claim(), p.volume()?.metadata?.finalizers]).toEqual([undefined, ['a/b']]);
    },
  );

  it('[provisioner#175] given the same record exists, when created, then it counts as saved', async () => {
    const p = await claimed(() => undefined);
    const record = p.volume();
    expect(record).toBeDefined();
    const again = await aProvisioner({ seed: [aClass()] });
    again.driver.faults.add({ method: 'CreateVolume', action: { kind: 'delay', ms: 1000 } });
    again.server.seed(aClaim());
    await again.settle();
    const volumeHandle = p.driver.volumes()[0]?.id ?? '';
    again.server.seed({
      ...record,
      metadata: { name: 'pvc-uid-data' },
      spec: { ...record?.spec, csi: { driver: driverName, volumeHandle } },
    } as never);
    await again.clock.advance(1000);
    expect([again.writes(), again.events.includes(success)]).toEqual([[exists], true]);
  });

  it('[provisioner#176] given the claim vanishes before the record is saved, when saved, then no event', async () => {
    const p = await claimed((fixture) => {
      fixture.driver.faults.add({ method: 'CreateVolume', at: 'during', action: { kind: 'delay', ms: 1000 } });
    });
    p.deleteClaim();
    await p.clock.advance(1000);
    expect([p.writes(), p.events.includes(success)]).toEqual([[saved], false]);
  });

  it('given an unsettled claim, when its record is refused at first, then it is still saved in the background', async () => {
    const p = await claimed((fixture) => {
      fixture.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'Aborted' } });
      refuseVolumes(fixture, 1);
    });
    await p.clock.advance(1200);
    expect([p.writes(), p.calls().length]).toEqual([[put, saved, put], 2]);
  });

  it('given an orderly stop before the record was saved, when the workers have ended, then one more attempt is made', async () => {
    const p = await claimed((fixture) => refuseVolumes(fixture, 9));
    await p.clock.advance(1000);
    p.faults.splice(0);
    await p.stop();
    expect([p.writes(), p.driver.volumes().length]).toEqual([[put, saved], 1]);
  });

  it('given a crash before the record was saved, when the next process runs, then the volume is found by its name', async () => {
    const p = await claimed((fixture) => refuseVolumes(fixture, 99));
    await p.clock.advance(60_000);
    const cluster = p.crash();
    cluster.faults.splice(0);
    const next = await aProvisioner({ cluster, seed: [] });
    expect([next.driver.volumes().length, next.volume()?.spec?.csi?.volumeHandle]).toEqual([
      1,
      next.driver.volumes()[0]?.id,
    ]);
    expect(isProtected(next)).toBe(false);
  });
});

describe('what a background save leaves behind', () => {
  it('[provisioner#176] given the claim is gone before the second try, when saved in the background, then no event', async () => {
    const p = await claimed((fixture) => refuseVolumes(fixture, 2));
    p.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, finalizers: [] } }));
    p.deleteClaim();
    await p.clock.advance(100);
    expect([p.writes(), p.events.includes(success), p.driver.volumes().length]).toEqual([[put, saved], false, 1]);
  });

  it('given the volume turns out to be recorded for another claim, when saved in the background, then there is one event, the finalizer is removed, and no call is made for it', async () => {
    const p = await claimed((fixture) => refuseVolumes(fixture, 2));
    const csi = { driver: driverName, volumeHandle: p.driver.volumes()[0]?.id ?? '' };
    const claimRef = { namespace: 'team', name: 'first', uid: 'uid-first' };
    p.server.seed(aVolume({ phase: 'Bound', spec: { csi, claimRef } }));
    await p.clock.advance(100);
    expect(warnings(p).slice(0, 1)).toEqual([
      'PersistentVolume pvc-uid-data already exists and belongs to claim team/first',
    ]);
    expect([p.writes(), isProtected(p), p.calls().length]).toEqual([[put, exists, put], false, 1]);
  });

  it('given the API server refuses it in the background, when the claim loop takes over, then the driver is called after the backoff, not at once', async () => {
    const p = await claimed((fixture) => {
      refuseVolumes(fixture, 1);
      refuseVolumes(fixture, 1, [403, 'Forbidden']);
    });
    await p.clock.advance(500);
    expect([warnings(p).length, p.calls().length]).toEqual([1, 1]);
    await p.clock.advance(1000);
    expect([p.calls().length, p.writes()]).toEqual([2, [put, saved, put]]);
  });
});

describe('a record that is refused', () => {
  it('given the API server finds it invalid, when saved, then an event reports it, the claim is protected, and the driver is called again', async () => {
    const p = await claimed((fixture) => refuseVolumes(fixture, 1, [422, 'Invalid']));
    expect([warnings(p), isProtected(p)]).toEqual([['error saving volume pvc-uid-data: injected fault'], true]);
    await p.clock.advance(1200);
    expect([p.writes(), p.driver.volumes().length]).toEqual([[put, saved, put], 1]);
  });

  it('given it is refused in the background, when saved again, then the claim loop takes over with an event', async () => {
    const p = await claimed((fixture) => {
      refuseVolumes(fixture, 1);
      refuseVolumes(fixture, 1, [403, 'Forbidden']);
    });
    await p.clock.advance(100);
    expect(warnings(p)).toEqual(['error saving volume pvc-uid-data: injected fault']);
    await p.clock.advance(2300);
    expect([p.writes(), p.calls().length]).toEqual([[put, saved, put], 2]);
  });

  it('given a record of another driver under our name, when saved, then ours is kept, reported and protected', async () => {
    const csi = { driver: 'other', volumeHandle: 'theirs' };
    const p = await claimed(() => undefined, {
      seed: [aClass(), aVolume({ annotations: {}, spec: { csi, claimRef: { uid: 'x' } } })],
    });
    expect(warnings(p)).toEqual([
      `PersistentVolume pvc-uid-data already exists with another volume; volume ${p.driver.volumes()[0]?.id ?? ''} is kept`,
    ]);
    expect(isProtected(p)).toBe(true);
    p.server.objects.remove(persistentVolumes, ref);
    await p.clock.advance(1200);
    expect([p.driver.volumes().length, isProtected(p)]).toEqual([1, false]);
  });

  it('given two claims whose names collide, when both are provisioned, then one gets the volume and the other an event', async () => {
    const p = await aProvisioner({ settings: { volumeNameUuidLength: 3 }, seed: [aClass()] });
    p.server.seed(aClaim({ name: 'first' }));
    p.server.seed(aClaim({ name: 'second' }));
    await p.settle();
    expect(p.server.objects.list(persistentVolumes).map(({ spec }) => spec?.claimRef?.name)).toEqual(['first']);
    // The driver was still busy with the first; the next call of the second settles its outcome.
    await p.clock.advance(1200);
    const taken = 'PersistentVolume pvc-uid already exists and belongs to claim team/first';
    expect([warnings(p).at(-1), p.driver.volumes().length]).toEqual([taken, 1]);
    expect(p.claim('second')!.metadata?.finalizers ?? []).toEqual([]);
    p.driver.forgetCalls();
    await p.clock.advance(60_000);
    expect(p.calls()).toEqual([]);
  });
});
