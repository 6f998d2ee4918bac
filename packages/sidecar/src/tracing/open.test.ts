// SPDX-License-Identifier: Apache-2.0
/** Tracing as a program opens and closes it, with a driver on a socket, an API server in memory and virtual time. */
import { type Lease, leases } from '@csi-sidecars/runtime';
import { settle, until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { type DrivenOptions, type DrivenProgram, runOverDriver } from '../../testing/index.ts';
import { sampleProgram } from '../../testing/sample-program.ts';
import { runSidecarProgram } from '../process/sidecar-program.ts';
import type { OpenTracing, TracingOptions } from './tracing.ts';

const collector = '--tracing-endpoint=http://collector.test:4318';

async function run(options: Partial<DrivenOptions>): Promise<DrivenProgram> {
  return await runOverDriver(
    (deps) =>
      runSidecarProgram(deps, {
        program: sampleProgram,
        driver: () => ({ probeTimeoutMs: 1_000, nameTimeoutMs: 1_000 }),
        prepare: async ({ name }) => ({
          lockName: `lock-${name}`,
          assemble: () => ({
            run: (signal) =>
              new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
          }),
        }),
      }),
    {
      handlers: {
        '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
        '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }),
      },
      ...options,
    },
  );
}

function recorded(close: () => Promise<void> = async () => undefined) {
  const opened: TracingOptions[] = [];
  const seen: string[] = [];
  const open: OpenTracing = (_deps, options) => {
    opened.push(options);
    return {
      tracerOf: (controller) => {
        seen.push(`tracer of ${controller}`);
        return { start: () => undefined };
      },
      setDriver: (name) => void seen.push(`driver ${name}`),
      close,
    };
  };
  return { opened, seen, loadTracing: async () => open };
}

const leaseOf = ({ host }: DrivenProgram): Lease | undefined =>
  host.server.objects.get(leases, { namespace: 'ns', name: 'lock-a-example-com' });

it('given an endpoint, then tracing is opened with the settings of the flags, and knows the driver', async () => {
  const { opened, seen, loadTracing } = recorded();
  await using program = await run({ args: [collector, '--tracing-sampling-ratio=0.5'], loadTracing });
  await until(() => seen.length === 2);
  expect(opened).toMatchObject([
    { program: 'csi-sample', version: 'v1.2.3', hostName: 'pod-1', samplingRatio: 0.5, traceIds: 'object' },
  ]);
  expect(opened[0]?.endpoint.href).toBe('http://collector.test:4318/v1/traces');
  expect(seen.toSorted()).toEqual(['driver a.example.com', 'tracer of csi-sample']);
  expect(program.host.logged()).toContain(
    '"Tracing" collector="collector.test:4318" samplingRatio=0.5 traceIds="object"',
  );
});

it('[explain#139] given a stop, then what waits is flushed after the lease is released, and the program ends when that has ended', async () => {
  const held: (string | undefined)[] = [];
  const flushed = Promise.withResolvers<void>();
  const { loadTracing } = recorded(async () => {
    held.push(leaseOf(program)?.spec?.holderIdentity);
    await flushed.promise;
  });
  const program = await run({ args: [collector, '--leader-election', '--leader-election-namespace=ns'], loadTracing });
  await until(() => (leaseOf(program)?.spec?.holderIdentity ?? '') !== '');
  program.host.stop();
  let isOver = false;
  void program.code.finally(() => (isOver = true));
  await until(() => held.length === 1);
  await settle();
  expect([held, isOver]).toEqual([[''], false]);
  flushed.resolve();
  expect(await program.code).toBe(0);
  await program[Symbol.asyncDispose]();
});

describe('command lines that are refused', () => {
  it.each([
    ['--tracing-endpoint=ftp://x', '"--tracing-endpoint must begin with http:// or https://"'],
    [
      '--tracing-endpoint=http://u:p4ss@x',
      '"--tracing-endpoint must hold no user and no password: --tracing-headers-file is for credentials"',
    ],
    ['--tracing-sampling-ratio=2', '"--tracing-sampling-ratio must be from 0 to 1"'],
  ])(
    '[explain#141] given %s, then the program ends with 1 and names the flag, without the password',
    async (flag, text) => {
      const { opened, loadTracing } = recorded();
      await using program = await run({ args: [flag], loadTracing });
      expect(await program.code).toBe(1);
      const { logged, terminationLog } = program.host;
      expect(logged()).toContain(text);
      expect(logged() + terminationLog().join('')).not.toContain('p4ss');
      expect(opened).toEqual([]);
    },
  );
});

it('[explain#132] given variables of OpenTelemetry and no endpoint, then nothing is loaded', async () => {
  let loads = 0;
  await using program = await run({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test:4318' },
    loadTracing: async () => {
      loads += 1;
      throw new Error('not to be loaded');
    },
  });
  await until(() => program.calls().includes('GetPluginInfo'));
  await settle();
  program.host.stop();
  await program.code;
  expect(loads).toBe(0);
});

it('given an exporter that cannot be loaded, then the program ends with 1 and says why', async () => {
  await using program = await run({
    args: [collector],
    loadTracing: async () => {
      throw new Error('Cannot find module');
    },
  });
  expect(await program.code).toBe(1);
  expect(program.host.logged()).toContain('"Failed to set up tracing" err="Cannot find module"');
});
