// SPDX-License-Identifier: Apache-2.0
/** The limits of the export. The batches of the SDK wait in Node's timers, which are those of vitest here; our limits use the clock. */
import { emptyResource } from '@opentelemetry/resources';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { FakeClock, recordingLogger, recordingMetrics } from '@csi-sidecars/runtime/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSpanExport } from './export-spans.ts';
import type { RecordedRun } from './recorder.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];
/** `late`: refused after ten seconds. */
type Answer = Result | 'never' | 'late';
const ok: Result = { code: 0 };
const refused: Result = { code: 1, error: Object.assign(new Error('secret words of the collector'), { code: 503 }) };

function aRun(spans: number, startMs = 1_700_000_000_000.5): RecordedRun {
  const span = (index: number) =>
    ({
      name: `span ${index}`,
      kind: index === 0 ? 'internal' : 'client',
      spanId: String(index).padStart(16, '1'),
      parentId: index === 0 ? undefined : '1'.repeat(16),
      startMs,
      endMs: startMs + 2.25,
      result: index === 1 ? 'failed' : 'ended',
      attributes: { index },
    }) as const;
  return { traceId: 'a'.repeat(32), links: [], spans: Array.from({ length: spans }, (_, index) => span(index)) };
}

function setUp(answer: () => Answer = () => ok) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const batches: ReadableSpan[][] = [];
  const open: ((result: Result) => void)[] = [];
  let rejected = 0;
  let cuts = 0;
  const exporter: SpanExporter = {
    export: (spans, done) => {
      batches.push(spans);
      const given = answer();
      if (given === 'never') open.push(done);
      else if (given === 'late') clock.timer(10_000, () => done(refused));
      else done(given);
    },
    shutdown: async () => {
      if (open.length > 0) await new Promise(() => undefined);
    },
  };
  const exported = createSpanExport(
    {
      clock,
      logger,
      metrics,
      exporter,
      cutOff: () => {
        cuts += 1;
      },
      takeRejected: () => {
        const taken = rejected;
        rejected = 0;
        return taken;
      },
    },
    { resource: emptyResource, version: 'v1', collector: 'collector:4318' },
  );
  const pass = async (ms: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
    await clock.advance(ms);
  };
  const count = (result: string) => metrics.value('csi_sidecars_tracing_spans_total', { result }) ?? 0;
  return {
    clock,
    logger,
    batches,
    exported,
    pass,
    open,
    reject: (spans: number) => {
      rejected = spans;
    },
    cuts: () => cuts,
    counts: () => ({
      exported: count('exported'),
      dropped: count('dropped'),
      failed: count('failed'),
    }),
  };
}

describe('batches', () => {
  it('given a few spans, then they are exported together after five seconds; given 512, then at once', async () => {
    const { exported, batches, pass, counts } = setUp();
    exported.keep(aRun(3));
    await pass(4_999);
    expect(batches).toHaveLength(0);
    await pass(1);
    expect(batches.map((batch) => batch.length)).toEqual([3]);
    for (let runs = 0; runs < 16; runs += 1) exported.keep(aRun(32));
    expect(batches.map((batch) => batch.length)).toEqual([3, 512]);
    await pass(0);
    expect(counts()).toEqual({ exported: 515, dropped: 0, failed: 0 });
  });

  it('given a run, then its spans have their parent, kind, status and times in nanoseconds, and only the first has the links', async () => {
    const { exported, batches, pass } = setUp();
    exported.keep({ ...aRun(2), links: [{ traceId: 'b'.repeat(32), spanId: 'c'.repeat(16) }] });
    await pass(5_000);
    const [root, child] = batches[0]!;
    expect(root).toMatchObject({
      kind: 0,
      status: { code: 0 },
      startTime: [1_700_000_000, 500_000],
      endTime: [1_700_000_000, 2_750_000],
      duration: [0, 2_250_000],
      links: [{ context: { traceId: 'b'.repeat(32), spanId: 'c'.repeat(16) } }],
    });
    expect(root!.parentSpanContext).toBe(undefined);
    expect(child).toMatchObject({
      kind: 2,
      status: { code: 2 },
      links: [],
      parentSpanContext: { spanId: '1'.repeat(16) },
    });
    expect(child!.spanContext()).toEqual({ traceId: 'a'.repeat(32), spanId: '1111111111111111', traceFlags: 1 });
  });
});

