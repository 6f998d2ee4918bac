// SPDX-License-Identifier: Apache-2.0
/** How the process begins and ends, with controllers that do nothing but what a test wants. */
import { serveCsi } from '@csi-sidecars/csi/testing';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { ExitError } from '@csi-sidecars/sidecar';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { four, healthy, runCombined } from '../../testing/run-all.ts';
import { runAll } from './run.ts';
import { type AnySidecar, type Sidecars, sidecars as sidecarsOfRepository } from './sidecars.ts';

const never = new Promise<never>(() => undefined);

/** The real controllers, but for those that are given. */
function sidecarsWith(changes: Partial<Record<keyof Sidecars, Partial<AnySidecar>>>): Sidecars {
  const names = Object.keys(sidecarsOfRepository) as readonly (keyof Sidecars)[];
  return Object.fromEntries(
    names.map((name) => [name, { ...sidecarsOfRepository[name], ...changes[name] }]),
  ) as unknown as Sidecars;
}

const preparing = (prepare: AnySidecar['prepare']): Partial<AnySidecar> => ({ prepare });
const failing = (defect: Error) => preparing(() => Promise.reject(defect));

const lastLine = ({ logged }: FakeHost): string | undefined => logged().trimEnd().split('\n').at(-1);

it.each([
  ['that needs none', [], false],
  ['that needs them, and others', ['resizer'], true],
] as const)('given controllers %s, then the requests are counted: %j', async (_, counting, isCounted) => {
  const asked: unknown[] = [];
  const address = `127.0.0.1:${await freePort()}`;
  const host = {
    ...fakeHost({ args: [four, '--kubeconfig=/k', '--master=http://m', `--metrics-address=${address}`] }),
    connectApi: (options: object) => {
      asked.push(options);
      return Promise.reject(new Error('no cluster'));
    },
  };
  const names = ['attacher', 'provisioner', 'resizer', 'snapshotter'] as const;
  const sidecars = sidecarsWith(
    Object.fromEntries(names.map((name) => [name, { requestMetrics: (counting as readonly string[]).includes(name) }])),
  );
  expect(await runAll({ host, lifecycle: host.lifecycle, sidecars, files: {} as never, platform: 'unix' })).toBe(1);
  expect(lastLine(host)).toMatch(/Failed to create a Kubernetes client.*no cluster/);
  const object = (method: string): unknown => expect.objectContaining({ [method]: expect.any(Function) });
  expect(asked).toEqual([
    {
      program: 'csi-sidecars',
      kubeconfig: '/k',
      master: 'http://m',
      qps: -1,
      burst: 1,
      log: object('info'),
      metrics: isCounted ? object('gauge') : undefined,
    },
  ]);
});

it('given limits of requests, then each controller has its own, and the leases have one for all', async () => {
  const driver = await serveCsi(healthy);
  const fake = fakeHost({
    args: ['--controllers=attacher,resizer', '--attacher-kube-api-qps=7', `--csi-address=${driver.path}`],
  });
  const asked: unknown[] = [];
  const connectApi: FakeHost['connectApi'] = async (options) => {
    const api = await fake.connectApi(options);
    return {
      ...api,
      clientWith: (limits) => {
        asked.push({ ...limits, logger: 'info' in limits.logger });
        return api.clientWith(limits);
      },
    };
  };
  let begun = 0;
  const stuck = preparing((context) => {
    if (begun === 0) context.withLimit({ qps: 1, burst: 2 });
    begun += 1;
    return new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('stop'))));
  });
  const sidecars = sidecarsWith({ attacher: stuck, resizer: stuck });
  const host = { ...fake, connectApi };
  const code = runAll({ host, lifecycle: host.lifecycle, sidecars, files: {} as never, platform: 'unix' });
  await until(() => begun === 2);
  host.stop();
  expect(await code).toBe(0);
  expect(asked).toEqual([
    { logger: true, component: 'leader-election', counted: false, qps: 10, burst: 20 },
    { logger: true, component: 'attacher', counted: false, qps: 7, burst: 10 },
    { logger: true, component: 'resizer', counted: true, qps: 5, burst: 10 },
    { logger: true, component: 'attacher', counted: false, qps: 1, burst: 2 },
  ]);
  await driver[Symbol.asyncDispose]();
});

