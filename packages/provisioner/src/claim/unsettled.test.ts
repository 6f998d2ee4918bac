// SPDX-License-Identifier: Apache-2.0
/** Claims for which an unrecorded volume may exist: no volume is lost, whatever happens to claim or process. */
import { type PersistentVolumeClaim, persistentVolumes, storageClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNode, aVolume, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { annotations, provisioningFinalizer } from '../names.ts';

type Fault =
  | 'DeadlineExceeded'
  | 'Internal'
  | 'OutOfRange'
  | 'InvalidArgument'
  | 'Aborted'
  | 'AlreadyExists'
  | 'ResourceExhausted';

const protectionOn = 'update persistentvolumeclaims team/data 200';
const protectionOff = protectionOn;
const saved = 'create persistentvolumes pvc-uid-data 201';

/** The driver works on the call after the caller's deadline, as a slow driver does. */
function slow(p: Fixture, ms = 12_000): void {
  p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms } });
}
function fail(p: Fixture, ...codes: readonly Fault[]): void {
  for (const [skip, code] of codes.entries()) {
    p.driver.faults.add({ method: 'CreateVolume', skip, times: 1, action: { kind: 'fail', code } });
  }
}
async function provisioner(options: FixtureOptions = {}): Promise<Fixture> {
  return await aProvisioner({ seed: [aClass()], ...options });
}
async function claimed(prepare: (p: Fixture) => void, options: FixtureOptions = {}): Promise<Fixture> {
  const p = await provisioner(options);
  prepare(p);
  p.server.seed(aClaim());
  await p.settle();
  return p;
}
const hasProtection = (p: Fixture): boolean =>
  p.claim()?.metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true;
const warnings = (p: Fixture): readonly string[] => p.events.filter((event) => event.startsWith('Warning'));
/** The required final state of every sequence: one volume and one record of it, or neither. */
function leaks(p: Fixture): unknown {
  const recorded = p.server.objects.list(persistentVolumes).map(({ spec }) => spec?.csi?.volumeHandle);
  return p.driver.volumes().filter(({ id }) => !recorded.includes(id));
}

describe('when the claim becomes unsettled', () => {
  it('[provisioner#29,31] given a final error or a failure before the call, when first tried, then nothing is protected', async () => {
    const final = await claimed((p) => fail(p, 'Internal'));
    expect([final.writes(), final.calls()]).toEqual([[], ['CreateVolume pvc-uid-data Internal']]);
    const early = await claimed(() => undefined, {
      seed: [aClass({ parameters: { 'csi.storage.k8s.io/bim': '' } })],
    });
    expect([early.writes(), early.calls()]).toEqual([[], []]);
  });

  it('[provisioner#30] given an ambiguous answer, when it comes, then the claim is protected once and retried', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded', 'Aborted'));
    expect(p.writes()).toEqual([protectionOn]);
    expect(warnings(p)).toEqual([
      'Warning ProvisioningFailed team/data: rpc error: code = DeadlineExceeded desc = fault rule: DeadlineExceeded',
    ]);
    await p.clock.advance(1200);
    expect([p.writes(), p.calls().length]).toEqual([[protectionOn], 2]);
    await p.clock.advance(2300);
    expect(p.writes()).toEqual([protectionOn, saved, protectionOff]);
    expect([hasProtection(p), leaks(p)]).toEqual([false, []]);
  });

  it('given a driver slower than the timeout, when it finishes, then there is one volume and it is recorded', async () => {
    const p = await claimed(slow);
    await p.clock.advance(30_000);
    expect([p.driver.volumes().length, leaks(p), hasProtection(p)]).toEqual([1, [], false]);
  });

  it('[provisioner#32] given an unsettled claim, when the answer is final, then the finalizer is removed and the claim is retried', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded', 'OutOfRange'));
    await p.clock.advance(1200);
    expect([p.writes(), hasProtection(p)]).toEqual([[protectionOn, protectionOff], false]);
    p.deleteClaim();
    await p.clock.advance(600_000);
    expect(p.calls()).toHaveLength(2);
  });

  it('[provisioner#33,34] given an unsettled claim, when ambiguous again or failed before the call, then it stays unsettled', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded', 'DeadlineExceeded'));
    await p.clock.advance(1200);
    p.server.objects.remove(storageClasses, { name: 'fast' });
    expect([hasProtection(p), p.calls().length]).toEqual([true, 2]);
    p.deleteClaim();
    await p.clock.advance(3000);
    expect([p.writes(), leaks(p)]).toEqual([[protectionOn, saved, protectionOff], []]);
  });

  it('given an unsettled claim, when the driver merely fails, then it stays unsettled, since the first call may have made a volume', async () => {
    const p = await claimed((fixture) => {
      fixture.driver.faults.add({
        method: 'CreateVolume',
        at: 'after',
        times: 1,
        action: { kind: 'fail', code: 'DeadlineExceeded' },
      });
      fixture.driver.faults.add({
        method: 'CreateVolume',
        skip: 1,
        times: 1,
        action: { kind: 'fail', code: 'Internal' },
      });
    });
    p.deleteClaim();
    await p.settle();
    expect([hasProtection(p), p.driver.volumes().length, p.calls().at(-1)]).toEqual([
      true,
      1,
      'CreateVolume pvc-uid-data Internal',
    ]);
    await p.clock.advance(2300);
    expect([p.writes(), leaks(p), p.claim()]).toEqual([[protectionOn, saved, protectionOff], [], undefined]);
  });

  it('[provisioner#42] given an unsettled claim, when the answer is InvalidArgument, then the finalizer is removed and the retry is slow', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded', 'InvalidArgument'));
    await p.clock.advance(200_000);
    expect([hasProtection(p), p.calls().length]).toEqual([false, 2]);
    await p.clock.advance(120_000);
    expect(p.calls()).toHaveLength(3);
  });
});

