// SPDX-License-Identifier: Apache-2.0
/** The whole program over a real driver socket, with an API server in memory and virtual time. */
import { type Handlers, csiError } from '@csi-sidecars/csi/testing';
import { type KubeObject, type Lease, leases, persistentVolumes } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it, vi } from 'vitest';
import { aClaim, aClass, driverName } from '../testing/builders.ts';
import { runProvisioner } from './program.ts';

const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] }),
  '/csi.v1.Controller/ControllerGetCapabilities': () => ({ capabilities: [{ rpc: { type: 'CREATE_DELETE_VOLUME' } }] }),
  '/csi.v1.Controller/CreateVolume': () => ({ volume: { volume_id: 'volume-1', capacity_bytes: '5368709120' } }),
};
const started = ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities'];

interface RunOptions {
  readonly handlers?: Handlers;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly seed?: readonly KubeObject[];
}

function run({ handlers = {}, ...options }: RunOptions = {}): Promise<DrivenProgram> {
  return runOverDriver(runProvisioner, { ...options, handlers: { ...healthy, ...handlers } });
}

describe('the start', () => {
  it('given a claim, then the driver is called for its name and capabilities, and the volume is created and saved', async () => {
    await using provisioner = await run({ seed: [aClass(), aClaim()] });
    const { server } = provisioner.host;
    await vi.waitFor(() => expect(server.objects.get(persistentVolumes, { name: 'pvc-uid-data' })).toBeDefined());
    expect(provisioner.calls()).toEqual([...started, 'CreateVolume']);
  });

  it.each(['GetPluginCapabilities', 'GetPluginInfo'] as const)(
    'given %s fails, then it ends with 255, as upstream does',
    async (method) => {
      const fails = { [`/csi.v1.Identity/${method}`]: () => csiError('Internal', 'no') };
      await using provisioner = await run({ handlers: fails });
      expect(await provisioner.code).toBe(255);
      expect(provisioner.calls()).toEqual(started.slice(0, started.indexOf(method) + 1));
    },
  );

  it('[provisioner#P1] given a driver name that no PersistentVolume can have, then it ends with 255 and the name in its log', async () => {
    const handlers: Handlers = { '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'not a name' }) };
    await using provisioner = await run({ handlers });
    expect(await provisioner.code).toBe(255);
    expect(provisioner.host.logged()).toContain('not a DNS subdomain');
    expect(provisioner.calls()).toEqual(started.slice(0, 2));
  });

  it('given a driver without controller service, then its controller capabilities are still requested', async () => {
    await using provisioner = await run({
      handlers: { '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [] }) },
    });
    await vi.waitFor(() => expect(provisioner.calls()).toEqual(started));
  });

  it.each([
    { args: ['--node-deployment'], code: 1, says: '--node-deployment is not supported' },
    { args: ['--enable-capacity'], code: 1, says: '--enable-capacity is not supported' },
    { args: ['--worker-threads=0'], code: 1, says: '--worker-threads must be at least 1' },
    { args: ['--feature-gates=Nonsense=true'], code: 255, says: 'Nonsense' },
  ])('given $args, then one clear line and $code', async ({ code, says, ...options }) => {
    const host = fakeHost(options);
    expect(await runProvisioner({ host, lifecycle: host.lifecycle })).toBe(code);
    expect(host.logged()).toContain(says);
    expect(host.connections()).toBe(0);
  });
});

describe('the election', () => {
  const args = ['--leader-election', '--leader-election-namespace=ns'];
  const leaseRef = { namespace: 'ns', name: 'test-csi-example-com' };

  it('given a signal during CreateVolume, then the call is finished and its volume saved before the lease is released', async () => {
    const answer = Promise.withResolvers<object>();
    const handlers: Handlers = { '/csi.v1.Controller/CreateVolume': () => answer.promise };
    await using provisioner = await run({ args, handlers, seed: [aClass(), aClaim()] });
    const { server } = provisioner.host;
    await vi.waitFor(() => expect(provisioner.calls()).toContain('CreateVolume'));
    provisioner.host.stop();
    await settle();
    server.clearRequests();
    answer.resolve({ volume: { volume_id: 'volume-1', capacity_bytes: '5368709120' } });
    await provisioner.code;
    const writes = server.writes().map(({ verb, resource, code }) => `${verb} ${resource} ${code}`);
    expect(writes.at(-1)).toBe('update leases 200');
    expect(writes).toContain('create persistentvolumes 201');
    expect(writes).toContain('create events 201');
    expect(server.objects.get(leases, leaseRef)?.spec?.holderIdentity).toBe('');
  });

  it('given another leader, then only the lease is requested after start-up', async () => {
    const spec: Lease['spec'] = {
      holderIdentity: 'pod-2',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
    };
    const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: leaseRef, spec };
    await using standby = await run({ args, seed: [lease] });
    await vi.waitFor(() => expect(standby.host.server.openWatches()).toBe(1));
    await standby.host.clock.advance(5_000);
    const paths = new Set(standby.host.server.requests.map(({ resource, path }) => resource || path));
    expect([...paths]).toEqual(['/apis/storage.k8s.io/v1', 'leases']);
    expect(standby.calls()).toEqual(started);
  });
});
