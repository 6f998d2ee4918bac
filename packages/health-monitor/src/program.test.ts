// SPDX-License-Identifier: Apache-2.0
/** The whole program over a real driver socket, with an API server in memory and virtual time. */
import { csiError, type Handlers } from '@csi-sidecars/csi/testing';
import { type KubeObject, leaseRules, leases, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it, vi } from 'vitest';
import { aClaim, aVolume, degraded, driverName, storedDegraded } from '../testing/builders.ts';
import { runHealthMonitor } from './program.ts';
import { clusterRules } from './rbac.ts';
import { healthOf } from './report/health-status.ts';

const capabilities = (...types: readonly (string | number)[]): Handlers => ({
  '/csi.v1.Controller/ControllerGetCapabilities': () =>
    ({ capabilities: types.map((type) => ({ rpc: { type } })) }) as never,
});
const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }] }),
  ...capabilities('GET_VOLUME_HEALTH', 'LIST_VOLUME_HEALTH'),
  '/csi.v1.Controller/ControllerListVolumeHealth': () => ({
    entries: [{ volume_id: 'volume-1', health_statuses: degraded }],
  }),
  '/csi.v1.Controller/ControllerGetVolumeHealth': ({ volume_id }) => ({ volume_health: { volume_id } }),
};
const seed = [aVolume(), aClaim()];
const started = ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities'];

function run(
  handlers: Handlers = {},
  args: readonly string[] = [],
  objects: readonly KubeObject[] = [],
): Promise<DrivenProgram> {
  return runOverDriver(runHealthMonitor, { handlers: { ...healthy, ...handlers }, args, seed: objects });
}

