// SPDX-License-Identifier: Apache-2.0
/**
 * What `--enable-pprof` offers, in V8's formats instead of Go's:
 *
 * | Path | Answer |
 * |---|---|
 * | `/debug/pprof/` | the list |
 * | `/debug/pprof/cmdline` | the arguments, separated by NUL |
 * | `/debug/pprof/profile?seconds=30` | a CPU profile (`.cpuprofile`, opens in DevTools and editors) |
 * | `/debug/pprof/heap?seconds=10` | allocations of that time that are still alive, sampled (`.heapprofile`) |
 *
 * One profile at a time; another request meanwhile is a 409. The inspector is loaded with the first of them, so the flag
 * costs nothing until then. No heap snapshots: they double the memory of the process and block it.
 */
import type { Clock } from '../clock/clock.ts';
import type { HttpHandler, HttpRequest, HttpResponse, HttpRoute } from './diagnostics-server.ts';

const defaultCpuSeconds = 30;
const defaultHeapSeconds = 10;
const longestSeconds = 300;

/** The part of an inspector session that is used here. */
interface Session {
  connect(): void;
  disconnect(): void;
  post(method: string): Promise<unknown>;
}

type Profile = { readonly start: readonly string[]; readonly stop: string; readonly fileName: string };

const cpuProfile: Profile = {
  start: ['Profiler.enable', 'Profiler.start'],
  stop: 'Profiler.stop',
  fileName: 'cpu.cpuprofile',
};
const heapProfile: Profile = {
  start: ['HeapProfiler.enable', 'HeapProfiler.startSampling'],
  stop: 'HeapProfiler.stopSampling',
  fileName: 'heap.heapprofile',
};

export interface ProfilingDeps {
  readonly clock: Clock;
  readonly argv: readonly string[];
}

export function profilingRoutes({ clock, argv }: ProfilingDeps): readonly HttpRoute[] {
  let isBusy = false;

  const profiler =
    (profile: Profile, defaultSeconds: number): HttpHandler =>
    async ({ query, signal }: HttpRequest): Promise<HttpResponse> => {
      const seconds = secondsOf(query, defaultSeconds);
      if (seconds > longestSeconds) return { status: 400, body: `seconds must be at most ${longestSeconds}\n` };
      if (isBusy) return { status: 409, body: 'another profile is being taken\n' };
      isBusy = true;
      try {
        const result = await record(profile, () => clock.sleep(seconds * 1000, signal));
        const headers = {
          'content-type': 'application/json',
          'content-disposition': `attachment; filename="${profile.fileName}"`,
        };
        return { status: 200, headers, body: JSON.stringify(result) };
      } finally {
        isBusy = false;
      }
    };

  const index: HttpHandler = ({ path }) =>
    path === '/debug/pprof/'
      ? { status: 200, body: 'cmdline\nprofile?seconds=30\nheap?seconds=10\n' }
      : { status: 404, body: 'Unknown profile\n' };
  return [
    { path: '/debug/pprof/', handler: index },
    { path: '/debug/pprof/cmdline', handler: () => ({ status: 200, body: argv.join('\0') }) },
    { path: '/debug/pprof/profile', handler: profiler(cpuProfile, defaultCpuSeconds) },
    { path: '/debug/pprof/heap', handler: profiler(heapProfile, defaultHeapSeconds) },
  ];
}

/** As in Go, anything but a positive number means the default. */
function secondsOf(query: URLSearchParams, fallback: number): number {
  const seconds = Number(query.get('seconds') ?? '');
  return seconds > 0 ? seconds : fallback;
}

async function record({ start, stop }: Profile, during: () => Promise<void>): Promise<unknown> {
  const inspector = await import('node:inspector/promises');
  const session: Session = new inspector.Session();
  session.connect();
  try {
    for (const method of start) await session.post(method);
    await during();
    const { profile } = (await session.post(stop)) as { readonly profile: unknown };
    return profile;
  } finally {
    session.disconnect();
  }
}
