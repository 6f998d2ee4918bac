// SPDX-License-Identifier: Apache-2.0
/** A claim of 1Gi that is bound to a volume of the driver: where flows of other programs than csi-provisioner begin. */
import { persistentVolumes } from '@csi-sidecars/runtime';
import { driverName, namespace, type Simulation } from './simulation.ts';

const call = { timeoutMs: 10_000 };
const gib = 1024n ** 3n;

/** Claim and PersistentVolume are called `data`. The class must be there. */
export async function prepareBoundClaim(simulation: Simulation): Promise<void> {
  const { sim, driver } = simulation;
  const { volume } = await driver.channel().call(
    '/csi.v1.Controller/CreateVolume',
    {
      name: 'data',
      volume_capabilities: [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } }],
      capacity_range: { required_bytes: gib.toString() },
    },
    call,
  );
  await sim.client.create(persistentVolumes, {
    metadata: { name: 'data' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'fast',
      claimRef: { namespace, name: 'data' },
      csi: { driver: driverName, volumeHandle: volume?.volume_id ?? '' },
    },
  });
  const resources = { requests: { storage: '1Gi' } };
  await simulation.createClaim('data', { volumeName: 'data', resources });
  if (!(await simulation.until(() => simulation.isBound('data')))) throw new Error('the claim was never bound');
}
