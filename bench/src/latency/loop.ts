// SPDX-License-Identifier: Apache-2.0
/** A loop that makes 100 runs a second, each with a call of 5 ms, and the time from a change to the end of its run. */
import * as runtime from '@csi-sidecars/runtime';
import * as internal from '@csi-sidecars/runtime/internal';

interface BenchLoop extends runtime.LoopTypes {
  readonly key: string;
  readonly watched: object;
  readonly observed: { readonly key: string };
  readonly conclusion: runtime.Conclusion;
}

export const callMs = 5;
const keys = 1_000;

/** Milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export interface BusyLoop extends AsyncDisposable {
  /** Makes runs until `whileBusy` settles, and resolves with their latency. */
  readonly measure: (whileBusy: Promise<unknown>) => Promise<Latency>;
}

export function startLoop(
  ports: Pick<runtime.ControllerPorts, 'clock' | 'random' | 'logger' | 'metrics' | 'inspection'>,
): BusyLoop {
  const { clock } = ports;
  const changedMs = new Map<string, number>();
  let tookMs: number[] = [];
  let wake: (key: string) => void = () => undefined;
  const loop = runtime.defineLoop<BenchLoop>({
    name: 'bench',
    settings: { workerThreads: 10, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
    watches: {},
    handlers: {},
    sources: [(given) => void (wake = given)],
    observe: (_caches, key) => ({ key }),
    *flow({ key }) {
      yield* runtime.perform('B1', () => clock.sleep(callMs));
      tookMs.push(clock.monotonicMs() - (changedMs.get(key) ?? 0));
      return runtime.conclude('B2', runtime.done);
    },
  });
  const others = {
    client: {} as runtime.ApiClient,
    informers: {} as runtime.InformerFactory,
    queueMetrics: internal.createWorkQueueMetrics(ports.metrics),
  };
  const stop = new AbortController();
  const running = runtime.createController({ ...ports, ...others }, [loop]).run(stop.signal);
  return {
    async measure(whileBusy) {
      tookMs = [];
      const over = new AbortController();
      const end = whileBusy.finally(() => over.abort());
      for (let tick = 0; !over.signal.aborted; tick += 1) {
        const key = `key-${tick % keys}`;
        changedMs.set(key, clock.monotonicMs());
        wake(key);
        await clock.sleep(10);
      }
      await end;
      const sorted = tookMs.toSorted((a, b) => a - b);
      const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
      return { p50: at(0.5), p99: at(0.99) };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** Columns of a table: both alone, both busy, and how much the 99th percentile grew. */
export function columnsOf(alone: Latency, busy: Latency): readonly string[] {
  const ms = [alone.p50, alone.p99, busy.p50, busy.p99].map((value) => `${value.toFixed(2)} ms`);
  return [...ms, (busy.p99 / alone.p99).toFixed(2)];
}
