// SPDX-License-Identifier: Apache-2.0
/** The whole program over a real driver socket, with an API server in memory and virtual time. */
import { type Handlers, csiError } from '@csi-sidecars/csi/testing';
import { events, type KubeObject, type Lease, leases, persistentVolumes } from '@csi-sidecars/runtime';
import { freePort, settle } from '@csi-sidecars/runtime/testing';
import { type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNode, driverName } from '../testing/builders.ts';
import { aLateClass, anOwner, capacities, published } from '../testing/capacity-fixture.ts';
import { runProvisioner } from './program.ts';

const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] }),
  '/csi.v1.Controller/ControllerGetCapabilities': () => ({ capabilities: [{ rpc: { type: 'CREATE_DELETE_VOLUME' } }] }),
  '/csi.v1.Controller/CreateVolume': () => ({ volume: { volume_id: 'volume-1', capacity_bytes: '5368709120' } }),
};
const aPod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'pod', namespace: 'csi', uid: 'uid-of-pod', ownerReferences: [anOwner] },
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

/** The lease of another replica, which leads. */
const ofAnother: Lease['spec'] = {
  holderIdentity: 'pod-2',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-01T00:00:00.000000Z',
  renewTime: '2026-01-01T00:00:00.000000Z',
};

describe('the start', () => {
  it('given a claim, then the driver is called for its name and capabilities, and the volume is created and saved', async () => {
    await using provisioner = await run({ seed: [aClass(), aClaim()] });
    const { server } = provisioner.host;
    await expect.poll(() => server.objects.get(persistentVolumes, { name: 'pvc-uid-data' })).toBeDefined();
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
    await expect.poll(() => provisioner.calls()).toEqual(started);
  });

  it.each([
    { args: ['--node-deployment'], code: 255, says: 'NODE_NAME' },
    { args: ['--node-deployment', '--leader-election'], env: { NODE_NAME: 'n1' }, code: 1, says: 'exclude each other' },
    { args: ['--node-deployment', '--enable-capacity'], code: 255, says: 'NODE_NAME' },
    { args: ['--worker-threads=0'], code: 1, says: '--worker-threads must be at least 1' },
    { args: ['--feature-gates=Nonsense=true'], code: 255, says: 'Nonsense' },
  ])('given $args, then one clear line and $code', async ({ code, says, ...options }) => {
    const host = fakeHost(options);
    expect(await runProvisioner({ host, lifecycle: host.lifecycle })).toBe(code);
    expect(host.logged()).toContain(says);
    expect(host.connections()).toBe(0);
  });
});

