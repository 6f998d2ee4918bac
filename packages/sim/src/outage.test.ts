// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '@csi-sidecars/runtime';
import { FakeClock, seededRandom, withFaults, type DecideFault } from '@csi-sidecars/runtime/testing';
import { stubDriver } from './node/driver.ts';
import { startSim, type SimOptions } from './sim.ts';

const driver = 'csi.example.com';

const startFailing = (clock: FakeClock, decide: DecideFault, simulated: SimOptions['nodes'] = []) =>
  startSim({
    clock,
    random: seededRandom(1),
    nodes: simulated,
    intercept: (transport) => withFaults(transport, { clock, decide }),
  });

describe('a simulated cluster whose own API calls fail', () => {
  it('given an outage from the start, when it ends, then nodes and bindings are the same as without it', async () => {
    const clock = new FakeClock();
    let down = true;
    const decide: DecideFault = () => (down ? { kind: 'break', point: 'before', failure: 'refused' } : undefined);
    const sim = startFailing(clock, decide, [{ name: 'node-1', drivers: [stubDriver(driver, { nodeId: 'id-1' })] }]);
    await clock.advance(60_000);
    expect(sim.server.objects.list(nodes)).toEqual([]);
    down = false;
    await clock.advance(60_000);
    expect(sim.server.objects.get(csiNodes, { name: 'node-1' })?.spec.drivers.map(({ name }) => name)).toEqual([
      driver,
    ]);
    down = true;
    const lease = (): string | undefined =>
      sim.server.objects.get(leases, { namespace: 'kube-node-lease', name: 'node-1' })?.spec?.renewTime;
    await clock.advance(60_000);
    const before = lease();
    down = false;
    await clock.advance(60_000);
    expect(lease()).not.toBe(before);
    await sim.stop();
    expect([clock.pending, sim.server.openWatches()]).toEqual([0, 0]);
  });

  it('given that every third call fails, half of them after the commit, then a claim is still bound', async () => {
    const clock = new FakeClock();
    let calls = 0;
    const decide: DecideFault = ({ verb }) => {
      calls += 1;
      if (verb === 'watch' || calls % 3 !== 0) return undefined;
      return { kind: 'break', point: calls % 2 === 0 ? 'before' : 'after', failure: 'reset' };
    };
    const sim = startFailing(clock, decide);
    await using _ = sim;
    await sim.client.create(storageClasses, { metadata: { name: 'fast' }, provisioner: driver });
    const ref = { namespace: 'default', name: 'data' };
    const resources = { requests: { storage: '1Gi' } };
    const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources };
    const { metadata } = await sim.client.create(persistentVolumeClaims, { metadata: ref, spec });
    await sim.client.create(persistentVolumes, {
      metadata: { name: 'pv' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        claimRef: { ...ref, uid: metadata?.uid ?? '' },
        storageClassName: 'fast',
        csi: { driver, volumeHandle: 'h' },
      },
    });
    await clock.advance(120_000);
    const claim = await sim.client.get(persistentVolumeClaims, ref);
    expect([claim.status?.phase, claim.spec?.volumeName]).toEqual(['Bound', 'pv']);
  });

  it('given a claim that appears and is gone while claims are not watched, then its volume is released', async () => {
    const clock = new FakeClock();
    let isDown = false;
    const decide: DecideFault = ({ verb, resource }) =>
      isDown && resource === 'persistentvolumeclaims' && (verb === 'list' || verb === 'watch')
        ? { kind: 'break', point: 'before', failure: 'refused' }
        : undefined;
    const sim = startFailing(clock, decide);
    await using _ = sim;
    await clock.advance(10_000);
    isDown = true;
    sim.server.endWatches('broken');
    const ref = { namespace: 'default', name: 'data' };
    const size = { storage: '1Gi' };
    const common = { accessModes: ['ReadWriteOnce'] };
    const spec = { ...common, volumeName: 'pv', resources: { requests: size } };
    const { metadata } = await sim.client.create(persistentVolumeClaims, { metadata: ref, spec });
    const claimRef = { ...ref, uid: metadata?.uid ?? '' };
    const csi = { driver, volumeHandle: 'h' };
    await sim.client.create(persistentVolumes, {
      metadata: { name: 'pv' },
      spec: { ...common, capacity: size, claimRef, csi },
    });
    const phase = (): string | undefined => sim.server.objects.get(persistentVolumes, { name: 'pv' })?.status?.phase;
    await clock.advance(10_000);
    expect(phase()).toBe('Bound');
    sim.server.objects.remove(persistentVolumeClaims, ref);
    sim.server.compact();
    isDown = false;
    await clock.advance(60_000);
    expect(phase()).toBe('Released');
  });
});
