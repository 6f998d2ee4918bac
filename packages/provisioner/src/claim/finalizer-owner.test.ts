// SPDX-License-Identifier: Apache-2.0
/** A csi-provisioner works on claims that its own driver protected, and ignores those of other drivers. */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, type ClaimFacts, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture } from '../../testing/provisioner-fixture.ts';
import { annotations, provisioningFinalizer, refusedDriverName, unnamedProvisioningFinalizer } from '../names.ts';

const finalizersOf = (p: Fixture): readonly string[] => p.claim()?.metadata?.finalizers ?? [];
const failures = 'controller_persistentvolumeclaim_provision_failed_total';
const theirFinalizer = provisioningFinalizer('other.example.com');
const theirs = { [annotations.storageProvisioner]: 'other.example.com' };

async function withClaim(claim: ClaimFacts, seed = [aClass()]): Promise<Fixture> {
  const p = await aProvisioner({ seed: [...seed, aClaim(claim)] });
  await p.clock.advance(20 * 60_000);
  return p;
}
const untouched = { calls: [], writes: [], events: [], failures: undefined };
const trace = (p: Fixture): unknown => ({
  calls: p.calls(),
  writes: p.writes(),
  events: p.events,
  failures: p.metrics.value(failures, { class: 'fast', source: '' }),
});

describe('a claim that another driver protected', () => {
  it.each([
    ['live', { annotations: theirs, finalizers: [theirFinalizer] }],
    ['being deleted', { annotations: theirs, finalizers: [theirFinalizer], deleting: 'yes' }],
    [
      'being deleted, with the unnamed finalizer',
      { annotations: theirs, finalizers: [unnamedProvisioningFinalizer], deleting: 'yes' },
    ],
    [
      'of no provisioner, with the unnamed finalizer',
      { annotations: {}, finalizers: [unnamedProvisioningFinalizer], deleting: 'yes' },
    ],
  ] as [string, ClaimFacts][])(
    '[provisioner#P2] given a claim %s, when our class has the same name, then there is no call, write, event or count',
    async (_what, claim) => {
      expect(trace(await withClaim(claim))).toEqual(untouched);
    },
  );

  it('[provisioner#P2] given a claim that is being deleted, when our class is missing, then nothing is reported', async () => {
    const claim: ClaimFacts = { annotations: theirs, finalizers: [theirFinalizer], deleting: 'yes' };
    expect(trace(await withClaim(claim, []))).toEqual(untouched);
  });

  it('[provisioner#P2] given a claim of ours with a finalizer of another driver, when provisioned, then that finalizer stays', async () => {
    const p = await withClaim({ finalizers: [theirFinalizer, provisioningFinalizer(driverName)] });
    expect([p.calls().length, finalizersOf(p)]).toEqual([1, [theirFinalizer]]);
  });
});

describe('the unnamed finalizer of version 0.1', () => {
  it('[provisioner#P3] given a deleted claim that asks for this driver, when seen, then its outcome is found and the finalizer removed', async () => {
    const p = await withClaim({ finalizers: [unnamedProvisioningFinalizer], deleting: 'yes' });
    expect([p.driver.volumes().length, p.volume()?.spec?.claimRef?.uid, p.claim()]).toEqual([1, 'uid-data', undefined]);
  });
});

describe('the name of the finalizer', () => {
  it('[provisioner#P1] given a driver name with capitals or of 63 characters, when used, then the finalizer is a qualified name', () => {
    const qualifiedName = /^[a-z0-9.-]{1,253}\/([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
    for (const name of ['Test.CSI.example.com', `a.${'b'.repeat(61)}`, 'x']) {
      const finalizer = provisioningFinalizer(name);
      expect(refusedDriverName(name)).toBeUndefined();
      expect(finalizer).toMatch(qualifiedName);
      expect(finalizer.split('/')[1]?.length).toBeLessThanOrEqual(63);
    }
  });

  it.each(['a/b', 'a b', '-a', 'a_b', 'a..b', 'a'.repeat(64), ''])(
    '[provisioner#P1] given the driver name %j, when started, then it is refused with its name',
    (name) => {
      expect(refusedDriverName(name)).toContain(JSON.stringify(name));
    },
  );
});
