// SPDX-License-Identifier: Apache-2.0
/** `--debug-explain` of a whole sidecar, over a real driver socket and a real HTTP port. */
import { type CheckedRule, type KubeObject, type Lease, systemClock } from '@csi-sidecars/runtime';
import { type ControllerFacts, createInspection } from '@csi-sidecars/runtime/internal';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { runOverDriver } from '../../testing/index.ts';
import { sampleProgram } from '../../testing/sample-program.ts';
import { debugExplainRefused, type DescribedController, describeController } from './debug-explain.ts';
import { runSidecarProgram } from './sidecar-program.ts';

const handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }),
};

interface Answered {
  readonly controllers: readonly (Pick<ControllerFacts, 'driver' | 'settings' | 'rights'> & {
    readonly holder: string | null;
  })[];
}

/** It is new to this replica, so it is valid for its whole duration. */
const otherLeader: Lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'a-example-com', namespace: 'default' },
  spec: { holderIdentity: 'other', leaseDurationSeconds: 3_600, renewTime: '2026-01-01T00:00:00.000000Z' },
};

interface Working {
  isWorking: boolean;
  isInspected: boolean | undefined;
}

const rule: CheckedRule = {
  apiGroups: ['storage.k8s.io'],
  resources: ['volumeattachments/status'],
  verbs: ['patch'],
  without: 'pods wait',
};

async function run(args: readonly string[], seed: readonly KubeObject[] = []) {
  const state: Working = { isWorking: false, isInspected: undefined };
  const program = await runOverDriver(
    (deps) =>
      runSidecarProgram(deps, {
        program: sampleProgram,
        driver: (values) => ({ probeTimeoutMs: values.timeout, nameTimeoutMs: 1_000 }),
        prepare: async ({ name }) => ({
          lockName: name,
          driver: {
            name,
            pluginCapabilities: new Set(['CONTROLLER_SERVICE']),
            controllerCapabilities: new Set(['CREATE_DELETE_VOLUME']),
          },
          rights: { cluster: [rule] },
          assemble: ({ inspection }) => ({
            run: (signal) =>
              new Promise((resolve) => {
                state.isWorking = true;
                state.isInspected = inspection !== undefined;
                signal.addEventListener('abort', () => resolve(), { once: true });
              }),
          }),
        }),
      }),
    { handlers, args, seed },
  );
  return { program, state };
}

describe('the endpoint', () => {
  it('[explain#81] given loopback, then a leader answers that it leads, with its name and the holder of its lease', async () => {
    const port = await freePort();
    const { program, state } = await run([
      '--leader-election',
      `--http-endpoint=127.0.0.1:${port}`,
      '--debug-explain=loopback',
    ]);
    await using _ = program;
    await until(() => state.isWorking);
    const response = await fetch(`http://127.0.0.1:${port}/debug/explain`);
    expect(await response.json()).toMatchObject({
      version: 'v1.2.3',
      pod: 'pod-1',
      controllers: [{ program: 'csi-sample', leading: true, holder: expect.stringContaining('pod-1') as unknown }],
    });
    expect(state.isInspected).toBe(true);
  });

  it('[explain#81] given another replica that leads, then the standby answers that it does not, and who does', async () => {
    const port = await freePort();
    const args = ['--leader-election', `--http-endpoint=127.0.0.1:${port}`, '--debug-explain=any'];
    const { program, state } = await run(args, [otherLeader]);
    await using _ = program;
    const ask = async () => (await (await fetch(`http://127.0.0.1:${port}/debug/explain`)).json()) as Answered;
    // Five questions in a second are answered.
    const asked = async (): Promise<Answered | undefined> => {
      await program.host.clock.advance(1_000);
      return await ask().catch(() => undefined);
    };
    await expect.poll(async () => (await asked())?.controllers[0]?.holder).toBe('other');
    expect((await asked())?.controllers).toMatchObject([{ leading: false, leadingSince: null }]);
    expect(state.isWorking).toBe(false);
  });

  it('given a leader, then it names its driver, its flags beside the defaults, and the rights that it has not found missing', async () => {
    const port = await freePort();
    const args = [
      `--http-endpoint=127.0.0.1:${port}`,
      '--debug-explain=loopback',
      '--timeout=60s',
      '--kube-api-qps=5',
      '--enable-pprof',
      '--feature-gates=ReleaseLeaderElectionOnExit=true',
      '--kubeconfig=/secret/config',
    ];
    const { program, state } = await run(args);
    await using _ = program;
    await until(() => state.isWorking);
    const ask = async () => (await (await fetch(`http://127.0.0.1:${port}/debug/explain`)).json()) as Answered;
    await expect
      .poll(async () => {
        await program.host.clock.advance(1_000);
        return (await ask()).controllers[0]?.rights;
      })
      .toEqual([]);
    await program.host.clock.advance(1_000);
    const [facts] = (await ask()).controllers;
    expect(facts?.driver).toEqual({
      name: 'a.example.com',
      connected: true,
      capabilities: ['CONTROLLER_SERVICE', 'CREATE_DELETE_VOLUME'],
    });
    expect(facts?.settings).toEqual({
      'csi-address': expect.stringContaining('csi') as unknown,
      'http-endpoint': `127.0.0.1:${port}`,
      'debug-explain': 'loopback',
      timeout: '1m0s',
      'enable-pprof': 'true',
      'feature-gates': 'ReleaseLeaderElectionOnExit=true',
    });
  });

  it('[explain#82] given off, which is the default, then there is no such page, and loops get nothing to report to', async () => {
    const port = await freePort();
    for (const args of [[], ['--debug-explain=off']]) {
      const { program, state } = await run([`--http-endpoint=127.0.0.1:${port}`, ...args]);
      await using _ = program;
      await until(() => state.isWorking);
      for (const page of ['explain', 'audit'])
        expect((await fetch(`http://127.0.0.1:${port}/debug/${page}`)).status).toBe(404);
      expect(state.isInspected).toBe(false);
      program.host.stop();
      await program.code;
    }
  });
});

