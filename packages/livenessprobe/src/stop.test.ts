// SPDX-License-Identifier: Apache-2.0
/** The end of livenessprobe, wherever its signal meets it. */
import { hang, serveCsi } from '@csi-sidecars/csi/testing';
import { FakeClock, freePort, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { namedDriver, startLivenessprobe } from '../testing/livenessprobe-fixture.ts';
import { runLivenessprobe } from './livenessprobe.ts';

function running(csiAddress: string, healthAddress = '127.0.0.1:0') {
  const stop = new AbortController();
  const log = recordingLogger();
  const clock = new FakeClock();
  const code = runLivenessprobe(
    {
      clock,
      log,
      host: { openMetrics: () => Promise.reject(new Error('no metrics')), startedAtMs: 0 },
      serve: () => log.info(0, 'served elsewhere'),
    },
    { csiAddress, probeTimeoutMs: 3_000, healthAddress, metrics: { kind: 'none' } },
    stop.signal,
  );
  return { stop, log, clock, code };
}

it('given a signal while there is no driver, then livenessprobe ends', async () => {
  const { stop, clock, code } = running('/nonexistent/csi.sock');
  await until(() => clock.pending > 0);
  stop.abort();
  await expect(code).rejects.toThrow('Failed to establish connection to CSI driver');
});

it('given a signal while the driver does not report its name, then livenessprobe ends', async () => {
  const asked = Promise.withResolvers<void>();
  const getPluginInfo = () => {
    asked.resolve();
    return hang();
  };
  await using driver = await serveCsi(namedDriver({ '/csi.v1.Identity/GetPluginInfo': getPluginInfo }));
  const { stop, code } = running(driver.path);
  await asked.promise;
  stop.abort();
  await expect(code).rejects.toThrow('Failed to get CSI driver name');
});

it('given a signal while another server answers /healthz, then livenessprobe ends without a server of its own', async () => {
  await using driver = await serveCsi(namedDriver());
  const { stop, log, code } = running(driver.path, `127.0.0.1:${await freePort()}`);
  await until(() => log.messages().includes('served elsewhere'));
  stop.abort();
  expect(await code).toBe(0);
  expect(log.messages().at(-1)).toBe('served elsewhere');
});

it('given a signal while it serves, then the exit code is 0', async () => {
  await using program = await startLivenessprobe({ args: ['--v=5'] });
  await program.serving();
  await program.ask();
  program.host.stop();
  expect(await program.code).toBe(0);
  expect(program.host.logged()).toContain('"Sending probe request to CSI driver" driver="a.example.com"');
});
