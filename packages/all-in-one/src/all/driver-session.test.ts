// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { csiError, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import { type Metrics, noMetrics } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, settle, until } from '@csi-sidecars/runtime/testing';
import { expect, it, onTestFinished } from 'vitest';
import { healthy } from '../../testing/run-all.ts';
import { type DriverSession, openSession } from './driver-session.ts';

interface Options {
  readonly address?: string;
  readonly metrics?: Metrics;
}

interface Outcome {
  session?: DriverSession | undefined;
  error?: unknown;
}

async function opened(handlers: Handlers, { address, metrics = noMetrics }: Options = {}) {
  const driver = await serveCsi({ ...healthy, ...handlers });
  const clock = new FakeClock();
  const log = recordingLogger({ verbosity: 0 });
  const stopping = new AbortController();
  const outcome: Outcome = {};
  const options = { address: address ?? driver.path, probeTimeoutMs: 1_000, nameTimeoutMs: 60_000 };
  const opening = openSession({ clock, log, metrics, host: {} }, options, stopping.signal).then(
    (session) => Object.assign(outcome, { session }),
    (error: unknown) => Object.assign(outcome, { error }),
  );
  onTestFinished(async () => {
    stopping.abort();
    outcome.session?.close();
    await driver[Symbol.asyncDispose]();
  });
  const errors = () => log.lines.filter(({ kind }) => kind === 'error');
  return { driver, clock, log, errors, stopping, outcome, opening };
}

it('given a driver without a name, then it is asked again after pauses that double up to 10 s, until it has one', async () => {
  let name: string | undefined;
  const asked: number[] = [];
  const listening = new Set<number>();
  const { clock, errors, outcome, opening, stopping } = await opened({
    '/csi.v1.Identity/GetPluginInfo': () => {
      asked.push(clock.monotonicMs());
      return name === undefined ? csiError('Internal', 'not yet') : { name };
    },
  });
  const pauses = [1, 2, 4, 8, 10, 10];
  for (const [times, pause] of pauses.entries()) {
    await until(() => errors().length === times + 1);
    expect(errors()[times]).toMatchObject({
      message: 'Failed to get the CSI driver name',
      facts: { nextAttemptInSeconds: pause },
      error: expect.objectContaining({ message: expect.stringContaining('not yet') }),
    });
    if (times === pauses.length - 1) name = 'a.example.com';
    await until(() => clock.pending > 0);
    for (let turn = 0; turn < 20; turn += 1) await settle();
    expect(asked).toHaveLength(times + 1);
    listening.add(getEventListeners(stopping.signal, 'abort').length);
    await clock.advance(pause * 1_000 - 1);
    await settle();
    expect(errors()).toHaveLength(times + 1);
    await clock.advance(1);
  }
  await opening;
  expect(asked).toEqual([0, 1_000, 3_000, 7_000, 15_000, 25_000, 35_000]);
  // No attempt leaves a listener behind.
  expect(listening.size).toBe(1);
  expect([outcome.session?.name, outcome.session?.isLost(), outcome.error]).toEqual([
    'a.example.com',
    false,
    undefined,
  ]);
});

it('given an address that can never work, then that is an error, and no second attempt is made', async () => {
  const { errors, outcome, opening } = await opened({}, { address: 'localhost:65536' });
  await opening;
  expect([outcome.error, errors()]).toEqual([
    expect.objectContaining({ message: 'Failed to connect to CSI driver' }),
    [],
  ]);
});

it('given no driver, then it is awaited, however long that takes, and that is no error', async () => {
  const { clock, errors, outcome } = await opened({}, { address: '/nowhere/csi.sock' });
  await settle();
  await clock.advance(600_000);
  await settle();
  expect([outcome, errors()]).toEqual([{}, []]);
});

it('given a stop while a driver is asked for all, then the question ends', async () => {
  let isCancelled = false;
  let isAsked = false;
  const { opening, outcome, log, stopping } = await opened({
    '/csi.v1.Node/NodeGetCapabilities': (_, { signal }) => {
      isAsked = true;
      signal.addEventListener('abort', () => (isCancelled = true));
      return new Promise(() => undefined);
    },
  });
  await opening;
  const options = { timeoutMs: 60_000, signal: new AbortController().signal };
  const answer = outcome.session!.channelFor(log, {}).call('/csi.v1.Node/NodeGetCapabilities', {}, options);
  const ended = expect(answer).rejects.toMatchObject({ code: 'Canceled' });
  await until(() => isAsked);
  stopping.abort();
  await ended;
  await until(() => isCancelled);
});

