// SPDX-License-Identifier: Apache-2.0
/** How long a claim keeps its snapshot: the whole provisioner, while users delete the claim, the snapshot or both. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { Fault } from '@csi-sidecars/runtime/testing';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, type ClaimFacts, someSettings } from '../../testing/builders.ts';
import { aProvisioner, type Fixture } from '../../testing/provisioner-fixture.ts';
import { copying, fromSnapshot, prepareSources, snapshotOf, type SourceFacts } from '../../testing/sources.ts';
import type { ProvisionerSettings } from '../settings.ts';

type Code = 'Aborted' | 'Internal';

interface Story extends SourceFacts {
  readonly settings?: Partial<ProvisionerSettings>;
  readonly claim?: ClaimFacts;
  readonly prepare?: (p: Fixture) => void;
}

async function restore({ settings, claim, prepare, ...facts }: Story = {}): Promise<Fixture> {
  const features = { ...someSettings().features, snapshotSweep: true };
  const p = await aProvisioner({ controller: copying, settings: { ...settings, features } });
  await prepareSources(p, facts);
  prepare?.(p);
  p.server.seed(aClaim({ spec: fromSnapshot, ...claim }));
  await p.settle();
  return p;
}
const fails = ({ driver }: Fixture, code: Code, times?: number): void =>
  void driver.faults.add({
    method: 'CreateVolume',
    ...(times === undefined ? {} : { times }),
    action: { kind: 'fail', code },
  });
async function deleteSnapshot(p: Fixture): Promise<void> {
  p.server.objects.delete(volumeSnapshots, { namespace: 'team', name: 'daily' });
  await p.settle();
}
/** By force: whatever holds it. */
async function removeClaim(p: Fixture): Promise<void> {
  p.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  await p.settle();
}
const isThere = (p: Fixture): boolean => snapshotOf(p) !== undefined;
const failing: Fault = { kind: 'status', point: 'before', code: 500, reason: 'InternalError' };

describe('a snapshot that is being deleted', () => {
  it('[provisioner#X3] given the claim goes during its first call, then the snapshot stays until the volume is recorded', async () => {
    const p = await restore({
      prepare: ({ driver }) =>
        void driver.faults.add({
          method: 'CreateVolume',
          at: 'during',
          times: 1,
          action: { kind: 'delay', ms: 5_000 },
        }),
    });
    await removeClaim(p);
    await deleteSnapshot(p);
    expect([isThere(p), p.volume()]).toEqual([true, undefined]);
    await p.clock.advance(5_000);
    await p.settle();
    expect([isThere(p), p.volume()?.metadata?.name]).toEqual([false, 'pvc-uid-data']);
  });

  it('[provisioner#133] given a claim whose call failed for good, then the snapshot goes although the claim is pending', async () => {
    const p = await restore({ prepare: (fixture) => fails(fixture, 'Internal') });
    expect([p.calls(), isThere(p)]).toEqual([['CreateVolume pvc-uid-data Internal'], true]);
    await deleteSnapshot(p);
    expect([isThere(p), p.claim()?.status?.phase]).toEqual([false, 'Pending']);
  });

  it('given an open call whose claim is gone, then the snapshot stays until an answer settles it', async () => {
    const p = await restore({
      settings: { provisioningProtection: 'off' },
      prepare: (fixture) => fails(fixture, 'Aborted', 2),
    });
    await removeClaim(p);
    await deleteSnapshot(p);
    await p.clock.advance(1_200);
    expect([p.calls().length, isThere(p)]).toEqual([2, true]);
    await p.clock.advance(3_000);
    await p.settle();
    expect([p.volume()?.metadata?.name, isThere(p)]).toEqual(['pvc-uid-data', false]);
  });

  it('given a deleted claim that is given up, then the snapshot goes with it, although the call is repeated', async () => {
    const p = await restore({ prepare: (fixture) => fails(fixture, 'Aborted') });
    p.deleteClaim();
    await deleteSnapshot(p);
    expect(isThere(p)).toBe(true);
    await p.clock.advance(400_000);
    await p.settle();
    expect([p.claim(), isThere(p)]).toEqual([undefined, false]);
    const calls = p.calls().length;
    await p.clock.advance(400_000);
    expect(p.calls().length).toBeGreaterThan(calls);
  });

  it('given a claim of an earlier process that never came to a call, when it goes, then the snapshot goes', async () => {
    const p = await restore({ claim: { protection: 'on' }, snapshot: { ready: false, finalizers: ours } });
    await deleteSnapshot(p);
    expect([p.calls(), isThere(p)]).toEqual([[], true]);
    await removeClaim(p);
    expect(isThere(p)).toBe(false);
  });

  it('given a volume that could not be recorded at once, when its claim goes, then the snapshot stays until the record is saved', async () => {
    const p = await restore({
      prepare: ({ faults }) => void faults.push(faultOn('create persistentvolumes', failing, 6)),
    });
    await removeClaim(p);
    await deleteSnapshot(p);
    expect([isThere(p), p.volume()]).toEqual([true, undefined]);
    await p.clock.advance(60_000);
    await p.settle();
    expect([isThere(p), p.volume()?.metadata?.name]).toEqual([false, 'pvc-uid-data']);
  });
});

const ours = ['provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection'];