it('given an environment that a controller cannot run in, then nothing is opened', async () => {
  let connections = 0;
  const host = {
    ...fakeHost({ args: [four, '--snapshotter-node-deployment'] }),
    connectApi: () => {
      connections += 1;
      return Promise.reject(new Error('no cluster'));
    },
  };
  expect(await runAll({ host, lifecycle: host.lifecycle, files: {} as never, platform: 'unix' })).toBe(255);
  expect(connections).toBe(0);
});

it('given controllers that do not end in time, then their names are in the last line', async () => {
  let begun = 0;
  const stuck = preparing(() => {
    begun += 1;
    return never;
  });
  await using program = await runCombined({
    args: ['--controllers=attacher,resizer', '--shutdown-timeout=2s'],
    sidecars: sidecarsWith({ attacher: stuck, resizer: stuck }),
  });
  await until(() => begun === 2);
  program.host.stop();
  await program.host.clock.advance(1_999);
  await program.host.clock.advance(1);
  expect(await program.code).toBe(1);
  expect(lastLine(program.host)).toContain('shutdown deadline exceeded: waiting for attacher, resizer');
});

it('given a controller that refuses its command line, then the process ends with the code and the text of its program', async () => {
  const error = new ExitError(255, 'what', { reason: 'commandLine', cause: new Error('why') });
  await using program = await runCombined({
    args: ['--controllers=resizer'],
    sidecars: sidecarsWith({ resizer: failing(error) }),
  });
  expect(await program.code).toBe(255);
  expect(lastLine(program.host)).toMatch(/"what" err="why"/);
});

it('given settings of an election that cannot work, then the process ends with 2', async () => {
  await using program = await runCombined({
    args: ['--controllers=resizer', '--leader-election', '--leader-election-lease-duration=1s'],
  });
  expect(await program.code).toBe(2);
  expect(lastLine(program.host)).toMatch(/Invalid leader election configuration" err=".+"/);
});

it.each([
  ['a defect', new TypeError('defect'), /csi-sidecars ends because of resizer" err="defect"/],
  ['an error of its program', new ExitError(1, 'what', { cause: new Error('why') }), /"what" err="why"/],
])('given %s and exit as the reaction, then the last line has its text and its cause', async (_, error, text) => {
  await using program = await runCombined({
    args: ['--controllers=resizer', '--controller-failure=exit'],
    sidecars: sidecarsWith({ resizer: failing(error) }),
  });
  expect(await program.code).toBe(1);
  expect(lastLine(program.host)).toMatch(text);
});

it('given a lost lease that the run did not hold, then a run that ends by itself has failed', async () => {
  const ending = preparing(async (context) => {
    const prepared = await sidecarsOfRepository.resizer.prepare(context);
    return {
      ...prepared,
      assemble: (ports) => ({ ...prepared.assemble(ports), run: () => Promise.resolve() }),
    };
  });
  await using program = await runCombined({
    args: ['--controllers=resizer', '--controller-failure=exit'],
    sidecars: sidecarsWith({ resizer: ending }),
  });
  expect(await program.code).toBe(1);
  expect(lastLine(program.host)).toMatch(/ends because of resizer" err="the controller ended without a reason"/);
});

it('given an address of the driver that can never work, then the process ends with 1', async () => {
  const host = fakeHost({ args: [four, '--csi-address=localhost:65536'] });
  expect(await runAll({ host, lifecycle: host.lifecycle, files: {} as never, platform: 'unix' })).toBe(1);
  expect([lastLine(host), host.connections()]).toEqual([
    expect.stringMatching(/Failed to connect to CSI driver.*no port 65536/),
    0,
  ]);
});