describe('published capacity', () => {
  const args = ['--enable-capacity'];
  const env = { NAMESPACE: 'csi', POD_NAME: 'pod' };
  const pod = aPod;
  const handlers: Handlers = {
    '/csi.v1.Controller/GetCapacity': () => ({ available_capacity: '1073741824' }),
  };
  const seed = [aLateClass(), ...aNode('n1', 'a')];
  const gauges = [
    'csistoragecapacities_desired_goal',
    'csistoragecapacities_desired_current',
    'csistoragecapacities_obsolete',
  ];

  it('given an owner level of 1, then the objects are in NAMESPACE and belong to the controller of the Pod', async () => {
    await using provisioner = await run({ args, env, handlers, seed: [...seed, pod] });
    const { server } = provisioner.host;
    await expect.poll(() => published({ server })).toEqual(['fast zone=a 1Gi of driver']);
    expect(capacities({ server })[0]?.metadata?.namespace).toBe('csi');
    expect(provisioner.host.logged()).toContain(
      'using apps/v1/StatefulSet driver as owner of CSIStorageCapacity objects',
    );
    expect(server.writes()).toHaveLength(1);
    expect(provisioner.host.logged()).toContain('the CSI driver does not report GET_CAPACITY');
  });

  it.each([
    { what: 'NAMESPACE', given: { POD_NAME: 'pod' }, says: 'need NAMESPACE env variable' },
    { what: 'POD_NAME', given: { NAMESPACE: 'csi' }, says: 'need POD_NAME env variable' },
    { what: 'the Pod', given: env, says: 'look up owner(s) of pod' },
  ])(
    '[provisioner-topology-capacity#M4] given no $what, then one clear line and 255, and nothing is written',
    async ({ given, says }) => {
      await using provisioner = await run({ args, env: given, handlers, seed });
      expect(await provisioner.code).toBe(255);
      expect(provisioner.host.logged()).toContain(says);
      expect(provisioner.host.server.writes()).toEqual([]);
    },
  );

  it('[provisioner-topology-capacity#O10] given a negative level, then POD_NAME is not needed and no Pod is read', async () => {
    await using provisioner = await run({
      args: [...args, '--capacity-ownerref-level=-1'],
      env: { NAMESPACE: 'csi' },
      handlers,
      seed,
    });
    const { server } = provisioner.host;
    await expect.poll(() => published({ server })).toEqual(['fast zone=a 1Gi']);
    expect(server.requests.filter(({ resource }) => resource === 'pods')).toEqual([]);
  });

  it('[provisioner-topology-capacity#M7] given no flag, then no gauge and no request for nodes or capacity objects', async () => {
    const free = await freePort();
    await using provisioner = await run({
      args: [`--http-endpoint=127.0.0.1:${free}`],
      env,
      handlers,
      seed: [...seed, pod],
    });
    await expect.poll(() => provisioner.host.server.openWatches()).toBe(3);
    const page = await (await fetch(`http://127.0.0.1:${free}/metrics`)).text();
    expect(gauges.filter((name) => page.includes(name))).toEqual([]);
    const requested = new Set(provisioner.host.server.requests.map(({ resource }) => resource));
    expect(['nodes', 'csinodes', 'csistoragecapacities', 'pods'].filter((resource) => requested.has(resource))).toEqual(
      [],
    );
  });

  it('[provisioner-topology-capacity#M9] given another leader, then the Pod is read, nothing is written or asked, and the gauges show 0', async () => {
    const free = await freePort();
    const metadata = { namespace: 'ns', name: 'test-csi-example-com' };
    const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: ofAnother };
    const election = ['--leader-election', '--leader-election-namespace=ns', `--http-endpoint=127.0.0.1:${free}`];
    await using standby = await run({ args: [...args, ...election], env, handlers, seed: [...seed, pod, lease] });
    const { server } = standby.host;
    await expect.poll(() => server.openWatches()).toBe(1);
    expect([server.writes(), standby.calls()]).toEqual([[], started]);
    const page = await (await fetch(`http://127.0.0.1:${free}/metrics`)).text();
    expect(gauges.filter((name) => page.includes(`\n${name} 0\n`))).toEqual(gauges);
    expect(page).toContain('# HELP csistoragecapacities_obsolete [ALPHA] Number of CSIStorageCapacity objects');
  });
});