describe('when the claim goes away', () => {
  it('[provisioner#35] given an unsettled claim that was deleted, when CreateVolume succeeds, then its volume is recorded and the claim disappears', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded'));
    p.deleteClaim();
    expect(p.claim()?.metadata?.deletionTimestamp).toBeDefined();
    await p.clock.advance(1200);
    expect(p.writes()).toEqual([protectionOn, saved, protectionOff]);
    expect(p.volume()?.spec?.claimRef?.uid).toBe('uid-data');
    expect(p.claim()).toBeUndefined();
  });

  it('[provisioner#35,36] given a claim that vanished during its first call, when the answer is ambiguous, then it is replayed from memory; a settled one is dropped', async () => {
    const p = await claimed(slow);
    p.deleteClaim();
    await p.clock.advance(30_000);
    expect([p.writes(), leaks(p)]).toEqual([['update persistentvolumeclaims team/data 404', saved], []]);
    const dropped = await claimed((fixture) => fail(fixture, 'Internal'));
    dropped.deleteClaim();
    await dropped.clock.advance(600_000);
    expect(dropped.calls()).toHaveLength(1);
  });

  it('[provisioner#37] given a claim that is created again under its name, when the old one is unsettled, then both are handled by UID', async () => {
    const p = await claimed(slow);
    p.deleteClaim();
    p.server.seed(aClaim({ uid: 'uid-new' }));
    await p.clock.advance(30_000);
    expect(p.server.objects.list(persistentVolumes).map(({ spec }) => spec?.claimRef?.uid)).toEqual([
      'uid-data',
      'uid-new',
    ]);
    expect(leaks(p)).toEqual([]);
  });

  it('[provisioner#38] given an unsettled claim that is not to be provisioned any more, when deleted, then nothing leaks', async () => {
    const unwanted = [
      (p: Fixture) => p.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeName: 'other' } })),
      (p: Fixture) =>
        p.changeClaim((claim) => ({
          ...claim,
          metadata: { ...claim.metadata, annotations: { [annotations.storageProvisioner]: 'other' } },
        })),
    ];
    for (const change of unwanted) {
      const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded', 'DeadlineExceeded'));
      change(p);
      p.deleteClaim();
      await p.clock.advance(10_000);
      expect([p.driver.volumes().length, leaks(p), p.claim()]).toEqual([1, [], undefined]);
    }
  });

  it('[provisioner#39] given an unsettled claim that is being deleted, when the node is full, then it is settled without reschedule', async () => {
    const p = await provisioner({ topology: 'on', seed: [aClass(), ...aNode('n1')] });
    fail(p, 'DeadlineExceeded', 'ResourceExhausted');
    p.server.seed(aClaim({ node: 'n1' }));
    await p.settle();
    p.deleteClaim();
    await p.clock.advance(600_000);
    expect([p.writes(), p.claim(), p.calls().length]).toEqual([[protectionOn, protectionOff], undefined, 2]);
    const last = p.server.writes().at(-1)?.body as PersistentVolumeClaim;
    expect(last.metadata?.annotations?.[annotations.selectedNode]).toBe('n1');
    expect(warnings(p)).toEqual([
      expect.stringContaining('DeadlineExceeded'),
      expect.stringContaining('ResourceExhausted'),
    ]);
  });

  it('[provisioner#41] given the class disappears, when the claim is unsettled, then the request is repeated unchanged', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded'));
    p.server.objects.remove(storageClasses, { name: 'fast' });
    await p.clock.advance(1200);
    const [first, second] = p.requests('CreateVolume');
    expect(second).toEqual(first);
    expect([p.writes(), leaks(p)]).toEqual([[protectionOn, saved, protectionOff], []]);
  });
});

