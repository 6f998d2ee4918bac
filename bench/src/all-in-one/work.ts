// SPDX-License-Identifier: Apache-2.0
/**
 * All controllers of a driver and livenessprobe, in one process and in five. Memory and CPU time are those of all processes of a make
 * together.
 */
import { rightOf, type Environment } from '@csi-sidecars/e2e';
import { driverFlags } from '../attacher/work.ts';
import type { Part, Work } from '../side-by-side/bench.ts';
import { type Implementation, implementationOf, type ProgramTerms } from '../side-by-side/implementations.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import type { Sidecar, BenchEnvironment } from '../side-by-side/environment.ts';
import { clear, perform, prepare, works } from './objects.ts';

/** A port that no other test environment has at the time: they run one after another. */
const probePort = 39_808;

const probe: ProgramTerms = {
  name: 'livenessprobe',
  workersFlag: undefined,
  flags: [`--http-endpoint=127.0.0.1:${probePort}`],
};

/** `csi-sidecars` with these controllers, beside the flags that some of them need. */
export const combinedOf = (controllers: readonly string[], flags: readonly string[] = []): ProgramTerms => ({
  name: 'csi-sidecars',
  workersFlag: '--worker-threads',
  flags: [`--controllers=${controllers.join(',')}`, '--workers=100', ...flags],
});

/** Upstream's only if `UPSTREAM_BIN` is set. */
export function threeMakes(
  env: Environment,
  { combined, separate }: Readonly<Record<'combined' | 'separate', readonly ProgramTerms[]>>,
): readonly Implementation[] {
  const { UPSTREAM_BIN: folder = '', ...own } = env;
  return [
    implementationOf('combined', combined, own),
    implementationOf('separate', separate, own),
    ...(folder === '' ? [] : [implementationOf('upstream', separate, env)]),
  ];
}

export const makes: NonNullable<Work['makes']> = (env, separate) => {
  const controllers = ['attacher', 'provisioner', 'resizer', 'snapshotter', 'livenessprobe'];
  const combined = combinedOf(controllers, [`--livenessprobe-http-endpoint=127.0.0.1:${probePort}`]);
  return threeMakes(env, { combined: [combined], separate: [...separate, probe] });
};

/** Every watch that was opened: none of these runs lasts as long as one of them. */
function countWatches(environment: BenchEnvironment, to: Recording): void {
  const open = environment.requests().filter(({ verb, resource }) => verb === 'watch' && resource !== 'leases');
  const kinds = Map.groupBy(open, (request) => rightOf(request).replace(/^watch /, ''));
  to.record('watches', open.length);
  to.count('watches', new Map([...kinds].map(([kind, requests]) => [kind, requests.length])));
}

function sum(sidecars: readonly Sidecar[], of: (pid: number) => number): number {
  return sidecars.reduce((total, { process: { pid } }) => total + of(pid), 0);
}

/** Starts all programs, and records their memory once they are idle. */
async function startAll(
  environment: BenchEnvironment,
  { settleMs, as }: Pick<Options, 'settleMs'> & { readonly as: string },
  to: Recording,
): Promise<readonly Sidecar[]> {
  const { clock, patience } = environment.cluster;
  const sidecars = await Promise.all(environment.programs.map((program) => environment.startSidecar({ program })));
  // Finished work proves that all caches are filled.
  for (const work of works) await perform(environment, work, { what: 'first', count: 1 });
  await clock.sleep(settleMs, patience.signal);
  to.record(
    `rss${as}`,
    sum(sidecars, (pid) => memoryOf(pid).rssMib),
  );
  to.record(
    `anon${as}`,
    sum(sidecars, (pid) => memoryOf(pid).anonMib),
  );
  return sidecars;
}

async function end(environment: BenchEnvironment, sidecars: readonly Sidecar[]): Promise<void> {
  for (const { process } of sidecars) await process.stop();
  await clear(environment);
}

const work: Part = async (environment, { load, settleMs }, to) => {
  const sidecars = await startAll(environment, { settleMs, as: 'Idle' }, to);
  const before = sum(sidecars, cpuSeconds);
  to.record('cpuStart', before);
  countWatches(environment, to);
  for (const each of works) to.record(each.rate, await perform(environment, each, { what: 'many', count: load }));
  to.record('cpuWork', ((sum(sidecars, cpuSeconds) - before) / load) * 1000);
  await end(environment, sidecars);
};

const foreign: Part = async (environment, { settleMs }, to) => {
  const sidecars = await startAll(environment, { settleMs, as: 'Foreign' }, to);
  to.record(
    'peakForeign',
    sum(sidecars, (pid) => memoryOf(pid).peakMib),
  );
  await end(environment, sidecars);
};

export { driverFlags, prepare };
export const parts: Readonly<Record<string, Part>> = { work, foreign };