describe('node deployment', () => {
  const args = ['--node-deployment'];
  const env = { NODE_NAME: 'n1' };
  const segments = { node: 'n1' };
  const topology: Handlers = {
    '/csi.v1.Identity/GetPluginCapabilities': () => ({
      capabilities: [
        { service: { type: 'CONTROLLER_SERVICE' } },
        { service: { type: 'VOLUME_ACCESSIBILITY_CONSTRAINTS' } },
      ],
    }),
    '/csi.v1.Node/NodeGetInfo': () => ({ node_id: 'id-1', accessible_topology: { segments } }),
  };

  it('given a claim for this node, then the driver is asked for its node, and the volume is one of it; no node is watched', async () => {
    await using provisioner = await run({ args, env, handlers: topology, seed: [aClass(), aClaim({ node: 'n1' })] });
    const { server } = provisioner.host;
    await expect.poll(() => server.objects.get(persistentVolumes, { name: 'pvc-uid-data' })).toBeDefined();
    expect(provisioner.calls()).toEqual([...started, 'NodeGetInfo', 'CreateVolume']);
    const attributes = server.objects.get(persistentVolumes, { name: 'pvc-uid-data' })?.spec?.csi?.volumeAttributes;
    expect(attributes?.['storage.kubernetes.io/csiProvisionerIdentity']).toMatch(/-test\.csi\.example\.com-n1$/);
    expect(server.requests.some(({ resource }) => resource === 'nodes' || resource === 'csinodes')).toBe(false);
  });

  it("[provisioner-topology-capacity#P1,P11] given the arguments of upstream's distributed deployment, then the instance publishes the segment of NodeGetInfo under the name of its node, without a lease and without a look at nodes", async () => {
    const handlers: Handlers = {
      ...topology,
      '/csi.v1.Controller/GetCapacity': () => ({ available_capacity: '1073741824' }),
    };
    await using provisioner = await run({
      args: [
        '-v=5',
        '--feature-gates=Topology=true',
        '--enable-capacity',
        '--capacity-ownerref-level=0',
        '--node-deployment=true',
        '--strict-topology=true',
        '--immediate-topology=false',
        '--worker-threads=5',
      ],
      env: { ...env, NAMESPACE: 'csi', POD_NAME: 'pod' },
      handlers,
      seed: [aLateClass(), aPod],
    });
    const { server } = provisioner.host;
    await expect.poll(() => published({ server })).toEqual(['fast node=n1 1Gi of pod']);
    expect(capacities({ server })[0]?.metadata?.labels).toEqual({
      'csi.storage.k8s.io/drivername': driverName,
      'csi.storage.k8s.io/managed-by': 'external-provisioner-n1',
    });
    expect(provisioner.calls()).toEqual([...started, 'NodeGetInfo', 'GetCapacity']);
    const requested = new Set(server.requests.map(({ resource }) => resource));
    expect(['nodes', 'csinodes', 'leases'].filter((resource) => requested.has(resource))).toEqual([]);
    const reads = server.requests
      .filter(({ verb, resource }) => ['list', 'watch'].includes(verb) && resource === 'csistoragecapacities')
      .map(({ path }) => decodeURIComponent(path));
    expect(reads).not.toEqual([]);
    expect(reads.filter((path) => !path.includes('managed-by=external-provisioner-n1'))).toEqual([]);
    expect(provisioner.host.logged()).toContain(
      'producing CSIStorageCapacity objects with fixed topology segment [node: n1]',
    );
    expect(provisioner.host.logged()).not.toContain('reports no accessible topology');
  });

  it('[provisioner-topology-capacity#P6] given --enable-capacity and a driver that names no topology, then the log warns that the object stands for every node', async () => {
    const handlers: Handlers = {
      ...topology,
      '/csi.v1.Node/NodeGetInfo': () => ({ node_id: 'id-1' }),
      '/csi.v1.Controller/GetCapacity': () => ({ available_capacity: '1073741824' }),
    };
    const level = '--capacity-ownerref-level=-1';
    await using provisioner = await run({
      args: [...args, '--enable-capacity', level],
      env: { ...env, NAMESPACE: 'csi' },
      handlers,
      seed: [aLateClass()],
    });
    const { server } = provisioner.host;
    await expect.poll(() => published({ server })).toEqual(['fast {} 1Gi']);
    expect(provisioner.host.logged()).toContain('NodeGetInfo reports no accessible topology');
  });

  it('[provisioner-topology-capacity#M3] given --version without NODE_NAME, then the version is printed', async () => {
    const host = fakeHost({ args: [...args, '--version'] });
    expect(await runProvisioner({ host, lifecycle: host.lifecycle })).toBe(0);
  });

  it('[provisioner-topology-capacity#M6] given NodeGetInfo fails, then it ends with 255', async () => {
    const handlers = { ...topology, '/csi.v1.Node/NodeGetInfo': () => csiError('Internal', 'no') };
    await using provisioner = await run({ args, env, handlers });
    expect(await provisioner.code).toBe(255);
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
    await expect.poll(() => provisioner.calls()).toContain('CreateVolume');
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
    const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: leaseRef, spec: ofAnother };
    await using standby = await run({ args, seed: [lease] });
    await expect.poll(() => standby.host.server.openWatches()).toBe(1);
    await standby.host.clock.advance(5_000);
    const paths = new Set(standby.host.server.requests.map(({ resource, path }) => resource || path));
    // The account is looked at by every replica.
    expect(paths).toEqual(new Set(['/apis/storage.k8s.io/v1', 'leases', 'selfsubjectrulesreviews']));
    expect(standby.calls()).toEqual(started);
  });
});

it.each([
  { args: [], reasons: ['Provisioning', 'ProvisioningSucceeded'] },
  { args: ['--events=outcome'], reasons: ['ProvisioningSucceeded'] },
])('[common#83] given the flags $args, then these events are written: $reasons', async ({ args, reasons }) => {
  await using provisioner = await run({ args, seed: [aClass(), aClaim()] });
  const written = async (): Promise<readonly string[]> => {
    await provisioner.host.clock.advance(1_000);
    return provisioner.host.server.objects.list(events).map(({ reason = '' }) => reason);
  };
  await expect.poll(async () => (await written()).toSorted(), { timeout: 10_000 }).toEqual(reasons);
});