it('given a defect, then that is an error, and no second attempt is made', async () => {
  const defect = new TypeError('defect');
  const histogram = (): never => {
    throw defect;
  };
  const { errors, outcome, opening } = await opened({}, { metrics: { ...noMetrics, histogram } });
  await opening;
  expect([outcome.error, errors()]).toEqual([defect, []]);
});

it('given a stop while the driver does not answer, or in a pause, then there is no session, and no error', async () => {
  const silent = await opened({ '/csi.v1.Identity/GetPluginInfo': () => new Promise(() => undefined) });
  await until(() => silent.log.messages().length > 0 || silent.clock.pending > 0);
  silent.stopping.abort();
  await silent.opening;
  expect([silent.outcome, silent.errors()]).toEqual([{ session: undefined }, []]);

  const broken = await opened({ '/csi.v1.Identity/GetPluginInfo': () => csiError('Internal', 'no') });
  await until(() => broken.errors().length === 1 && broken.clock.pending > 0);
  broken.stopping.abort();
  await broken.opening;
  expect([broken.outcome, broken.errors().length]).toEqual([{ session: undefined }, 1]);
  expect(getEventListeners(broken.stopping.signal, 'abort')).toEqual([]);
});

it('given two controllers, then what they all ask is asked once, also after a failure, and no controller can close the connection', async () => {
  const asked: string[] = [];
  let isUp = false;
  const capabilities = { capabilities: [] };
  const { driver, opening, outcome, log, stopping } = await opened({
    '/csi.v1.Identity/GetPluginInfo': () => (asked.push('name'), { name: 'a.example.com' }),
    '/csi.v1.Identity/GetPluginCapabilities': () => (asked.push('plugin'), capabilities),
    '/csi.v1.Controller/ControllerGetCapabilities': () => {
      asked.push('controller');
      return isUp ? capabilities : csiError('Internal', 'not yet');
    },
    '/csi.v1.GroupController/GroupControllerGetCapabilities': () => (asked.push('group'), capabilities),
    '/csi.v1.Node/NodeGetCapabilities': () => (asked.push('node'), capabilities),
    '/csi.v1.Identity/Probe': () => (asked.push('probe'), {}),
  });
  await opening;
  const session = outcome.session!;
  asked.length = 0;
  const [one, two] = [1, 2].map(() => session.channelFor(log, {}));
  const options = { timeoutMs: 1_000, signal: new AbortController().signal };
  await expect(one!.call('/csi.v1.Controller/ControllerGetCapabilities', {}, options)).rejects.toThrow('not yet');
  isUp = true;
  one!.close();
  for (const channel of [one!, two!]) {
    await channel.call('/csi.v1.Identity/GetPluginInfo', {}, options);
    await channel.call('/csi.v1.Identity/GetPluginCapabilities', {}, options);
    await channel.call('/csi.v1.Controller/ControllerGetCapabilities', {}, options);
    await channel.call('/csi.v1.GroupController/GroupControllerGetCapabilities', {}, options);
    await channel.call('/csi.v1.Node/NodeGetCapabilities', {}, options);
    await channel.call('/csi.v1.Identity/Probe', {}, options);
  }
  expect(asked).toEqual(['controller', 'name', 'plugin', 'controller', 'group', 'node', 'probe', 'probe']);

  driver.stop();
  await until(() => session.signal.aborted);
  expect([one!.lost.aborted, two!.lost.aborted]).toEqual([true, true]);
  expect([session.isLost(), (session.signal.reason as Error).message]).toEqual([true, 'lost connection to CSI driver']);
  session.close();
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
});

it('given an answer that takes longer than a controller waits, then that controller has an error with the name of the call, and the other one the answer', async () => {
  const answer = Promise.withResolvers<void>();
  let times = 0;
  const { opening, outcome, clock, log } = await opened({
    '/csi.v1.Node/NodeGetCapabilities': async () => {
      times += 1;
      await answer.promise;
      return { capabilities: [] };
    },
  });
  await opening;
  const ask = (timeoutMs: number) =>
    outcome
      .session!.channelFor(log, {})
      .call('/csi.v1.Node/NodeGetCapabilities', {}, { timeoutMs, signal: new AbortController().signal });
  const short = ask(1_000);
  const long = ask(2_000);
  const late = expect(short).rejects.toMatchObject({
    code: 'DeadlineExceeded',
    method: '/csi.v1.Node/NodeGetCapabilities',
    detail: 'context deadline exceeded',
  });
  await until(() => times === 1);
  await clock.advance(1_000);
  await late;
  answer.resolve();
  expect(await long).toMatchObject({ capabilities: [] });
  expect(times).toBe(1);
});
