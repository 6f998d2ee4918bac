// SPDX-License-Identifier: Apache-2.0
/** Controllers beside each other in one process: who waits, who stops whom, and how the process ends. */
import { expect, it } from 'vitest';
import {
  createFakeApiServer,
  FakeClock,
  memoryFiles,
  recordingLogger,
  seededRandom,
  settle,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import type { ElectionResult } from '../lease/election-state.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { type Assembly, type AssemblyDeps, nothingOpened, type PreparedWork, runAssembly } from './assemble.ts';

interface Work {
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly before?: PreparedWork['before'];
}

/** Two controllers without leases, or elected by a function. */
function running(main: Work, other: Work, elect?: AssemblyDeps['elect']) {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const logger = recordingLogger();
  const { transport } = createFakeApiServer({ clock, random });
  const client = createApiClient({ transport, clock, logger }, { userAgent: 'test', qps: -1, burst: 0 });
  const stop = new AbortController();
  const prepared = ({ run, before }: Work): PreparedWork => ({ lease: undefined, before, assemble: () => ({ run }) });
  const assembly: Assembly<AsyncDisposable> = {
    connect: async () => ({ client, clientWith: () => client, close: () => Promise.resolve() }),
    open: () => Promise.resolve(nothingOpened),
    serve: () => Promise.resolve(undefined),
    prepare: async () => ({
      ...prepared(main),
      beside: [{ ...prepared(other), name: 'other', client, inspection: undefined, tracer: undefined }],
    }),
  };
  const deps = { clock, random, logger, metrics: noMetrics, files: memoryFiles(), env: {}, hostName: 'pod-1', elect };
  const result = runAssembly(deps, assembly, stop.signal);
  result.catch(() => undefined);
  return { clock, stop, result };
}

const untilStopped = (seen: unknown[]): Work => ({
  run: (signal) => {
    seen.push('works');
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        seen.push(signal.reason instanceof OrderlyStop ? 'stopped in order' : 'cut off');
        resolve();
      }),
    );
  },
});

it('given a controller that fails, then the one beside it is stopped in order, the failure is thrown, and no timer is left', async () => {
  const seen: unknown[] = [];
  const failure = Promise.withResolvers<void>();
  const { clock, result } = running({ run: () => failure.promise }, untilStopped(seen));
  await settle();
  failure.reject(new Error('broken'));
  await expect(result).rejects.toThrow('broken');
  expect([seen, clock.pending]).toEqual([['works', 'stopped in order'], 0]);
});

it('given a controller that has ended and one beside it that does not end, then the process ends after 25 s', async () => {
  const end = Promise.withResolvers<void>();
  const { clock, result } = running({ run: () => end.promise }, { run: () => new Promise(() => undefined) });
  await settle();
  end.resolve();
  await clock.advance(24_900);
  expect(await Promise.race([result, Promise.resolve('waits')])).toBe('waits');
  await clock.advance(200);
  expect(await result).toBe('lost');
});

it('given a controller that waits for something, then the one beside it works, and a stop ends both', async () => {
  const seen: unknown[] = [];
  const first: unknown[] = [];
  const before = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const { stop, result } = running({ ...untilStopped(first), before }, untilStopped(seen));
  await settle();
  expect([first, seen]).toEqual([[], ['works']]);
  stop.abort(new OrderlyStop());
  expect(await result).toBe('stopped');
  expect([first, seen]).toEqual([[], ['works', 'stopped in order']]);
});

it('given that what a controller waits for fails, then the failure is thrown, and the one beside it is stopped in order', async () => {
  const seen: unknown[] = [];
  const before = (): Promise<void> => Promise.reject(new Error('refused'));
  const { result } = running({ ...untilStopped([]), before }, untilStopped(seen));
  await expect(result).rejects.toThrow('refused');
  expect(seen).toEqual(['works', 'stopped in order']);
});

it.each<{ readonly first: ElectionResult; readonly second: ElectionResult; readonly then: ElectionResult }>([
  { first: 'lost', second: 'released', then: 'lost' },
  { first: 'released', second: 'lost', then: 'lost' },
  { first: 'stopped', second: 'released', then: 'stopped' },
  { first: 'released', second: 'released', then: 'released' },
])(
  'given an election that ends with $first and one beside it that then ends with $second, then the result is $then',
  async ({ first, second, then }) => {
    let count = 0;
    const elect: AssemblyDeps['elect'] = async (_, signal) => {
      count += 1;
      if (count === 1) return first;
      await new Promise((resolve) => (signal.aborted ? resolve(0) : signal.addEventListener('abort', resolve)));
      return second;
    };
    const { result } = running(untilStopped([]), untilStopped([]), elect);
    expect(await result).toBe(then);
  },
);
