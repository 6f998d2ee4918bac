// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it } from 'vitest';
import { csiError, fakeCsiChannel, type FakeCsiChannel } from '@csi-sidecars/csi/testing';
import { csiNodes, nodes, silentLogger } from '@csi-sidecars/runtime';
import { openGate } from '@csi-sidecars/runtime/internal';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { createPluginManager, type PluginPort } from './plugin-manager.ts';
import { startSim, type Sim } from '../../sim.ts';
import type { PluginInfo } from '@csi-sidecars/csi';

const driver = 'csi.example.com';
const socket = '/registry/csi-reg.sock';

let clock: FakeClock;
let sim: Sim;
let sockets: Map<string, string>;
let info: PluginInfo;
let channel: FakeCsiChannel;
/** The notifications that plugins received, and the driver sockets that were connected. */
let notified: [string, boolean, string][];
let endpoints: string[];

beforeEach(async () => {
  clock = new FakeClock();
  sockets = new Map();
  notified = [];
  endpoints = [];
  info = { type: 'CSIPlugin', name: driver, endpoint: '/plugins/csi.sock', supported_versions: ['1.0.0'] };
  channel = fakeCsiChannel();
  channel.answer('/csi.v1.Node/NodeGetInfo', {
    node_id: 'id-1',
    max_volumes_per_node: '9',
    accessible_topology: { segments: { 'example.com/zone': 'a' } },
  });
  channel.answer('/csi.v1.Node/NodeGetCapabilities', {});
  const world: PluginPort = {
    sockets: async () => new Map(sockets),
    dial: (path) => ({
      getInfo: async () => info,
      notify: async ({ registered, error }) => void notified.push([path, registered, error]),
      close: () => undefined,
    }),
    connect: async (endpoint) => {
      endpoints.push(endpoint);
      return channel;
    },
  };
  sim = startSim({ clock, random: seededRandom(1), nodes: [{ name: 'node-1', plugins: world }] });
  await clock.advance(100);
  return () => sim.stop();
});

function registered(): readonly unknown[] {
  return sim.server.objects.get(csiNodes, { name: 'node-1' })?.spec.drivers ?? [];
}

describe('registration of drivers by socket', () => {
  it('given a socket, when it appears, then its driver is registered, shown by the API and notified, once', async () => {
    sockets.set(socket, '1');
    await clock.advance(5_000);
    expect(endpoints).toEqual(['/plugins/csi.sock']);
    expect(registered()).toEqual([
      { name: driver, nodeID: 'id-1', topologyKeys: ['example.com/zone'], allocatable: { count: 9 } },
    ]);
    const node = sim.server.objects.get(nodes, { name: 'node-1' })?.metadata;
    expect(node?.annotations?.['csi.volume.kubernetes.io/nodeid']).toBe(`{"${driver}":"id-1"}`);
    expect(node?.labels?.['example.com/zone']).toBe('a');
    expect(notified).toEqual([[socket, true, '']]);
  });

  it('given a registered driver, when its socket is removed, then it is unregistered and its topology labels stay', async () => {
    sockets.set(socket, '1');
    await clock.advance(2_000);
    sockets.clear();
    await clock.advance(2_000);
    const node = sim.server.objects.get(nodes, { name: 'node-1' })?.metadata;
    expect([registered(), node?.annotations, node?.labels?.['example.com/zone']]).toEqual([
      [],
      { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      'a',
    ]);
  });

  it('given a re-created socket, then its driver is unregistered and registered again', async () => {
    sockets.set(socket, '1');
    await clock.advance(2_000);
    sockets.set(socket, '2');
    await clock.advance(2_000);
    expect([notified, registered().length, endpoints.length]).toEqual([
      [
        [socket, true, ''],
        [socket, true, ''],
      ],
      1,
      2,
    ]);
  });

  it('given no endpoint, then the registration socket is taken for that of the driver', async () => {
    info = { ...info, endpoint: '' };
    sockets.set(socket, '1');
    await clock.advance(2_000);
    expect(endpoints).toEqual([socket]);
  });

  it.each<{ given: string; change: Partial<PluginInfo>; error: string }>([
    {
      given: 'another type',
      change: { type: 'DRAPlugin' },
      error: `RegisterPlugin error -- no handler registered for plugin type: DRAPlugin at socket ${socket}`,
    },
    {
      given: 'no version 1.x',
      change: { supported_versions: ['0.3.0', '2.0.0'] },
      error: `RegisterPlugin error -- plugin validation failed with err: no supported version of ${driver} is 1.x`,
    },
  ])('given $given, then the plugin is refused', async ({ change, error }) => {
    info = { ...info, ...change };
    sockets.set(socket, '1');
    await clock.advance(900);
    expect([notified, registered()]).toEqual([[[socket, false, error]], []]);
  });

  it('given a second socket of the same driver, then it is refused while the first is registered', async () => {
    sockets.set(socket, '1');
    await clock.advance(2_000);
    sockets.set('/registry/other.sock', '2');
    await clock.advance(1_000);
    expect(notified.at(-1)).toEqual([
      '/registry/other.sock',
      false,
      'RegisterPlugin error -- plugin validation failed with err: Another driver with the same name is already registered with a higher supported version',
    ]);
    expect(registered().length).toBe(1);
  });

  it('given a driver that does not answer, then it is refused, retried with growing pauses, and registered once it answers', async () => {
    channel.answer('/csi.v1.Node/NodeGetInfo', csiError('Unavailable', 'starting'));
    sockets.set(socket, '1');
    await clock.advance(16_000);
    const refusals = notified.length;
    expect(notified.every(([, taken]) => !taken)).toBe(true);
    expect(refusals).toBeGreaterThan(2);
    expect(refusals).toBeLessThan(8);
    channel.answer('/csi.v1.Node/NodeGetInfo', { node_id: 'id-1' });
    await clock.advance(60_000);
    expect([notified.at(-1)?.[1], registered().length]).toEqual([true, 1]);
  });

  it('given a manager that ends, then its connections are closed and nothing is left running', async () => {
    const stop = new AbortController();
    const idle = new FakeClock();
    const world: PluginPort = {
      sockets: async () => new Map(),
      dial: () => expect.fail(),
      connect: () => expect.fail(),
    };
    const registrations = { add: async () => undefined, remove: async () => undefined };
    const manager = createPluginManager({ world, registrations, clock: idle, logger: silentLogger, gate: openGate });
    const running = manager.run(stop.signal);
    await idle.advance(3_000);
    stop.abort(new Error('end'));
    await running;
    expect(idle.pending).toBe(0);
  });
});
