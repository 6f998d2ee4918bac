// SPDX-License-Identifier: Apache-2.0
/**
 * O-02: the alert rules of both charts, evaluated by promtool over what our programs showed in good and in bad times. The metrics are
 * recorded here, on the simulated control plane, every half second; in the series a scrape follows the other after thirty seconds, and the
 * end of each recording is repeated until they are an hour long or more. Durations that a program is given are shortened as much: a minute is a second.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '@csi-sidecars/runtime';
import { hasHelm } from '../../../charts/testing/helm.ts';
import { machineNeedsMet } from '../scenarios/test-run.ts';
import { alertsOf, type Monitoring, renderMonitoring } from './monitoring.ts';
import { checkRules, type Evaluation, hasPromtool, testRules } from './promtool.ts';
import { record } from './recorder.ts';
import { type Series, toInput } from './series.ts';
import { intervalMs, intervalSeconds, type Situation, situations, stretch, troubleAt } from './situations.ts';
import { openStage, untilScrapable } from './stage.ts';

const scrapes = 48;
/** Less than the half minute that a sidecar waits for its driver before it ends: so it ends once in a recording without driver. */
const recordingMs = 26_000;
/** 12 minutes: longer than the longest retry interval, and without the beginning of the trouble. */
const usualTail = 24;
const limitMs = 180_000;

interface Recording {
  readonly situation: Situation;
  readonly monitoring: Monitoring;
  readonly series: readonly Series[];
}

const canRun = hasHelm && hasPromtool && machineNeedsMet(process.env).includes('host-names');

describe.skipIf(!canRun)('[O-02] the alerts of the charts', () => {
  const recordings = new Map<string, Recording>();
  const stop = new AbortController();
  beforeAll(async () => {
    await Promise.all(situations.map(async (each) => recordings.set(each.id, await recorded(each, stop.signal))));
  }, limitMs);
  afterAll(() => stop.abort());

  it.each(['csi-driver', 'snapshot-controller'] as const)(
    'given the chart %s with all alerts, then promtool accepts its rules',
    async (chart) => {
      const { rules } = await renderMonitoring({ driverName: 'a.csi.test', stretch: 1 });
      const { code, stdout, stderr } = await checkRules(rules[chart]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`SUCCESS: ${alertsOf(rules[chart]).length} rules found`);
    },
  );

  it.each(situations)(
    'given $id: $title, then exactly the expected alerts fire',
    async ({ id, fires }) => {
      const { code, stdout, stderr } = await testRules(evaluationOf(recordings.get(id)!), fires);
      expect({ code, stderr, stdout }).toMatchObject({ code: 0, stderr: '' });
    },
    60_000,
  );

  it('given a recording of trouble, when no alert is expected, then the evaluation fails and names the one that fires', async () => {
    const { code, stderr } = await testRules(evaluationOf(recordings.get('backlog')!), []);
    expect(code).not.toBe(0);
    expect(stderr).toContain('got: {alertname="CSIQueueBacklog", container="csi-provisioner"}');
  });

  it('given all situations, then each alert of both charts is raised in one of them', async () => {
    const { rules } = await renderMonitoring({ driverName: 'a.csi.test', stretch: 1 });
    // The charts have alerts with the same name: which of them it is, its container says.
    const raised = new Set(
      situations.flatMap(({ fires }) =>
        fires.map(({ alert, container }) =>
          container === 'snapshot-controller' ? `snapshot-controller ${alert}` : `csi-driver ${alert}`,
        ),
      ),
    );
    const all = (['csi-driver', 'snapshot-controller'] as const).flatMap((chart) =>
      alertsOf(rules[chart]).map((alert) => `${chart} ${alert}`),
    );
    expect(all.length).toBeGreaterThan(0);
    expect(all.toSorted()).toEqual([...raised].toSorted());
  });
});

async function recorded(situation: Situation, signal: AbortSignal): Promise<Recording> {
  await using stack = new AsyncDisposableStack();
  const clock = systemClock();
  const stage = await openStage({ id: situation.id, clock, signal }, stack);
  await situation.prepare(stage);
  await untilScrapable(stage);
  const monitoring = await renderMonitoring({ driverName: stage.ctx.driverName, stretch });
  const end = new AbortController();
  let work: Promise<unknown> | undefined;
  const series = await record(stage, {
    monitoring,
    scrapes,
    intervalMs,
    limitMs: recordingMs,
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
  return { situation, monitoring, series };
}

function evaluationOf({ situation, monitoring, series }: Recording): Evaluation {
  const { hours = 1, tail = usualTail } = situation;
  const recorded = series[0]?.values.length ?? 0;
  if (recorded <= tail + troubleAt) throw new Error(`${situation.id}: only ${recorded} scrapes in ${recordingMs} ms`);
  const samples = (hours * 3600) / intervalSeconds;
  return {
    rules: Object.values(monitoring.rules),
    series: series.map((each) => toInput(each, { samples, tail })),
    intervalSeconds,
    samples,
  };
}
