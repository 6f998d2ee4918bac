// SPDX-License-Identifier: Apache-2.0
/** The whole program over a real driver socket, with an API server in memory and virtual time. */
import { csiError, type Handlers } from '@csi-sidecars/csi/testing';
import { ApiError, events, type KubeObject, type Lease, leases } from '@csi-sidecars/runtime';
import { freePort, settle } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps } from '@csi-sidecars/sidecar';
import { type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it, vi } from 'vitest';
import { aClaim, aClass, aPod, aVolume, driverName } from '../testing/builders.ts';
import { runResizer } from './program.ts';

const capabilities = (...types: readonly string[]) =>
  ({ capabilities: types.map((type) => ({ rpc: { type } })) }) as never;
const pluginCapabilities = (...types: readonly string[]) =>
  ({ capabilities: types.map((type) => ({ service: { type } })) }) as never;
const never = (): Promise<never> => new Promise(() => undefined);
const healthy: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => pluginCapabilities('CONTROLLER_SERVICE'),
  '/csi.v1.Controller/ControllerGetCapabilities': () => capabilities('EXPAND_VOLUME', 'MODIFY_VOLUME'),
  '/csi.v1.Node/NodeGetCapabilities': () => capabilities(),
  '/csi.v1.Controller/ControllerExpandVolume': () => ({ capacity_bytes: '2147483648', node_expansion_required: false }),
  '/csi.v1.Controller/ControllerModifyVolume': () => ({}),
};

interface Options {
  readonly handlers?: Handlers;
  readonly args?: readonly string[];
  readonly seed?: readonly KubeObject[];
  readonly program?: (deps: ProgramDeps) => Promise<number>;
}
const run = ({ handlers = {}, args = [], seed = [], program = runResizer }: Options = {}): Promise<DrivenProgram> =>
  runOverDriver(program, { handlers: { ...healthy, ...handlers }, args, seed });

const controllerCan = (...types: readonly string[]): Handlers => ({
  '/csi.v1.Controller/ControllerGetCapabilities': () => capabilities(...types),
});
const nodeCan = (...types: readonly string[]): Handlers => ({
  '/csi.v1.Node/NodeGetCapabilities': () => capabilities(...types),
});
const started = [
  'Probe',
  'GetPluginInfo',
  'GetPluginCapabilities',
  'ControllerGetCapabilities',
  'ControllerGetCapabilities',
];
const startedWithNode = started.toSpliced(4, 0, 'NodeGetCapabilities');
const claim = aClaim({ wantedClass: 'gold' });
const cluster = [claim, aVolume(), aClass()];
const watched = (it: DrivenProgram): readonly string[] =>
  it.host.server.requests
    .filter(({ verb }) => verb === 'watch')
    .map(({ resource }) => resource)
    .toSorted();
const all = ['persistentvolumeclaims', 'persistentvolumes', 'pods', 'volumeattributesclasses'];
const [expansion, modification] = [all.slice(0, 3), all.toSpliced(2, 1)];