describe('when the process goes away', () => {
  it('[provisioner#40] given a restart while the claim is unsettled and deleted, when it runs again, then the outcome is found and recorded', async () => {
    const p = await claimed((fixture) => slow(fixture));
    await p.clock.advance(10_000);
    expect(hasProtection(p)).toBe(true);
    const cluster = p.crash();
    p.deleteClaim();
    const next = await aProvisioner({ cluster, seed: [] });
    await next.clock.advance(5_000);
    expect([next.driver.volumes().length, leaks(next), next.claim()]).toEqual([1, [], undefined]);
  });

  it('given an orderly stop during the call, when the call ends, then it is recorded before the process ends', async () => {
    const p = await claimed((fixture) => slow(fixture, 5_000));
    const stopping = p.stop();
    await p.clock.advance(5_000);
    await stopping;
    expect([p.writes(), leaks(p)]).toEqual([[saved], []]);
  });

  it('given a restart after the volume was recorded and before the finalizer was removed, when it runs again, then only the finalizer is removed', async () => {
    const p = await aProvisioner({ seed: [aClass(), aClaim({ protection: 'on' }), aVolume({ phase: 'Available' })] });
    expect([p.calls(), p.writes(), hasProtection(p)]).toEqual([[], [protectionOff], false]);
  });

  it('given a finalizer left on a bound claim, when it runs again, then only the finalizer is removed', async () => {
    const bound = aClaim({ protection: 'on', spec: { volumeName: 'pvc-uid-data' } });
    const p = await aProvisioner({ seed: [aClass(), bound] });
    expect([p.calls(), p.writes()]).toEqual([[], [protectionOff]]);
  });

  it('given a restart and a class that is gone, when the claim is deleted, then it is kept, and the event says why', async () => {
    const p = await aProvisioner({ seed: [aClaim({ protection: 'on', deleting: 'yes' })] });
    expect(p.events).toEqual([
      `Warning ProvisioningFailed team/data: storageClass "fast" not found; finalizer provisioning-protection.provisioner.storage.kubernetes.io/${driverName} keeps the claim for some minutes until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`,
    ]);
    p.server.seed(aClass());
    await p.clock.advance(1200);
    expect([p.claim(), leaks(p)]).toEqual([undefined, []]);
  });

  it('given a restart and another volume under our name, when the driver answers AlreadyExists, then the claim is kept', async () => {
    const p = await provisioner();
    fail(p, 'AlreadyExists');
    p.server.seed(aClaim({ protection: 'on', deleting: 'yes' }));
    await p.settle();
    expect([hasProtection(p), warnings(p).length]).toEqual([true, 1]);
  });
});

describe('the finalizer itself', () => {
  it('given a conflict, when protected, then the claim is read again and protected', async () => {
    const p = await claimed((fixture) => {
      fail(fixture, 'DeadlineExceeded');
      fixture.faults.push({
        when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
        fault: { kind: 'status', point: 'before', code: 409, reason: 'Conflict' },
      });
    });
    expect([p.writes(), hasProtection(p)]).toEqual([[protectionOn], true]);
  });

  it('given the claim changed during the call, when protected, then its latest version is written, without a conflict', async () => {
    const p = await claimed(slow);
    p.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, labels: { new: 'label' } } }));
    await p.clock.advance(10_000);
    expect([p.writes(), p.claim()?.metadata?.labels]).toEqual([[protectionOn], { new: 'label' }]);
  });

  it('given the API server is down, when protected, then no further call is made before the finalizer is written', async () => {
    const p = await claimed((fixture) => {
      fail(fixture, 'DeadlineExceeded');
      fixture.faults.push({
        when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
        fault: { kind: 'break', point: 'before', failure: 'reset' },
        times: 2,
      });
    });
    await p.clock.advance(1200);
    expect([p.calls().length, hasProtection(p)]).toEqual([1, false]);
    await p.clock.advance(2300);
    expect([p.writes(), leaks(p)]).toEqual([[protectionOn, saved, protectionOff], []]);
  });

  it('given claims may not be updated, when unsettled, then it is logged and provisioning continues', async () => {
    const p = await claimed((fixture) => {
      fail(fixture, 'DeadlineExceeded');
      fixture.faults.push({
        when: ({ verb, resource }) => verb === 'update' && resource === 'persistentvolumeclaims',
        fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
        times: 9,
      });
    });
    await p.clock.advance(1200);
    expect([p.writes(), leaks(p)]).toEqual([[saved], []]);
    expect(p.logger.messages()).toContain('Cannot put the provisioning finalizer on a claim');
  });

  it('given alternating answers, when the finalizer is added and removed, then the backoff still grows', async () => {
    const p = await claimed((fixture) =>
      fail(fixture, 'DeadlineExceeded', 'OutOfRange', 'DeadlineExceeded', 'OutOfRange'),
    );
    await p.clock.advance(900);
    expect(p.calls()).toHaveLength(1);
    await p.clock.advance(300);
    expect(p.calls()).toHaveLength(2);
    await p.clock.advance(1800);
    expect(p.calls()).toHaveLength(2);
    await p.clock.advance(500);
    expect(p.calls()).toHaveLength(3);
  });

  it('given a claim whose finalizer was removed by force, when it is gone, then the calls continue from memory', async () => {
    const p = await claimed((fixture) => fail(fixture, 'DeadlineExceeded', 'DeadlineExceeded'));
    p.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, finalizers: [] } }));
    p.deleteClaim();
    await p.clock.advance(10_000);
    expect([p.driver.volumes().length, leaks(p)]).toEqual([1, []]);
  });
});
