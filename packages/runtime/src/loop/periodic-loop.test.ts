// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger, seededRandom } from '../../testing/index.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { persistentVolumes } from '../api/resource.ts';
import type { ControllerPorts } from '../controller/controller.ts';
import type { StartGate } from '../controller/start-gate.ts';
import { definePeriodicLoop, type Pass } from './periodic-loop.ts';

interface Options {
  readonly gate?: StartGate;
  readonly begin?: 'afterPause';
}

function aLoop(pass: (pass: Pass<object>) => Promise<void>, { gate, ...options }: Options = {}) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const stop = new AbortController();
  const spec = { name: 'sweep', watches: {}, pauseMs: 60_000, pass, failed: 'A pass failed', ...options };
  const loop = definePeriodicLoop(spec);
  const ports = { clock, logger, ...(gate === undefined ? {} : { gate }) } as unknown as ControllerPorts;
  return { clock, logger, stop, running: loop.assemble(ports).run(stop.signal) };
}

it('given a pass that takes its time, then the next begins a whole pause after its end', async () => {
  const startedAtMs: number[] = [];
  const { clock, stop, running } = aLoop(async (pass) => {
    startedAtMs.push(pass.clock.monotonicMs());
    await pass.clock.sleep(5_000, pass.signal);
  });
  await clock.advance(130_000);
  const [first = 0, ...rest] = startedAtMs;
  expect(rest.map((ms) => ms - first)).toEqual([65_000, 130_000]);
  stop.abort(new Error('stopped'));
  await running;
  expect(clock.pending).toBe(0);
});

it('given a pass that fails, then it is logged, and the next begins after the pause', async () => {
  let passes = 0;
  const { clock, logger, stop, running } = aLoop(async () => {
    passes += 1;
    throw new Error('no');
  });
  await clock.advance(60_000);
  expect(passes).toBe(2);
  expect(logger.lines.map(({ kind, message, facts }) => [kind, message, facts])).toEqual([
    ['error', 'A pass failed', { loop: 'sweep' }],
    ['error', 'A pass failed', { loop: 'sweep' }],
  ]);
  stop.abort(new Error('stopped'));
  await running;
});

it('given a loop that begins after a pause, then its first pass does', async () => {
  let passes = 0;
  const { clock, stop, running } = aLoop(async () => void (passes += 1), { begin: 'afterPause' });
  await clock.advance(59_999);
  expect(passes).toBe(0);
  await clock.advance(1);
  expect(passes).toBe(1);
  await clock.advance(60_000);
  expect(passes).toBe(2);
  stop.abort(new Error('stopped'));
  await running;
  expect(clock.pending).toBe(0);
});

it('given a gate that is closed, then no pass begins before it opens', async () => {
  const opened = Promise.withResolvers<void>();
  let passes = 0;
  const gate: StartGate = { open: false, whenOpen: () => opened.promise };
  const { clock, stop, running } = aLoop(async () => void (passes += 1), { gate });
  await clock.advance(120_000);
  expect(passes).toBe(0);
  opened.resolve();
  await clock.advance(0);
  expect(passes).toBe(1);
  stop.abort(new Error('stopped'));
  await running;
});

it('given a gate that fails while the process goes on, then the loop fails with it', async () => {
  const gate: StartGate = { open: false, whenOpen: () => Promise.reject(new Error('defect')) };
  await expect(aLoop(async () => undefined, { gate }).running).rejects.toThrow('defect');
});

it('given a pass, then it has the ports of the loop, its caches and its signal, and the controller waits for the informers', async () => {
  const volume: PersistentVolume = { metadata: { name: 'a' }, spec: { capacity: {}, accessModes: [] } };
  const lister = { get: () => volume, list: () => [volume], byIndex: () => [], size: 1, resourceVersion: '7' };
  const informer = { lister };
  const client = {};
  const ports = { client, clock: new FakeClock(), random: seededRandom(1), logger: recordingLogger() };
  const stop = new AbortController();
  const passes: Pass<{ readonly volumes: PersistentVolume }>[] = [];
  const loop = definePeriodicLoop<{ readonly volumes: PersistentVolume }>({
    name: 'sweep',
    watches: { volumes: { resource: persistentVolumes } },
    pauseMs: 60_000,
    pass: async (pass) => void passes.push(pass),
    failed: 'A pass failed',
  }).assemble({ ...ports, informers: { informer: () => informer } } as unknown as ControllerPorts);
  expect(loop.informers).toEqual([informer]);
  const running = loop.run(stop.signal);
  await ports.clock.advance(0);
  const [{ caches, ...rest }] = passes as [Pass<{ readonly volumes: PersistentVolume }>];
  expect(rest).toEqual({ ...ports, signal: stop.signal });
  expect([caches.volumes.list(), caches.volumes.size, caches.volumes.resourceVersion]).toEqual([[volume], 1, '7']);
  stop.abort(new Error('stopped'));
  await running;
});

it('given the signal aborts during a pass, then its failure is not logged, and the loop ends', async () => {
  const { clock, logger, stop, running } = aLoop(({ clock: time, signal }) => time.sleep(10_000, signal));
  await clock.advance(1_000);
  stop.abort(new Error('stopped'));
  await running;
  expect(logger.lines).toEqual([]);
});