describe('the start', () => {
  it.each([
    { id: '[resizer#190]', given: 'both', handlers: {}, watches: all, calls: started },
    {
      id: '[resizer#190, 191]',
      given: 'expansion',
      handlers: controllerCan('EXPAND_VOLUME'),
      watches: expansion,
      calls: started,
    },
    {
      id: '[resizer#190]',
      given: 'expansion by the node, and modification',
      handlers: { ...controllerCan('MODIFY_VOLUME'), ...nodeCan('EXPAND_VOLUME') },
      watches: all,
      calls: startedWithNode,
    },
    {
      id: '[resizer#190]',
      given: 'expansion by the node',
      handlers: { ...controllerCan(), ...nodeCan('EXPAND_VOLUME') },
      watches: expansion,
      calls: startedWithNode,
    },
    {
      id: '[resizer#190]',
      given: 'modification',
      handlers: controllerCan('MODIFY_VOLUME'),
      watches: modification,
      calls: startedWithNode,
    },
    {
      id: '[resizer#190]',
      given: 'modification, and no node service, P16',
      handlers: {
        ...controllerCan('MODIFY_VOLUME'),
        '/csi.v1.Node/NodeGetCapabilities': () => csiError('Unimplemented', 'no'),
      } as Handlers,
      watches: modification,
      calls: startedWithNode,
    },
  ])('$id given a driver that can do $given, then it watches what it needs', async ({ handlers, watches, calls }) => {
    await using resizer = await run({ handlers });
    await expect.poll(() => watched(resizer)).toEqual(watches);
    expect(resizer.calls()).toEqual(calls);
  });

  it.each<{ readonly given: string; readonly handlers: Handlers; readonly code: number; readonly line: string }>([
    {
      given: 'no controller',
      handlers: { '/csi.v1.Identity/GetPluginCapabilities': () => pluginCapabilities() },
      code: 1,
      line: 'CSI driver does not support controller service',
    },
    {
      given: 'nothing to do',
      handlers: controllerCan(),
      code: 255,
      line: 'CSI driver does not support resize nor modify',
    },
    {
      given: 'no answer about the plugin',
      handlers: { '/csi.v1.Identity/GetPluginCapabilities': () => csiError('Internal', 'no') },
      code: 1,
      line: 'Failed to get the capabilities of the CSI driver',
    },
    {
      given: 'no answer about the controller',
      handlers: { '/csi.v1.Controller/ControllerGetCapabilities': () => csiError('Internal', 'no') },
      code: 1,
      line: 'Failed to get the capabilities of the CSI controller',
    },
    {
      given: 'no answer about the node',
      handlers: {
        ...controllerCan('MODIFY_VOLUME'),
        '/csi.v1.Node/NodeGetCapabilities': () => csiError('Internal', 'no'),
      },
      code: 1,
      line: 'Failed to get the capabilities of the CSI node',
    },
  ])('[resizer#190] given $given, then one line and $code', async ({ handlers, code, line }) => {
    await using resizer = await run({ handlers });
    expect([await resizer.code, resizer.host.server.requests.filter(({ verb }) => verb === 'watch')]).toEqual([
      code,
      [],
    ]);
    expect(resizer.host.logged()).toContain(line);
  });

  it('[resizer#194] given a driver that is not ready, then it is asked every second, and there is no endpoint', async () => {
    const port = await freePort();
    await using resizer = await run({
      args: [`--http-endpoint=127.0.0.1:${port}`],
      handlers: { '/csi.v1.Identity/Probe': () => ({ ready: { value: false } }) },
    });
    for (const asked of [1, 2, 3]) {
      await expect.poll(() => resizer.calls().length).toBe(asked);
      await settle();
      await resizer.host.clock.advance(1_000);
    }
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
    expect(new Set(resizer.calls())).toEqual(new Set(['Probe']));
  });

  it.each([
    { id: '[resizer#195]', args: ['--http-endpoint=:1', '--metrics-address=:2'], line: 'metrics-address' },
    { id: '[resizer#209]', args: ['--feature-gates=NoSuchGate=true'], line: 'unrecognized feature gate: NoSuchGate' },
    { id: '[resizer#207]', args: ['--resize-timeout=0'], line: '--resize-timeout' },
    { id: '[common#84]', args: ['--events=none'], line: '--events must be all or outcome, not \\"none\\"' },
  ])('$id given $args, then one clear line and 1', async ({ args, line }) => {
    const host = fakeHost({ args });
    expect(await runResizer({ host, lifecycle: host.lifecycle })).toBe(1);
    expect(host.logged()).toContain(line);
  });

  it.each(['true', 'false'])(
    '[resizer#209] given RecoverVolumeExpansionFailure=%s, then a warning, and it works',
    async (value) => {
      await using resizer = await run({
        args: [`--feature-gates=RecoverVolumeExpansionFailure=${value}`],
        seed: cluster,
      });
      await expect.poll(() => resizer.calls()).toContain('ControllerExpandVolume');
      expect(resizer.host.logged()).toMatch(/Warning: setting GA feature gate.*RecoverVolumeExpansionFailure/);
      const marks = resizer.host.server
        .writes()
        .filter(({ body }) => JSON.stringify(body).includes('allocatedResources'));
      expect(marks.length > 0).toBe(value === 'true');
    },
  );
});

describe('the API of VolumeAttributesClasses', () => {
  const answering = (answer: () => unknown) => (deps: ProgramDeps) => {
    const { host } = deps;
    const connectApi: typeof host.connectApi = async (options) => {
      const api = await host.connectApi(options);
      return { ...api, client: { ...api.client, raw: async () => answer() } };
    };
    return runResizer({ ...deps, host: { ...host, connectApi } });
  };
  const fails = (status: number) => () => {
    throw new ApiError({ status, message: 'no', reason: 'x' });
  };
  it.each([
    { given: 'a list with it', answer: () => ({ resources: [{ kind: 'VolumeAttributesClass' }] }), watches: all },
    { given: 'a list without it', answer: () => ({ resources: [{ kind: 'StorageClass' }] }), watches: expansion },
    { given: 'an empty list', answer: () => ({}), watches: expansion },
    { given: '404', answer: fails(404), watches: expansion },
    { given: '500', answer: fails(500), watches: all },
  ])('[resizer#192] given discovery answers with $given, then it watches $watches', async ({ answer, watches }) => {
    await using resizer = await run({ program: answering(answer) });
    await expect.poll(() => watched(resizer)).toEqual(watches);
  });

  it.each([
    { value: 'false', watches: expansion },
    { value: 'true', watches: all },
  ])('[resizer#193] given the gate is set to $value, then discovery is not asked', async ({ value, watches }) => {
    let asked = 0;
    const program = answering(() => (asked += 1));
    await using resizer = await run({ args: [`--feature-gates=VolumeAttributesClass=${value}`], program });
    await expect.poll(() => watched(resizer)).toEqual(watches);
    expect(asked).toBe(0);
  });
});

