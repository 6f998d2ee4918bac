// SPDX-License-Identifier: Apache-2.0
/** The whole program over a real driver socket, with an API server in memory and virtual time. */
import { type Handlers, csiError } from '@csi-sidecars/csi/testing';
import type { CsiCallOptions } from '@csi-sidecars/csi';
import { type KubeObject, type Lease, leaseRules, leases, volumeAttachments } from '@csi-sidecars/runtime';
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { replacesPlugin } from '@csi-sidecars/volume';
import { describe, expect, it, vi } from 'vitest';
import { aCsiNode, aDriver, anAttachment, aVolume, driverName } from '../testing/builders.ts';
import { attacherSidecar, runAttacher } from './program.ts';
import { clusterRules } from './rbac.ts';

const capability = (type: string): { readonly rpc: { readonly type: string } } => ({ rpc: { type } });
const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] }),
  '/csi.v1.Controller/ControllerGetCapabilities': () =>
    ({ capabilities: [capability('PUBLISH_UNPUBLISH_VOLUME')] }) as never,
  '/csi.v1.Controller/ControllerPublishVolume': () => ({}),
  '/csi.v1.Controller/ControllerUnpublishVolume': () => ({}),
};

function run(
  handlers: Handlers = {},
  args: readonly string[] = [],
  seed: readonly KubeObject[] = [],
): Promise<DrivenProgram> {
  return runOverDriver(runAttacher, { handlers: { ...healthy, ...handlers }, args, seed });
}

const leaseRef = { namespace: 'ns', name: 'external-attacher-leader-test-csi-example-com' };
const otherLeader: Lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: leaseRef,
  spec: {
    holderIdentity: 'pod-2',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
  },
};

const started = ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities'];

