// SPDX-License-Identifier: Apache-2.0
/** Records a situation from its first scrape to its last, and makes of it the series that promtool evaluates. */
import { systemClock } from '@csi-sidecars/runtime';
import { type Monitoring, renderMonitoring } from './monitoring.ts';
import type { SeriesInput } from './promtool.ts';
import { record } from './recorder.ts';
import { type Series, toInput } from './series.ts';
import { intervalMs, intervalSeconds, type Situation, stretch, troubleAt } from './situations.ts';
import { openStage, untilScrapable } from './stage.ts';

/** 12 minutes: longer than the longest retry interval, and without the beginning of the trouble. */
const usualTail = 24;

export interface Recording {
  readonly situation: Situation;
  readonly monitoring: Monitoring;
  readonly driverName: string;
  readonly series: readonly Series[];
}

export interface RecordedOptions {
  readonly scrapes: number;
  /** After which no scrape begins any more. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

export async function recorded(
  situation: Situation,
  { scrapes, limitMs, signal }: RecordedOptions,
): Promise<Recording> {
  await using stack = new AsyncDisposableStack();
  const clock = systemClock();
  const stage = await openStage({ id: situation.id, clock, signal }, stack);
  await situation.prepare(stage);
  await untilScrapable(stage);
  const { driverName } = stage.ctx;
  const monitoring = await renderMonitoring({ driverName, stretch });
  const end = new AbortController();
  let work: Promise<unknown> | undefined;
  const series = await record(stage, {
    monitoring,
    scrapes,
    intervalMs,
    limitMs,
    before: async (scrape) => {
      if (scrape !== troubleAt) return;
      await situation.begin?.(stage);
      // Its failure is looked at in the end.
      work = situation.work?.(stage, end.signal).catch((error: unknown) => (end.signal.aborted ? undefined : error));
    },
  });
  end.abort();
  const failure = await work;
  if (failure !== undefined) throw new Error(`${situation.id}: the work failed`, { cause: failure });
  // A call that hangs would delay their end.
  await Promise.all(stage.watched.map(({ process }) => process.destroy()));
  const length = series[0]?.values.length ?? 0;
  const written = (situation.written ?? []).map(({ name, container, labels, value }): Series => {
    const target = monitoring.labelsOf(container, 0);
    return { name, labels: { ...target, ...labels }, grows: false, values: Array.from({ length }, () => value) };
  });
  return { situation, monitoring, driverName, series: [...series, ...written] };
}

/** As long as the situation is to be. */
export function inputOf({ situation, series }: Recording): SeriesInput {
  const { hours = 1, tail = usualTail } = situation;
  const scrapes = series[0]?.values.length ?? 0;
  if (scrapes <= tail + troubleAt) throw new Error(`${situation.id}: there was time for ${scrapes} scrapes only`);
  const samples = (hours * 3600) / intervalSeconds;
  return { series: series.map((each) => toInput(each, { samples, tail })), intervalSeconds, samples };
}
