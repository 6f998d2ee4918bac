// SPDX-License-Identifier: Apache-2.0
/** The answers to kubelet, its notifications, and the end of the registrar. */
import { existsSync, rmSync } from 'node:fs';
import { until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { driverName, endpoint, kubeletAt, startRegistrar } from '../testing/registrar-fixture.ts';

const getInfo = '/pluginregistration.Registration/GetInfo';
const notify = '/pluginregistration.Registration/NotifyRegistrationStatus';
const info = { type: 'CSIPlugin', name: driverName, endpoint, supported_versions: ['1.0.0'] };

/** Each look at the socket uses the real file system, and the next pause begins after it. */
async function lookFor(
  { host: { clock } }: Awaited<ReturnType<typeof startRegistrar>>,
  seconds: number,
): Promise<void> {
  for (let second = 0; second < seconds; second += 5) {
    await until(() => clock.pending > 0);
    await clock.advance(5_000);
  }
}

describe('calls of kubelet', () => {
  it('[node-driver-registrar#36] given a hundred concurrent GetInfo calls, then each gets the same answer', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    using kubelet = kubeletAt(registrar.socket);
    const answers = await Promise.all(Array.from({ length: 100 }, () => kubelet.call(getInfo, {})));
    expect(answers).toEqual(Array.from({ length: 100 }, () => info));
  });

  it('[node-driver-registrar#37] given a kubelet that restarts, then its calls before and after are answered', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    for (let round = 0; round < 2; round += 1) {
      using kubelet = kubeletAt(registrar.socket);
      expect(await kubelet.call(getInfo, {})).toEqual(info);
      expect(await kubelet.call(notify, { plugin_registered: true })).toEqual({});
    }
    expect(registrar.host.logged().match(/"Received NotifyRegistrationStatus call"/g)).toHaveLength(2);
    expect(existsSync(registrar.socket)).toBe(true);
  });

  it('given minutes between GetInfo and the notification, then the connection is still open', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    using kubelet = kubeletAt(registrar.socket);
    await kubelet.call(getInfo, {});
    await registrar.host.clock.advance(10 * 60_000);
    expect(await kubelet.call(notify, { plugin_registered: true })).toEqual({});
  });

  it.each([
    ['[node-driver-registrar#38] given a refusal with a reason', 'boom'],
    ['[node-driver-registrar#39] given a refusal without a reason', ''],
  ])('%s, then kubelet is answered, the socket is removed, exit 1', async (_, error) => {
    await using registrar = await startRegistrar();
    await registrar.published();
    using kubelet = kubeletAt(registrar.socket);
    expect(await kubelet.call(notify, { plugin_registered: false, error })).toEqual({});
    expect(await registrar.code).toBe(1);
    expect(existsSync(registrar.socket)).toBe(false);
    expect(registrar.host.logged()).toContain(
      `"Registration process failed with error, restarting registration container" err="${error}"`,
    );
  });

  it('[node-driver-registrar#40,41] given unknown methods, or methods of a driver, then Unimplemented, and the registrar keeps serving', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    using kubelet = kubeletAt(registrar.socket);
    for (const method of [
      '/pluginregistration.Registration/None',
      '/csi.v1.Identity/GetPluginInfo',
      '/csi.v1.Node/NodeGetInfo',
    ]) {
      expect(await kubelet.codeOf(method)).toBe(12);
    }
    expect(await kubelet.call(getInfo, {})).toEqual(info);
  });

  it('[node-driver-registrar#42] given a kubelet that never connects, then the registrar waits', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    let hasEnded = false;
    void registrar.code.finally(() => {
      hasEnded = true;
    });
    await registrar.host.clock.advance(60 * 60_000);
    expect([hasEnded, existsSync(registrar.socket)]).toEqual([false, true]);
  });

  it('[node-driver-registrar#57] given a kubelet that does not ask, asks, and registers the driver, then the log says what is missing, at a growing pace', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    const warnings = (): readonly string[] =>
      registrar.host
        .logged()
        .match(/^W.*kubelet has .*$/gm)
        ?.map((line) => line.replace(/^.*?\] /, '')) ?? [];
    await registrar.host.clock.advance(25_000);
    expect(warnings()).toEqual([]);
    await lookFor(registrar, 75);
    const socketPath = `socketPath=${JSON.stringify(registrar.socket)}`;
    const notAsked = (seconds: number) =>
      `"kubelet has not asked for the registration yet" ${socketPath} forSeconds=${seconds} hint="is its folder plugins_registry, on the host, mounted as the folder of the socket?"`;
    expect(warnings()).toEqual([notAsked(30), notAsked(90)]);
    using kubelet = kubeletAt(registrar.socket);
    await kubelet.call(getInfo, {});
    await lookFor(registrar, 120);
    expect(warnings().slice(2)).toEqual([
      `"kubelet has asked for the registration and has not completed it" ${socketPath} forSeconds=210 hint="the log of kubelet says why"`,
    ]);
    await kubelet.call(notify, { plugin_registered: true });
    await lookFor(registrar, 600);
    expect(warnings()).toHaveLength(3);
  });
});

describe('the end', () => {
  it('[node-driver-registrar#52] given SIGTERM after the socket was removed, then exit 0', async () => {
    await using registrar = await startRegistrar();
    await registrar.published();
    rmSync(registrar.socket);
    expect(await registrar.stop()).toBe(0);
  });

  it('[node-driver-registrar#53] given SIGTERM and a folder that cannot be written, then exit 1, and the reason is logged', async () => {
    await using registrar = await startRegistrar({
      files: { remove: () => Promise.reject(new Error('EROFS: read-only file system')) },
    });
    await registrar.published();
    expect(await registrar.stop()).toBe(1);
    expect(registrar.host.logged()).toContain(
      '"Failed to remove socket with error" err="EROFS: read-only file system"',
    );
  });

  it('given a stop before the driver was reached, then no file was created', async () => {
    await using registrar = await startRegistrar({ args: ['--csi-address=/nonexistent/csi.sock'] });
    expect(registrar.host.onSignal()).toBe('exit');
    await registrar.host.clock.advance(2_000);
    expect(await registrar.stop()).toBe(1);
    expect(existsSync(registrar.socket)).toBe(false);
  });
});