describe('timeouts', () => {
  const method = {
    resize: '/csi.v1.Controller/ControllerExpandVolume',
    modify: '/csi.v1.Controller/ControllerModifyVolume',
  };
  const slow = { [method.resize]: never, [method.modify]: never } as unknown as Handlers;
  const only = {
    resize: [aClaim(), aVolume()],
    modify: [aClaim({ spec: '1Gi', wantedClass: 'gold' }), aVolume(), aClass()],
  };

  it.each([
    { id: '[resizer#202, 208]', args: [], kind: 'resize' as const, seconds: 10 },
    { id: '[resizer#203]', args: ['--resize-timeout=300s'], kind: 'resize' as const, seconds: 300 },
    { id: '[resizer#203]', args: ['--modify-timeout=30m'], kind: 'modify' as const, seconds: 1_800 },
    { id: '[resizer#204]', args: ['--timeout=120s', '--modify-timeout=30m'], kind: 'modify' as const, seconds: 120 },
    { id: '[resizer#206]', args: ['--resize-timeout=300s'], kind: 'modify' as const, seconds: 10 },
  ])('$id given $args, then a call to $kind ends after $seconds s', async ({ args, kind, seconds }) => {
    await using resizer = await run({ args, handlers: slow, seed: only[kind] });
    const { clock } = resizer.host;
    await expect.poll(() => resizer.calls()).toContain(method[kind].split('/').at(-1));
    await clock.advance(seconds * 1_000 - 1);
    await settle();
    expect(resizer.host.logged()).not.toContain('DeadlineExceeded');
    await clock.advance(1);
    await expect.poll(() => resizer.host.logged()).toContain('DeadlineExceeded');
  });

  it.each([
    { flag: '--resize-timeout=1ms', skip: 0 },
    { flag: '--modify-timeout=1ms', skip: 1 },
  ])('[resizer#207] given $flag and a slower driver, then 1', async ({ flag, skip }) => {
    let asked = 0;
    const handlers: Handlers = {
      '/csi.v1.Controller/ControllerGetCapabilities': () => (asked++ < skip ? capabilities('EXPAND_VOLUME') : never()),
    };
    await using resizer = await run({ args: [flag], handlers });
    await expect.poll(() => asked).toBe(skip + 1);
    await resizer.host.clock.advance(1);
    expect(await resizer.code).toBe(1);
    expect(resizer.host.logged()).toContain('Failed to get the capabilities of the CSI controller');
  });

  it('[resizer#203] given --resize-timeout, then GetPluginInfo keeps 10 s', async () => {
    await using resizer = await run({
      args: ['--resize-timeout=300s'],
      handlers: { '/csi.v1.Identity/GetPluginInfo': never },
    });
    await expect.poll(() => resizer.calls()).toContain('GetPluginInfo');
    await resizer.host.clock.advance(10_000);
    expect(await resizer.code).toBe(1);
  });
});