const shownBy = ({ host }: DrivenProgram) =>
  healthOf(host.server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' }))?.healthConditions;

/** The exit code of a command line alone, and what is on stderr. */
async function ended(...args: readonly string[]) {
  const host = fakeHost({ args });
  return { code: await runHealthMonitor({ host, lifecycle: host.lifecycle }), stderr: host.logged() };
}

describe('the start', () => {
  it('given a driver that lists, then the claim shows what it lists, with no right beyond those of the role', async () => {
    await using monitor = await runOverDriver(runHealthMonitor, { handlers: healthy, seed, rules: clusterRules });
    await expect.poll(() => shownBy(monitor)).toEqual(storedDegraded);
    expect(monitor.host.server.requests.filter(({ code }) => code >= 400)).toEqual([]);
  });

  it.each<[string, Handlers, string]>([
    [
      '[health-monitor#3] given a driver that lists without answering about single volumes',
      capabilities('LIST_VOLUME_HEALTH'),
      'it has LIST_VOLUME_HEALTH without GET_VOLUME_HEALTH',
    ],
    ['[health-monitor#4] given a driver without health', capabilities('LIST_VOLUMES'), 'it lacks GET_VOLUME_HEALTH'],
    [
      '[health-monitor#5] given a driver that has the removed VOLUME_CONDITION only',
      capabilities(11),
      'it lacks GET_VOLUME_HEALTH',
    ],
  ])('%s, then the exit code is 1 before any object is read', async (_, handlers, reason) => {
    await using monitor = await run(handlers, [], seed);
    expect([await monitor.code, monitor.calls()]).toEqual([1, started]);
    expect(monitor.host.server.requests.filter(({ resource }) => resource.startsWith('persistent'))).toEqual([]);
    expect(monitor.host.logged()).toContain(`The CSI driver cannot be monitored: ${reason}`);
  });

  it('[health-monitor#6] given a driver without a controller service, then the exit code is 1, and its controller is not asked', async () => {
    await using monitor = await run({ '/csi.v1.Identity/GetPluginCapabilities': () => ({ capabilities: [] }) });
    expect([await monitor.code, monitor.calls()]).toEqual([1, started.slice(0, 3)]);
    expect(monitor.host.logged()).toContain('CSI driver does not support Plugin Controller Service, exiting');
  });

  it('[health-monitor#7] given a driver that takes 5 s for each call of the start, then it starts', async () => {
    const clock: { sleep?: (ms: number) => Promise<void> } = {};
    const slow =
      <T>(answer: T) =>
      async () => {
        await clock.sleep?.(5_000);
        return answer;
      };
    const typed = { capabilities: [{ rpc: { type: 'GET_VOLUME_HEALTH' } }] } as never;
    await using monitor = await run(
      {
        '/csi.v1.Identity/GetPluginInfo': slow({ name: driverName }),
        '/csi.v1.Identity/GetPluginCapabilities': slow({
          capabilities: [{ service: { type: 'CONTROLLER_SERVICE' as const } }],
        }),
        '/csi.v1.Controller/ControllerGetCapabilities': slow(typed),
      },
      [],
      seed,
    );
    clock.sleep = (ms) => monitor.host.clock.sleep(ms);
    await vi.waitFor(async () => {
      await monitor.host.clock.advance(1_000);
      expect(monitor.calls()).toContain('ControllerGetVolumeHealth');
    }, 10_000);
  });

  it('[health-monitor#8] given --worker-threads=0, then the exit code is 1', async () => {
    const { code, stderr } = await ended('--worker-threads=0');
    expect([code, stderr]).toEqual([1, expect.stringContaining('--worker-threads must be greater than zero')]);
  });

  it.each(['--timeout=0', '--max-entries=-1'])('given %s, then the exit code is 1', async (arg) => {
    const { code, stderr } = await ended(arg);
    expect([code, stderr]).toEqual([1, expect.stringContaining(arg.split('=')[0] ?? '')]);
  });

  it.each(['--enable-node-watcher=true', '--node-list-add-interval=5m'])(
    '[health-monitor#9] given %s, then the exit code is 2, and the last line says that the flag can go',
    async (arg) => {
      const { code, stderr } = await ended(arg);
      expect(code).toBe(2);
      expect(stderr.trimEnd().split('\n').at(-1)).toBe(
        `flag provided but not defined: -${arg.slice(2).split('=')[0]}. Nodes are not watched any more: remove the flag`,
      );
    },
  );
});

describe('the election', () => {
  const args = ['--leader-election', '--leader-election-namespace=ns'];
  const leaseRef = { namespace: 'ns', name: 'external-health-monitor-leader-test-csi-example-com' };
  const otherLeader: KubeObject = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: leaseRef,
    spec: { holderIdentity: 'pod-2', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
  } as KubeObject;

  it('[health-monitor#10] given another leader, then the driver is not asked, nothing is written, and no series is shown', async () => {
    await using standby = await run({}, [...args, '--http-endpoint=:8080'], [...seed, otherLeader]);
    await expect.poll(() => standby.host.server.openWatches()).toBe(1);
    await standby.host.clock.advance(5_000);
    expect(standby.calls()).toEqual(started);
    expect(standby.host.server.writes().filter(({ resource }) => resource.startsWith('persistent'))).toEqual([]);
  });

  it('[health-monitor#73] given SIGTERM, then the lease is released, and the exit code is 0', async () => {
    const rules = [...clusterRules, ...leaseRules];
    await using monitor = await runOverDriver(runHealthMonitor, { handlers: healthy, args, seed, rules });
    await expect.poll(() => shownBy(monitor)).toEqual(storedDegraded);
    monitor.host.stop();
    expect(await monitor.code).toBe(0);
    expect(monitor.host.server.objects.get(leases, leaseRef)?.spec?.holderIdentity).toBe('');
  });

  it('[health-monitor#74] given a lease that is lost while the driver lists, then nothing is written after it', async () => {
    const answer = Promise.withResolvers<object>();
    await using monitor = await run(
      { '/csi.v1.Controller/ControllerListVolumeHealth': () => answer.promise },
      args,
      seed,
    );
    await expect.poll(() => monitor.calls()).toContain('ControllerListVolumeHealth');
    monitor.host.server.objects.change(leases, leaseRef, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'pod-2', renewTime: '2026-01-01T00:00:10.000000Z' },
    }));
    await monitor.host.clock.advance(20_000);
    answer.resolve({ entries: [{ volume_id: 'volume-1', health_statuses: degraded }] });
    expect(await monitor.code).toBe(1);
    await settle();
    expect(monitor.host.server.writes().filter(({ resource }) => resource.startsWith('persistent'))).toEqual([]);
  });
});

it('[health-monitor#75] given the driver ends, then the program ends with exit code 1, so that the next one reads the capabilities again', async () => {
  await using monitor = await run({}, [], seed);
  await expect.poll(() => shownBy(monitor)).toEqual(storedDegraded);
  monitor.driver.stop();
  expect(await monitor.code).toBe(1);
  expect(monitor.host.terminationLog()).toEqual(['Lost connection to CSI driver, exiting']);
});

it('given a driver whose health calls fail, then the program goes on', async () => {
  await using monitor = await run(
    { '/csi.v1.Controller/ControllerListVolumeHealth': () => csiError('Unimplemented', 'no') },
    [],
    seed,
  );
  await expect.poll(() => monitor.host.logged()).toContain('Check controller volume health error');
  expect(monitor.calls().filter((call) => call === 'ControllerListVolumeHealth')).toHaveLength(1);
});