describe('the start', () => {
  it('[attacher#141] given a driver that is not ready, then it is probed every second, and no other call is made', async () => {
    await using attacher = await run({ '/csi.v1.Identity/Probe': () => ({ ready: { value: false } }) });
    for (const asked of [1, 2, 3]) {
      await expect.poll(() => attacher.calls()).toEqual(Array.from({ length: asked }, () => 'Probe'));
      await settle();
      await attacher.host.clock.advance(1_000);
    }
    await expect.poll(() => attacher.calls()).toEqual(['Probe', 'Probe', 'Probe', 'Probe']);
  });

  it.each(['Unimplemented', 'Unavailable', 'Internal'] as const)(
    '[attacher#142] given Probe fails with %s, then the exit code is 1',
    async (code) => {
      await using attacher = await run({ '/csi.v1.Identity/Probe': () => csiError(code, 'no') });
      expect([await attacher.code, attacher.calls()]).toEqual([1, ['Probe']]);
    },
  );

  it('[attacher#143] given a driver that returns no name, or no name within a second, then the exit code is 1', async () => {
    await using nameless = await run({ '/csi.v1.Identity/GetPluginInfo': () => ({ name: '' }) });
    expect(await nameless.code).toBe(1);
    await using slow = await run({ '/csi.v1.Identity/GetPluginInfo': () => new Promise(() => undefined) });
    await expect.poll(() => slow.calls()).toContain('GetPluginInfo');
    await slow.host.clock.advance(1_000);
    expect(await slow.code).toBe(1);
    expect(attacherSidecar.driver({ timeout: 15_000, 'max-grpc-log-length': 7 } as never, {})).toEqual({
      probeTimeoutMs: 15_000,
      nameTimeoutMs: 1_000,
      isMigrated: replacesPlugin,
      maxLoggedResponseBytes: 7,
    });
  });

  it('[attacher#144] given ControllerGetCapabilities fails, then the exit code is 1', async () => {
    await using attacher = await run({
      '/csi.v1.Controller/ControllerGetCapabilities': () => csiError('Internal', 'no'),
    });
    expect([await attacher.code, attacher.calls()]).toEqual([1, started]);
  });

  it('[attacher#145] given capability entries that are empty or unknown, then they are ignored, and the volume is published', async () => {
    await using attacher = await run({
      '/csi.v1.Identity/GetPluginCapabilities': () => ({
        capabilities: [{}, { service: { type: 99 as never } }, { service: { type: 'CONTROLLER_SERVICE' } }],
      }),
      '/csi.v1.Controller/ControllerGetCapabilities': () =>
        ({ capabilities: [{}, { rpc: { type: 99 } }, capability('PUBLISH_UNPUBLISH_VOLUME')] }) as never,
    });
    for (const object of [anAttachment(), aVolume(), aCsiNode()]) attacher.host.server.seed(object);
    await expect.poll(() => attacher.calls()).toEqual([...started, 'ControllerPublishVolume']);
  });

  it('given a driver without a controller service, then ControllerGetCapabilities is not called', async () => {
    await using attacher = await run({ '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [] }) });
    await expect.poll(() => attacher.host.server.openWatches()).toBe(1);
    expect(attacher.calls()).toEqual(started.slice(0, 3));
  });

  it.each(['tcp://127.0.0.1:1', 'dns:///x'])(
    '[attacher#146] given the address %s, then the exit code is 1',
    async (address) => {
      const host = fakeHost({ args: [`--csi-address=${address}`] });
      expect(await runAttacher({ host, lifecycle: host.lifecycle })).toBe(1);
    },
  );

  it('[attacher#147] given a socket that does not exist for 30 s, then the exit code is 1', async () => {
    const host = fakeHost({ args: ['--csi-address=/nonexistent/csi.sock'] });
    let ended: number | undefined;
    const code = runAttacher({ host, lifecycle: host.lifecycle }).then((value) => (ended = value));
    await vi.waitFor(async () => {
      await host.clock.advance(1_000);
      expect(ended).toBe(1);
    }, 10_000);
    expect(await code).toBe(1);
  });

  it.each(['--worker-threads=0', '--timeout=0'])(
    'given %s, then one clear line is logged, and the exit code is 1',
    async (flag) => {
      const host = fakeHost({ args: [flag] });
      expect(await runAttacher({ host, lifecycle: host.lifecycle })).toBe(1);
      expect(host.logged()).toContain(flag.split('=')[0]);
    },
  );
});

it('[attacher#86] given the driver ends, then the attacher ends with exit code 1, so that the next one reads the capabilities again', async () => {
  await using attacher = await run();
  await expect.poll(() => attacher.host.server.openWatches()).toBe(3);
  attacher.driver.stop();
  expect(await attacher.code).toBe(1);
  expect(attacher.host.terminationLog()).toEqual(['Lost connection to CSI driver, exiting']);
});

/** Prepares a controller for a driver each of whose calls takes so long. */
async function preparedAfter(callMs: number, plugin: readonly string[], failing?: string) {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const asked: unknown[] = [];
  const call = async (method: string, _request: object, options: CsiCallOptions) => {
    asked.push([method.split('/').at(-1), options.timeoutMs, options.signal === signal]);
    await clock.advance(callMs);
    if (method === failing) throw new Error('no');
    const service = plugin.map((type) => ({ service: { type }, rpc: { type: 'PUBLISH_UNPUBLISH_VOLUME' } }));
    return { capabilities: service };
  };
  const started = { values: {}, gates: {} };
  const context = { channel: { call }, clock, name: driverName, signal, started } as never;
  return { asked, ...(await attacherSidecar.prepare(context)) };
}

describe('what it asks the driver for at its start', () => {
  it.each([
    { callMs: 600, leftMs: 400 },
    { callMs: 1_200, leftMs: 0 },
  ])('given calls that take $callMs ms, then the second one gets $leftMs ms of one second', async (row) => {
    const { asked, assemble: _assemble, ...known } = await preparedAfter(row.callMs, ['CONTROLLER_SERVICE']);
    expect(asked).toEqual([
      ['GetPluginCapabilities', 1_000, true],
      ['ControllerGetCapabilities', row.leftMs, true],
    ]);
    expect(known).toEqual({
      lockName: `external-attacher-leader-${driverName}`,
      driver: aDriver({ controller: ['PUBLISH_UNPUBLISH_VOLUME'] }),
      // Whether a volume names a secret is not known yet.
      rights: { cluster: clusterRules.filter(({ resources }) => !resources.includes('secrets')) },
    });
  });

  it('given a driver without a controller service, then it has no capabilities, and only rights for marking attachments are needed', async () => {
    const { driver, rights } = await preparedAfter(0, []);
    expect(driver).toEqual({ name: driverName, pluginCapabilities: new Set(), controllerCapabilities: new Set() });
    expect(rights?.cluster?.map(({ resources, verbs }) => `${verbs.join()} ${resources.join()}`)).toEqual([
      'list,watch volumeattachments',
      'patch volumeattachments/status',
    ]);
  });

  it.each([
    { method: '/csi.v1.Identity/GetPluginCapabilities', of: 'driver' },
    { method: '/csi.v1.Controller/ControllerGetCapabilities', of: 'controller' },
  ])('given $method fails, then the error names the capabilities of the $of', async ({ method, of }) => {
    const message = `Failed to get the capabilities of the CSI ${of}`;
    await expect(preparedAfter(0, ['CONTROLLER_SERVICE'], method)).rejects.toThrow(message);
  });
});

it.each([
  { gate: true, errorCode: 8 },
  { gate: false, errorCode: undefined },
])(
  'given the gate MutableCSINodeAllocatableCount is $gate, when a publish fails with ResourceExhausted, then the code in the status is $errorCode',
  async ({ gate, errorCode }) => {
    await using attacher = await run(
      { '/csi.v1.Controller/ControllerPublishVolume': () => csiError('ResourceExhausted', 'full') },
      [`--feature-gates=MutableCSINodeAllocatableCount=${gate}`],
      [anAttachment(), aVolume(), aCsiNode()],
    );
    const reported = () => attacher.host.server.objects.get(volumeAttachments, { name: 'va1' })?.status?.attachError;
    await expect.poll(reported).toBeDefined();
    expect(reported()?.errorCode).toBe(errorCode);
  },
);

describe('the election', () => {
  const args = ['--leader-election', '--leader-election-namespace=ns'];

  it('[attacher#148] given another leader, then only the lease is requested, and the driver gets no call beyond those of the start', async () => {
    await using standby = await run({}, args, [otherLeader]);
    await expect.poll(() => standby.calls()).toEqual(started);
    await expect.poll(() => standby.host.server.openWatches()).toBe(1);
    await standby.host.clock.advance(5_000);
    const asked = new Set(standby.host.server.requests.map(({ resource }) => resource));
    // The account is looked at by every replica.
    expect(asked).toEqual(new Set(['leases', 'selfsubjectrulesreviews']));
    expect(standby.calls()).toEqual(started);
  });

  it('given a standby, when it receives SIGTERM, then it ends at once (upstream ignores the signal)', async () => {
    await using standby = await run({}, args, [otherLeader]);
    await expect.poll(() => standby.host.server.openWatches()).toBe(1);
    standby.host.stop();
    expect(await standby.code).toBe(0);
  });

  it('[packaging#17] given no right to create events, then it leads and attaches, and only the event of its election is missing', async () => {
    const rules = [...clusterRules, ...leaseRules.filter(({ resources }) => !resources.includes('events'))];
    const seed = [anAttachment(), aVolume(), aCsiNode()];
    await using attacher = await runOverDriver(runAttacher, { handlers: healthy, args, seed, rules });
    const { server } = attacher.host;
    await expect.poll(() => server.writes().some(({ subresource }) => subresource === 'status')).toBe(true);
    await expect.poll(() => server.writes().some(({ resource }) => resource === 'events')).toBe(true);
    const refused = server.writes().filter(({ code }) => code >= 400);
    expect(refused.map(({ resource, code }) => [resource, code])).toEqual([['events', 403]]);
    expect(server.objects.get(leases, leaseRef)?.spec?.holderIdentity).toBe('pod-1');
  });

  it('given SIGTERM during a publish, then the publish finishes and is saved before the lease is released (upstream cancels the call)', async () => {
    const answer = Promise.withResolvers<object>();
    await using attacher = await run({ '/csi.v1.Controller/ControllerPublishVolume': () => answer.promise }, args);
    const { server } = attacher.host;
    for (const object of [anAttachment(), aVolume(), aCsiNode()]) server.seed(object);
    await expect.poll(() => attacher.calls()).toContain('ControllerPublishVolume');
    attacher.host.stop();
    await settle();
    server.clearRequests();
    answer.resolve({});
    await attacher.code;
    const writes = server.writes().filter(({ resource }) => resource !== 'events');
    expect(writes.map(({ verb, resource, subresource, code }) => [verb, resource, subresource, code])).toEqual([
      ['patch', 'volumeattachments', 'status', 200],
      ['update', 'leases', undefined, 200],
    ]);
    expect(server.objects.get(leases, leaseRef)?.spec?.holderIdentity).toBe('');
  });
});
