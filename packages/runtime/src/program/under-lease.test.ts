// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  memoryFiles,
  recordingLogger,
  recordingMetrics,
  seededRandom,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { Event } from '../api/objects.ts';
import { leases } from '../api/resource.ts';
import type { Transport } from '../api/transport.ts';
import type { LeaderElector } from '../lease/leader-elector.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { type LeaseDeps, type LeaseOptions, runUnderLease } from './under-lease.ts';

interface LeaderOptions extends Partial<LeaseOptions> {
  readonly env?: LeaseDeps['env'];
  readonly files?: Readonly<Record<string, string>>;
}

/** A leader whose work ends when it is stopped. Writing an event takes 100 ms, closing the connection 1 s. */
function aLeader({ env = {}, files = {}, ...lease }: LeaderOptions = {}) {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const logger = recordingLogger();
  const seen: string[] = [];
  const components = new Set<string | undefined>();
  const transport: Transport = async (request) => {
    if (!request.path.includes('/events')) return await server.transport(request);
    await clock.sleep(100);
    const response = await server.transport(request);
    const { message, source } = JSON.parse(Buffer.from(request.body ?? '{}').toString()) as Event;
    if (message !== undefined) seen.push(`event: ${message}`);
    if (source !== undefined) components.add(source.component);
    return response;
  };
  const stop = new AbortController();
  let elector: LeaderElector | undefined;
  const work = async (signal: AbortSignal): Promise<void> => {
    seen.push('works');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const deps: LeaseDeps = {
    clock,
    random: seededRandom(2),
    logger,
    metrics: recordingMetrics(),
    files: memoryFiles(files),
    env,
    hostName: 'pod-1',
    connect: async () => ({
      client: createApiClient({ transport, clock, logger }, { userAgent: 'test', qps: -1, burst: 0 }),
      close: async () => {
        seen.push('closes');
        await clock.sleep(1000);
        seen.push('closed');
      },
    }),
    onElector: (made) => void (elector = made),
  };
  const leased = { lease: { name: 'labels', releaseOnExit: true, ...lease }, work };
  void runUnderLease(deps, leased, stop.signal).then((result) => seen.push(result));
  return { clock, seen, components, stop, lease: () => server.objects.list(leases)[0], elector: () => elector };
}

it('given a leader that is stopped, then its events are written and its connection is closed before the election has ended', async () => {
  const { clock, seen, components, stop, elector } = aLeader({ identity: 'pod-1' });
  await clock.advance(5_000);
  expect([seen, elector()?.isLeader]).toEqual([['works', 'event: pod-1 became leader'], true]);
  stop.abort(new OrderlyStop());
  await clock.advance(2_000);
  expect(seen.slice(2)).toEqual(['event: pod-1 stopped leading', 'closes', 'closed', 'released']);
  expect(components).toEqual(new Set(['labels/pod-1']));
});

const file = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
const env = { POD_NAMESPACE: 'of-pod' };

it.each([
  { given: 'a namespace', options: { namespace: 'own', env, files: { [file]: 'of-account' } }, namespace: 'own' },
  { given: 'the one of the pod', options: { env, files: { [file]: 'of-account' } }, namespace: 'of-pod' },
  { given: 'the one of the service account', options: { files: { [file]: 'of-account\n' } }, namespace: 'of-account' },
  { given: 'no namespace', options: {}, namespace: 'default' },
])('given $given, then the lease is in the namespace $namespace', async ({ options, namespace }) => {
  const { clock, lease } = aLeader(options);
  await clock.advance(1);
  expect(lease()?.metadata?.namespace).toBe(namespace);
});

it.each([
  { given: 'an identity and a component', options: { identity: 'i', component: 'c' }, identity: /^i$/, component: 'c' },
  { given: 'neither', options: {}, identity: /^pod-1_[\da-f-]{36}$/, component: 'labels/pod-1' },
])(
  'given $given, then holder and events are named by them, or by the host',
  async ({ options, identity, component }) => {
    const { clock, lease, components } = aLeader(options);
    await clock.advance(1_000);
    expect(lease()?.spec?.holderIdentity).toMatch(identity);
    expect(components).toEqual(new Set([component]));
  },
);