it('[resizer#213] given a scrape, then the requests to the API server are there, with its host, and both queues, P22', async () => {
  const port = await freePort();
  await using resizer = await run({ args: [`--http-endpoint=127.0.0.1:${port}`], seed: [...cluster, aPod()] });
  await expect.poll(() => resizer.calls()).toContain('ControllerModifyVolume');
  await settle();
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(text).toMatch(/^rest_client_requests_total\{.*host="api\.test:443".*\} [1-9]/m);
  expect(text).toMatch(/^rest_client_rate_limiter_duration_seconds_count\{/m);
  const queues = [...text.matchAll(/^workqueue_adds_total\{name="(.*?)"\}/gm)].map((match) => match[1] ?? '');
  expect(queues.toSorted()).toEqual([`${driverName}-pvc`, `${driverName}-pvc-modify`]);
});

it('given a scrape after an expansion, then each metric is described once, P34', async () => {
  const port = await freePort();
  await using resizer = await run({ args: [`--http-endpoint=127.0.0.1:${port}`], seed: cluster });
  await expect.poll(() => resizer.calls()).toContain('ControllerExpandVolume');
  await settle();
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const described = [...text.matchAll(/^# HELP (\S+)/gm)].map((match) => match[1] ?? '');
  expect(described).toContain('process_start_time_seconds');
  expect(described.toSorted()).toEqual([...new Set(described)].toSorted());
});

it('given two expansions, then the driver is asked for its capabilities at the start only, P23', async () => {
  const other = aClaim({ name: 'other', volumeName: 'pv2' });
  await using resizer = await run({ seed: [aClaim(), aVolume(), other, aVolume({ name: 'pv2', claim: other })] });
  const times = (method: string): number => resizer.calls().filter((call) => call === method).length;
  await expect.poll(() => times('ControllerExpandVolume')).toBe(2);
  await settle();
  expect(times('ControllerGetCapabilities')).toBe(started.filter((it) => it === 'ControllerGetCapabilities').length);
});

it('P40: given the driver ends, then so does the program', async () => {
  await using resizer = await run();
  await expect.poll(() => resizer.host.server.openWatches()).toBe(4);
  resizer.driver.stop();
  expect(await resizer.code).toBe(1);
  expect(resizer.host.terminationLog()).toEqual(['Lost connection to CSI driver, exiting']);
});

describe('the election', () => {
  const args = ['--leader-election', '--leader-election-namespace=ns'];
  const metadata = { namespace: 'ns', name: 'external-resizer-my-driver-x-io' };
  const handlers: Handlers = { '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'my.driver_x.io' }) };
  const time = '2026-01-01T00:00:00.000000Z';
  const spec = { holderIdentity: 'pod-2', leaseDurationSeconds: 15, acquireTime: time, renewTime: time };
  const otherLeader: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };

  it('[resizer#196] given leader election, then the lease has the name of upstream', async () => {
    await using resizer = await run({ args, handlers });
    await expect.poll(() => resizer.host.server.objects.get(leases, metadata)?.spec?.holderIdentity).toBe('pod-1');
  });

  it('P14: given a standby, then it asks for its lease only, and a signal ends it at once', async () => {
    await using standby = await run({ args, handlers, seed: [otherLeader] });
    await expect.poll(() => standby.host.server.openWatches()).toBe(1);
    expect(watched(standby)).toEqual(['leases']);
    standby.host.stop();
    await standby.code;
    expect(standby.calls()).toEqual(started);
  });

  it('given a signal during a call, then it is finished and saved, its events are sent, and the lease is released last', async () => {
    const answer = Promise.withResolvers<object>();
    const resize: Handlers = { '/csi.v1.Controller/ControllerExpandVolume': () => answer.promise };
    await using resizer = await run({ args, handlers: resize, seed: [aClaim(), aVolume()] });
    await expect.poll(() => resizer.calls()).toContain('ControllerExpandVolume');
    const { server } = resizer.host;
    resizer.host.stop();
    await settle();
    server.clearRequests();
    answer.resolve({ capacity_bytes: '2147483648' });
    let ended = false;
    void resizer.code.then(() => (ended = true));
    // Events are written a moment after they happened.
    await vi.waitFor(
      async () => {
        await resizer.host.clock.advance(100);
        expect(ended).toBe(true);
      },
      { timeout: 20_000 },
    );
    const writes = server
      .writes()
      .map(({ resource, subresource }) => [resource, subresource].filter(Boolean).join('/'));
    expect(writes.filter((it) => it !== 'events')).toEqual([
      'persistentvolumes',
      'persistentvolumeclaims/status',
      'leases',
    ]);
    expect([writes.includes('events'), writes.at(-1)]).toEqual([true, 'leases']);
    const resized = server.objects.list(events).filter(({ reason }) => reason?.startsWith('Volume'));
    expect(resized.map(({ source }) => source)).toEqual([{ component: `external-resizer ${driverName}` }]);
  });
});

describe('--events', () => {
  const starts = ['Resizing', 'VolumeModify'];
  const ends = ['VolumeModifySuccessful', 'VolumeResizeSuccessful'];

  it.each([
    { args: [], reasons: [...starts, ...ends] },
    { args: ['--events=outcome'], reasons: ends },
  ])('[common#83] given the flags $args, then these events are written: $reasons', async ({ args, reasons }) => {
    await using resizer = await run({ args, seed: cluster });
    const written = async (): Promise<readonly string[]> => {
      await resizer.host.clock.advance(1_000);
      return resizer.host.server.objects.list(events).map(({ reason = '' }) => reason);
    };
    await expect.poll(async () => (await written()).toSorted(), { timeout: 10_000 }).toEqual(reasons.toSorted());
  });
});
