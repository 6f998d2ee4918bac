// SPDX-License-Identifier: Apache-2.0
/** The whole program over a real driver socket, with an API server in memory and virtual time. */
import { csiError, type Handlers } from '@csi-sidecars/csi/testing';
import { ApiError, type KubeObject, leases } from '@csi-sidecars/runtime';
import { type AccessRule, freePort, type ResourceType, settle } from '@csi-sidecars/runtime/testing';
import { type DrivenProgram, fakeHost, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { volumeSnapshotContents } from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { describe, expect, it, vi } from 'vitest';
import { aClass, aContent, aGroupClass, aGroupContent, driverName } from '../testing/builders.ts';
import { runSnapshotter } from './program.ts';
import { clusterRules } from './rbac.ts';

const capabilities = (...types: readonly (string | undefined)[]) =>
  ({ capabilities: types.map((type) => (type === undefined ? {} : { rpc: { type } })) }) as never;
const never = (): Promise<never> => new Promise(() => undefined);
const name = '/csi.v1.Identity/GetPluginInfo';
const probe = '/csi.v1.Identity/Probe';
const controller = '/csi.v1.Controller/ControllerGetCapabilities';
const groupController = '/csi.v1.GroupController/GroupControllerGetCapabilities';
const createSnapshot = '/csi.v1.Controller/CreateSnapshot';
const healthy: Handlers = {
  [probe]: () => ({ ready: { value: true } }),
  [name]: () => ({ name: driverName }),
  [controller]: () => capabilities('CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'),
  [groupController]: () => capabilities('CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'),
  [createSnapshot]: () => ({ snapshot: { snapshot_id: 's', ready_to_use: true } }),
  '/csi.v1.GroupController/CreateVolumeGroupSnapshot': () => csiError('Unimplemented', 'no groups'),
};
const all = [...snapshotTypes, ...groupSnapshotTypes];

interface Options {
  readonly handlers?: Handlers;
  readonly args?: readonly string[];
  readonly seed?: readonly KubeObject[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the cluster serves. Default: both kinds of snapshots. */
  readonly types?: readonly ResourceType[];
  /** Default: every right. */
  readonly rules?: readonly AccessRule[];
}
const run = ({
  handlers = {},
  args = [],
  seed = [],
  env = {},
  types = all,
  rules,
}: Options = {}): Promise<DrivenProgram> =>
  runOverDriver(runSnapshotter, {
    handlers: { ...healthy, ...handlers },
    args,
    seed,
    env,
    types,
    ...(rules && { rules }),
  });

const started = ['GetPluginInfo', 'Probe', 'ControllerGetCapabilities', 'GroupControllerGetCapabilities'];
const requested = (it: DrivenProgram, wanted: string): readonly string[] =>
  it.host.server.requests
    .filter(({ verb }) => verb === wanted)
    .map(({ resource }) => resource)
    .toSorted();
const single = ['volumesnapshotclasses', 'volumesnapshotcontents'];
const both = ['volumegroupsnapshotclasses', 'volumegroupsnapshotcontents', ...single];
const ready = (it: DrivenProgram): boolean | undefined =>
  it.host.server.objects.get(volumeSnapshotContents, { name: 'content' })?.status?.readyToUse;

describe('the start', () => {
  it('given a driver with everything, then its name is asked for before it is probed, and both kinds are watched', async () => {
    await using snapshotter = await run();
    await expect.poll(() => requested(snapshotter, 'watch')).toEqual(both);
    expect(snapshotter.calls()).toEqual(started);
  });

  it('given the alpha gate VolumeSnapshotTopology, then the plugin capabilities are asked for, and a class without topologies works as before', async () => {
    await using snapshotter = await run({
      args: ['--feature-gates=VolumeSnapshotTopology=true'],
      handlers: { '/csi.v1.Identity/GetPluginCapabilities': () => ({}) },
      seed: [aClass(), aContent()],
    });
    await expect.poll(() => ready(snapshotter)).toBe(true);
    expect(snapshotter.calls().slice(0, 4)).toEqual([...started.slice(0, 3), 'GetPluginCapabilities']);
  });

  const older = groupSnapshotTypes.map((type) => ({ ...type, version: 'v1beta2' }));

  it.each([
    { id: '[csi-snapshotter#109]', given: 'without the kinds of groups', types: snapshotTypes },
    {
      id: '[csi-snapshotter#112]',
      given: 'with older kinds of groups only',
      types: [...snapshotTypes, ...older],
    },
  ])('$id given a cluster $given, then a warning, and single snapshots work', async ({ types }) => {
    await using snapshotter = await run({ types, seed: [aClass(), aContent()] });
    await expect.poll(() => ready(snapshotter)).toBe(true);
    expect(requested(snapshotter, 'watch')).toEqual(single);
    expect(snapshotter.calls()).not.toContain('GroupControllerGetCapabilities');
    expect(snapshotter.host.logged()).toContain('volume group snapshots are disabled');
  });

  it.each([
    { given: 'no capability', handler: () => capabilities(), line: 'does not support volume group snapshots' },
    { given: 'no such service', handler: () => csiError('Unimplemented', 'no'), line: 'group controller' },
  ])(
    '[csi-snapshotter#110] given $given, then a line in the log, and groups show what the driver answers',
    async ({ handler, line }) => {
      await using snapshotter = await run({
        handlers: { [groupController]: handler },
        seed: [aGroupClass(), aGroupContent()],
      });
      await expect.poll(() => snapshotter.calls()).toContain('CreateVolumeGroupSnapshot');
      expect(snapshotter.host.logged()).toContain(line);
    },
  );

  it('[csi-snapshotter#111] given the gate is off, then nothing about groups is asked, listed or watched', async () => {
    await using snapshotter = await run({ args: ['--feature-gates=CSIVolumeGroupSnapshot=false'] });
    await expect.poll(() => requested(snapshotter, 'watch')).toEqual(single);
    expect(snapshotter.calls()).toEqual(started.slice(0, 3));
    expect(snapshotter.host.server.requests.filter(({ resource }) => resource.includes('group'))).toEqual([]);
  });

  it('[csi-snapshotter#124] given a driver that is not ready, then it is probed every second, beyond a call that times out', async () => {
    const answers = [() => ({ ready: { value: false } }), never, () => ({ ready: { value: false } })];
    await using snapshotter = await run({
      args: ['--timeout=3s'],
      handlers: { [probe]: () => (answers.shift() ?? (() => ({})))() },
    });
    await expect.poll(() => snapshotter.calls()).toContain('Probe');
    await vi.waitFor(
      async () => {
        await settle();
        await snapshotter.host.clock.advance(1_000);
        expect(snapshotter.calls()).toContain('GroupControllerGetCapabilities');
      },
      { timeout: 20_000 },
    );
    expect(snapshotter.calls().filter((it) => it === 'Probe')).toHaveLength(4);
  });

  it('[csi-snapshotter#125] given capabilities without a type and unknown ones, then they are skipped', async () => {
    await using snapshotter = await run({
      handlers: { [controller]: () => capabilities(undefined, 'CREATE_DELETE_SNAPSHOT', 'GET_SNAPSHOT') },
      seed: [aClass(), aContent()],
    });
    await expect.poll(() => ready(snapshotter)).toBe(true);
  });

  it.each<{ readonly given: string; readonly handlers: Handlers; readonly line: string }>([
    { given: 'no name', handlers: { [name]: () => ({ name: '' }) }, line: 'driver name is empty' },
    { given: 'no answer about the name', handlers: { [name]: () => csiError('Internal', 'no') }, line: 'driver name' },
    { given: 'a failing probe', handlers: { [probe]: () => csiError('Internal', 'no') }, line: 'probe' },
    {
      given: 'no answer about the controller',
      handlers: { [controller]: () => csiError('Internal', 'no') },
      line: 'capabilities of the CSI controller',
    },
    {
      given: 'no snapshots',
      handlers: { [controller]: () => capabilities() },
      line: 'does not support ControllerCreateSnapshot',
    },
  ])('given a driver with $given, then one line and 1', async ({ handlers, line }) => {
    await using snapshotter = await run({ handlers });
    expect(await snapshotter.code).toBe(1);
    expect(snapshotter.host.logged()).toContain(line);
    expect(requested(snapshotter, 'watch')).toEqual([]);
  });

  it.each([
    {
      id: '[csi-snapshotter#126]',
      args: ['--node-deployment', '--leader-election'],
      code: 1,
      line: 'exclude each other',
    },
    { id: '', args: ['--http-endpoint=:1', '--metrics-address=:2'], code: 1, line: 'metrics-address' },
    { id: '', args: ['--feature-gates=NoSuchGate=true'], code: 255, line: 'NoSuchGate' },
    { id: '', args: ['--snapshot-name-prefix='], code: 1, line: '--snapshot-name-prefix' },
  ])('$id given $args, then one clear line and $code', async ({ args, code, line }) => {
    const host = fakeHost({ args });
    expect(await runSnapshotter({ host, lifecycle: host.lifecycle })).toBe(code);
    expect(host.logged()).toContain(line);
  });

  it('given a wrong flag of groups, then it ends with 1, and with the gate off it does not matter', async () => {
    const args = ['--groupsnapshot-name-prefix='];
    await using refused = await run({ args });
    expect(await refused.code).toBe(1);
    expect(refused.host.logged()).toContain('--groupsnapshot-name-prefix cannot be empty');
    await using off = await run({ args: [...args, '--feature-gates=CSIVolumeGroupSnapshot=false'] });
    await expect.poll(() => requested(off, 'watch')).toEqual(single);
  });

  it('[csi-snapshotter#126] given --node-deployment without NODE_NAME, then 255; with it, the contents are selected by it', async () => {
    await using without = await run({ args: ['--node-deployment'] });
    expect([await without.code, without.calls()]).toEqual([255, []]);
    await using snapshotter = await run({ args: ['--node-deployment'], env: { NODE_NAME: 'node-1' } });
    await expect.poll(() => requested(snapshotter, 'watch')).toEqual(both);
    const watches = snapshotter.host.server.requests.filter(({ verb }) => verb === 'watch');
    const selected = watches.filter(({ path }) => decodeURIComponent(path).includes('managed-by=node-1'));
    expect(selected.map(({ resource }) => resource).toSorted()).toEqual([
      'volumegroupsnapshotcontents',
      'volumesnapshotcontents',
    ]);
  });

  it('[csi-snapshotter#128] given a port in use, then 255', async () => {
    const port = await freePort();
    await using first = await run({ args: [`--http-endpoint=127.0.0.1:${port}`] });
    await expect.poll(() => requested(first, 'watch')).toEqual(both);
    await using second = await run({ args: [`--http-endpoint=127.0.0.1:${port}`] });
    expect(await second.code).toBe(255);
  });

  it('[csi-snapshotter#129] given no socket, then 1 after 30 s', async () => {
    const host = fakeHost({ args: ['--csi-address=/nonexistent/csi.sock'] });
    let code: number | undefined;
    void runSnapshotter({ host, lifecycle: host.lifecycle }).then((it) => (code = it));
    for (let second = 0; second < 29; second++) {
      await new Promise((resolve) => setImmediate(resolve));
      await settle();
      await host.clock.advance(1_000);
    }
    expect(code).toBeUndefined();
    await vi.waitFor(
      async () => {
        await settle();
        await host.clock.advance(1_000);
        expect(code).toBe(1);
      },
      { timeout: 20_000 },
    );
  });
});

it('[csi-snapshotter#130] given the driver ends while the program is idle, then so does the program [P18]', async () => {
  await using snapshotter = await run();
  await expect.poll(() => requested(snapshotter, 'watch')).toEqual(both);
  snapshotter.driver.stop();
  expect(await snapshotter.code).toBe(1);
  expect(snapshotter.host.terminationLog()).toEqual(['Lost connection to CSI driver, exiting']);
});

/** The lists that look for the kinds fail so. */
const runWithLists = (failure: Error): Promise<DrivenProgram> =>
  runOverDriver(
    (deps) => {
      const { host } = deps;
      const connectApi: typeof host.connectApi = async (options) => {
        const api = await host.connectApi(options);
        const list: typeof api.client.list = () => Promise.reject(failure);
        return { ...api, client: { ...api.client, list } };
      };
      return runSnapshotter({ ...deps, host: { ...host, connectApi } });
    },
    { handlers: healthy, types: all, seed: [aClass(), aContent()] },
  );

it('[P13] given a failure that says nothing about the kinds, then groups stay on, and single snapshots work meanwhile', async () => {
  await using snapshotter = await runWithLists(new Error('timeout'));
  await expect.poll(() => requested(snapshotter, 'watch')).toEqual(both);
  await expect.poll(() => ready(snapshotter)).toBe(true);
});

it('[P13] given no permission to list the kinds, then groups are off with a warning, and single snapshots work', async () => {
  await using snapshotter = await runWithLists(new ApiError({ status: 403, reason: 'Forbidden', message: 'no' }));
  await expect.poll(() => ready(snapshotter)).toBe(true);
  expect(requested(snapshotter, 'watch')).toEqual(single);
  expect(snapshotter.host.logged()).toContain('volume group snapshots are disabled');
});

it('given a scrape, then both queues and the calls to the driver are there', async () => {
  const port = await freePort();
  await using snapshotter = await run({
    args: [`--http-endpoint=127.0.0.1:${port}`],
    seed: [aClass(), aContent()],
  });
  await expect.poll(() => ready(snapshotter)).toBe(true);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const queues = [...text.matchAll(/^workqueue_adds_total\{name="(.*?)"\}/gm)].map((match) => match[1] ?? '');
  expect(queues.toSorted()).toEqual(['csi-snapshotter-content', 'csi-snapshotter-groupsnapshotcontent']);
  expect(text).toMatch(
    /^csi_sidecar_operations_seconds_count\{.*method_name="\/csi.v1.Controller\/CreateSnapshot".*\} 1$/m,
  );
});

it('given an error, then its event is in namespace default, from the component of this driver', async () => {
  await using snapshotter = await run({
    handlers: { [createSnapshot]: () => csiError('Internal', 'boom') },
    seed: [aClass(), aContent()],
    rules: clusterRules,
  });
  await vi.waitFor(
    async () => {
      await snapshotter.host.clock.advance(50);
      const events = snapshotter.host.server.writes().filter(({ resource }) => resource === 'events');
      expect(events[0]?.code).toBe(201);
      expect(events[0]?.body).toMatchObject({
        metadata: { namespace: 'default' },
        type: 'Warning',
        reason: 'SnapshotCreationFailed',
        message:
          'Failed to create snapshot: failed to take snapshot of the volume volume-1: "rpc error: code = Internal desc = boom"',
        source: { component: `csi-snapshotter ${driverName}` },
        involvedObject: {
          kind: 'VolumeSnapshotContent',
          apiVersion: 'snapshot.storage.k8s.io/v1',
          name: 'content',
          // As the run left it.
          resourceVersion: snapshotter.host.server.objects.get(volumeSnapshotContents, { name: 'content' })?.metadata
            ?.resourceVersion,
        },
      });
    },
    { timeout: 20_000 },
  );
});

describe('the election', () => {
  const args = ['--leader-election', '--leader-election-namespace=ns'];

  it('given leader election, then the lease has the name of upstream', async () => {
    await using snapshotter = await run({ args, handlers: { [name]: () => ({ name: 'hostpath.csi.k8s.io' }) } });
    const lease = { namespace: 'ns', name: 'external-snapshotter-leader-hostpath-csi-k8s-io' };
    await expect.poll(() => snapshotter.host.server.objects.get(leases, lease)?.spec?.holderIdentity).toBe('pod-1');
  });

  it('[P8] given a signal during a call, then the snapshot is recorded, and the lease is released last', async () => {
    const answer = Promise.withResolvers<object>();
    await using snapshotter = await run({
      args,
      handlers: { [createSnapshot]: () => answer.promise },
      seed: [aClass(), aContent()],
    });
    await expect.poll(() => snapshotter.calls()).toContain('CreateSnapshot');
    const { server } = snapshotter.host;
    snapshotter.host.stop();
    await settle();
    server.clearRequests();
    answer.resolve({ snapshot: { snapshot_id: 's', ready_to_use: true } });
    let ended = false;
    void snapshotter.code.then(() => (ended = true));
    await vi.waitFor(
      async () => {
        await snapshotter.host.clock.advance(100);
        expect(ended).toBe(true);
      },
      { timeout: 20_000 },
    );
    const writes = server
      .writes()
      .map(({ resource, subresource }) => [resource, subresource].filter(Boolean).join('/'));
    // The election records an event as well.
    expect(writes.filter((it) => it !== 'events')).toEqual([
      'volumesnapshotcontents/status',
      'volumesnapshotcontents',
      'leases',
    ]);
    expect(writes.at(-1)).toBe('leases');
  });
});
