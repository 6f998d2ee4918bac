// SPDX-License-Identifier: Apache-2.0
/** A final answer releases the request: the next call is planned from the caches, while the finalizer stays. */
import { csiNodes, type KubeObject, nodes, storageClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNode, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { selectNode } from '../../testing/others.ts';
import { annotations, provisioningFinalizer } from '../names.ts';

type Code = 'DeadlineExceeded' | 'Internal' | 'InvalidArgument';
const protect = 'update persistentvolumeclaims team/data 200';
const saved = 'create persistentvolumes pvc-uid-data 201';
const isProtected = (p: Fixture): boolean =>
  p.claim()?.metadata?.finalizers?.includes(provisioningFinalizer(driverName)) === true;

async function claimed(codes: readonly Code[], claim = aClaim(), options: FixtureOptions = {}): Promise<Fixture> {
  const p = await aProvisioner({ seed: [aClass({ parameters: { size: 'wrong' } })], ...options });
  for (const [skip, code] of codes.entries()) {
    p.driver.faults.add({ method: 'CreateVolume', skip, times: 1, action: { kind: 'fail', code } });
  }
  p.server.seed(claim);
  await p.settle();
  return p;
}
function replaceClass(p: Fixture, parameters: Readonly<Record<string, string>>): void {
  p.server.objects.remove(storageClasses, { name: 'fast' });
  p.server.seed(aClass({ parameters, metadata: { name: 'fast', uid: 'class-2' } }));
}

describe('a released request', () => {
  it('[provisioner#P4] given an ambiguous answer, then Internal, when the class is corrected, then the next call has the corrected parameters', async () => {
    const p = await claimed(['DeadlineExceeded', 'Internal', 'Internal']);
    await p.clock.advance(1200);
    expect([p.calls().length, isProtected(p)]).toEqual([2, true]);
    replaceClass(p, { size: 'right' });
    await p.settle();
    expect(p.requests('CreateVolume').map(({ parameters }) => parameters)).toEqual([
      { size: 'wrong' },
      { size: 'wrong' },
      { size: 'right' },
    ]);
    await p.clock.advance(6000);
    expect([p.writes(), isProtected(p)]).toEqual([[protect, saved, protect], false]);
  });

  it('[provisioner#P4] given only ambiguous answers, when the class is corrected, then the request is repeated unchanged', async () => {
    const p = await claimed(['DeadlineExceeded', 'DeadlineExceeded', 'DeadlineExceeded']);
    replaceClass(p, { size: 'right' });
    await p.clock.advance(8000);
    const requests = p.requests('CreateVolume');
    expect(requests.length).toBe(4);
    expect(requests).toEqual(requests.map(() => requests[0]));
  });

  it('[provisioner#P4] given an ambiguous answer, then Internal, when the claim names another attributes class, then the next call has its parameters', async () => {
    const attributesClass = (name: string): KubeObject =>
      ({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttributesClass',
        metadata: { name },
        driverName,
        parameters: { tier: name },
      }) as KubeObject;
    const claim = aClaim({ spec: { volumeAttributesClassName: 'silver' } });
    const seed = [aClass(), attributesClass('silver'), attributesClass('gold')];
    const p = await claimed(['DeadlineExceeded', 'Internal'], claim, { seed });
    await p.clock.advance(1200);
    p.changeClaim((current) => ({ ...current, spec: { ...current.spec, volumeAttributesClassName: 'gold' } }));
    await p.settle();
    expect(p.requests('CreateVolume').map(({ mutable_parameters }) => mutable_parameters)).toEqual([
      { tier: 'silver' },
      { tier: 'silver' },
      { tier: 'gold' },
    ]);
    expect(p.volume()?.spec?.volumeAttributesClassName).toBe('gold');
  });

  const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });
  const withTopology: FixtureOptions = { topology: 'on', seed: [late, ...aNode('n1'), ...aNode('n2')] };

  it('[provisioner#P5] given an ambiguous answer, then Internal, when the selected node is gone, then its annotation is removed, recorded, and the finalizer stays', async () => {
    const p = await claimed(['DeadlineExceeded', 'Internal'], aClaim({ node: 'n1' }), withTopology);
    p.server.objects.remove(csiNodes, { name: 'n1' });
    p.server.objects.remove(nodes, { name: 'n1' });
    await p.clock.advance(4000);
    expect([p.calls().length, p.writes(), isProtected(p)]).toEqual([2, [protect, protect], true]);
    expect(p.claim()?.metadata?.annotations).not.toHaveProperty([annotations.selectedNode]);
    expect(p.events.at(-1)).toBe(
      'Warning ProvisioningFailed team/data: failed to get selected CSINode n1: csinode.storage.k8s.io "n1" not found',
    );
    selectNode(p, 'n2');
    await p.settle();
    expect([p.calls().length, p.volume()?.metadata?.name, isProtected(p)]).toEqual([3, 'pvc-uid-data', false]);
  });

  it('[provisioner#P6] given a released request whose claim is force-deleted, when the driver refuses three times, then the calls end without an event', async () => {
    const p = await claimed(['DeadlineExceeded', 'Internal']);
    await p.clock.advance(1200);
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    p.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, finalizers: [] } }));
    p.deleteClaim();
    const before = p.events.length;
    await p.clock.advance(24 * 3_600_000);
    expect([p.calls().length, p.events.slice(before)]).toEqual([5, []]);
  });

  it('[provisioner#P6] given an ambiguous answer and a claim that is force-deleted, when the driver stays silent, then the calls continue without an event', async () => {
    const p = await claimed(['DeadlineExceeded']);
    p.driver.faults.add({
      method: 'CreateVolume',
      times: 20,
      action: { kind: 'fail', code: 'DeadlineExceeded' },
    });
    p.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, finalizers: [] } }));
    p.deleteClaim();
    const before = p.events.length;
    await p.clock.advance(3 * 3_600_000);
    expect([p.volume()?.spec?.claimRef?.uid, p.events.slice(before)]).toEqual(['uid-data', []]);
  });
});