describe('a collector that is away', () => {
  it('[explain#135] given a dead collector for an hour at 100 runs a second, then at most 2,048 spans wait, the newest are dropped and counted, and one line in ten minutes is logged', async () => {
    const { exported, batches, pass, counts, logger } = setUp(() => 'late');
    const run = aRun(5);
    let most = 0;
    for (let seconds = 5; seconds <= 3_600; seconds += 5) {
      for (let runs = 0; runs < 500; runs += 1) exported.keep(run);
      const { dropped, failed } = counts();
      most = Math.max(most, 500 * seconds - dropped - failed);
      await pass(5_000);
    }
    const { exported: sent, dropped, failed } = counts();
    expect(sent).toBe(0);
    expect(most).toBeGreaterThan(2_040);
    expect(most).toBeLessThanOrEqual(2_048);
    expect(dropped).toBeGreaterThan(failed);
    expect(batches.every((batch) => batch.length <= 512)).toBe(true);
    expect(logger.lines).toHaveLength(6);
    expect(logger.lines[0]).toMatchObject({
      message: 'Cannot export spans',
      facts: { collector: 'collector:4318', reason: 'HTTP status 503' },
    });
    expect(JSON.stringify(logger.lines)).not.toContain('secret');
  });

  it('[explain#135] given exports that do not return, then no more than 2,048 spans are held, a run is dropped as a whole, and each export is cut off after 15 seconds', async () => {
    const { exported, batches, pass, counts, cuts, open } = setUp(() => 'never');
    for (let runs = 0; runs < 60; runs += 1) exported.keep(aRun(40));
    expect(counts()).toEqual({ exported: 0, dropped: 9 * 40, failed: 0 });
    await pass(14_999);
    expect([cuts(), batches.length]).toEqual([0, 1]);
    await pass(1);
    expect([cuts(), counts().failed]).toEqual([1, 512]);
    open[0]?.(ok);
    expect(counts()).toEqual({ exported: 0, dropped: 9 * 40, failed: 512 });
    await pass(0);
    expect(batches).toHaveLength(2);
  });

  it('given a collector that comes back, then later spans are exported', async () => {
    const answers: Answer[] = [refused];
    const { exported, pass, counts } = setUp(() => answers.shift() ?? ok);
    exported.keep(aRun(2));
    await pass(5_000);
    exported.keep(aRun(3));
    await pass(5_000);
    expect(counts()).toEqual({ exported: 3, dropped: 0, failed: 2 });
  });

  it.each([
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [Object.assign(new Error('secret'), { code: 'secret words' }), 'no answer, or one that is not understood'],
    [undefined, 'no answer, or one that is not understood'],
  ])('given the failure %s, then its code is logged and never its text', async (error, reason) => {
    const { exported, pass, logger } = setUp(() => ({ code: 1, ...(error === undefined ? {} : { error }) }));
    exported.keep(aRun(1));
    await pass(5_000);
    expect(logger.lines.map(({ facts }) => facts)).toEqual([{ collector: 'collector:4318', reason, lost: 1 }]);
  });
});

it('given a collector that takes a batch without two of its spans, then those count as failed', async () => {
  const { exported, pass, counts, reject, logger } = setUp();
  exported.keep(aRun(5));
  reject(2);
  await pass(5_000);
  expect(counts()).toEqual({ exported: 3, dropped: 0, failed: 2 });
  expect(logger.lines[0]?.facts).toMatchObject({ reason: 'refused by the collector', lost: 2 });
  exported.keep(aRun(5));
  reject(9_000);
  await pass(5_000);
  expect(counts()).toEqual({ exported: 3, dropped: 0, failed: 7 });
});

describe('the end', () => {
  it('given 600 spans that wait, then all are exported at once', async () => {
    const { exported, counts } = setUp();
    for (let runs = 0; runs < 20; runs += 1) exported.keep(aRun(30));
    await exported.close();
    expect(counts()).toEqual({ exported: 600, dropped: 0, failed: 0 });
  });

  it('[explain#139] given 600 spans that wait and a collector that does not answer, then it ends after two seconds', async () => {
    const { exported, pass } = setUp(() => 'never');
    for (let runs = 0; runs < 20; runs += 1) exported.keep(aRun(30));
    let isOver = false;
    void exported.close().finally(() => (isOver = true));
    await pass(1_999);
    expect(isOver).toBe(false);
    await pass(1);
    expect(isOver).toBe(true);
  });

  it('given a collector that refuses the last spans, or spans after the end, then nothing is thrown', async () => {
    const { exported } = setUp(() => refused);
    exported.keep(aRun(1));
    await exported.close();
    exported.keep(aRun(1));
    await exported.close();
  });
});
