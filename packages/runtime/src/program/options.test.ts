// SPDX-License-Identifier: Apache-2.0
import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { FakeClock, memoryFiles, recordedStderr, recordingLogger, seededRandom } from '../../testing/index.ts';
import { createInformerFactory, type InformerFactory } from '../informer/factory.ts';
import { createRegistry } from '../metrics/registry.ts';
import { type ProgramParts, partsOf } from './options.ts';

const program = { name: 'labels', loops: [] };

it('given parts, then each is used, and their log needs no flush', async () => {
  const given: Omit<ProgramParts, 'elect'> = {
    clock: new FakeClock(),
    random: seededRandom(1),
    env: {},
    files: memoryFiles(),
    hostName: 'pod-1',
    process: { onSignal: () => undefined, onCrash: () => undefined, exit: () => undefined },
    logger: recordingLogger(),
    metrics: createRegistry(),
    createInformers: () => ({}) as InformerFactory,
  };
  const { logWriter, ...parts } = partsOf({ ...program, ...given });
  for (const [name, part] of Object.entries(given))
    expect([name, parts[name as keyof typeof parts] === part]).toEqual([name, true]);
  await logWriter.flush();
  expect(logWriter.dropped).toBe(0);
});

it('given no parts, then they are those of this machine and this process', async () => {
  const { clock, random, env, files, hostName, process: port, metrics, createInformers } = partsOf(program);
  const [earliestMs, nowMs] = [Date.now() - 60_000, clock.nowMs()];
  expect(nowMs).toBeGreaterThan(earliestMs);
  expect(random.uuid()).toMatch(/^[\da-f-]{36}$/);
  expect([env, hostName, createInformers]).toEqual([process.env, hostname(), createInformerFactory]);
  expect(Buffer.from(await files.read(import.meta.filename)).toString()).toContain('SPDX');
  expect(typeof port.exit).toBe('function');
  expect(await metrics.text()).toBe('');
});

it.each([
  { verbosity: undefined, shown: 0 },
  { verbosity: 2, shown: 2 },
])(
  'given the verbosity $verbosity and no log, then stderr has lines up to level $shown as klog writes them',
  async ({ verbosity, shown }) => {
    using stderr = recordedStderr();
    const { logger, logWriter } = partsOf(verbosity === undefined ? program : { ...program, verbosity });
    for (const level of [shown, shown + 1]) logger.info(level, `level ${level}`);
    await logWriter.flush();
    const line = String.raw`^I\d{4} \d\d:\d\d:\d\d\.\d{6} +${process.pid} labels:0\] "level ${shown}"\n$`;
    expect(stderr.text()).toMatch(new RegExp(line));
  },
);