describe('the command line', () => {
  it.each([
    [['--debug-explain=loopback'], 'needs --http-endpoint'],
    [['--debug-explain=any'], 'needs --http-endpoint'],
    [['--debug-explain=yes', '--http-endpoint=127.0.0.1:0'], 'must be off, loopback, any'],
  ])('given %j, then the program ends with 1 and says why', async (args, text) => {
    const { program, state } = await run(args);
    await using _ = program;
    expect(await program.code).toBe(1);
    expect([program.host.logged().includes(text), state.isWorking]).toEqual([true, false]);
  });

  it('given --metrics-address in the place of --http-endpoint, then it is not refused', () => {
    const values = { 'debug-explain': 'loopback', 'http-endpoint': '', 'metrics-address': ':1' };
    expect(debugExplainRefused(values)).toBe(undefined);
  });
});

describe('what is described', () => {
  const described = (settings: object, rights: DescribedController['rights']['missing'] = () => undefined) => {
    const inspection = createInspection({ clock: systemClock() }, 'csi-sample');
    describeController(inspection, {
      flags: { ...sampleProgram.flags },
      values: { ...defaults, ...settings },
      driver: undefined,
      isConnected: () => true,
      rights: { missing: rights },
    });
    return inspection.facts();
  };
  const defaults = Object.fromEntries(
    Object.entries(sampleProgram.flags).map(([name, { defaultValue }]) => [name, defaultValue]),
  );

  it('given defaults and no driver, then there are no settings; what is not known is null', () => {
    expect(described({})).toEqual({ driver: null, settings: {}, rights: null });
  });

  it('[explain#85] given flags that lead to credentials, then they are not shown', () => {
    const paths = { kubeconfig: '/secret', 'tracing-endpoint': 'http://x', 'tracing-headers-file': '/secret' };
    expect(described(paths).settings).toEqual({});
  });

  it('given missing rights, then each is there with its namespace; null stands for all namespaces', () => {
    const right = { verb: 'patch', group: 'storage.k8s.io', resource: 'volumeattachments/status', without: 'x' };
    const missing = [
      { ...right, namespace: undefined, name: undefined },
      { ...right, namespace: 'csi', name: 'a' },
    ];
    const { without: _, ...shown } = right;
    expect(described({}, () => missing).rights).toEqual([
      { ...shown, namespace: null },
      { ...shown, namespace: 'csi' },
    ]);
  });
});
