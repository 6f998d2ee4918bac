// SPDX-License-Identifier: Apache-2.0
/**
 * O-02: the alert rules of both charts, and the queries of the dashboard, evaluated by promtool over what our programs showed in good and in bad times. The metrics are
 * recorded here, on the simulated control plane, every half second; in the series a scrape follows the other after thirty seconds, and the
 * end of each recording is repeated until they are an hour long or more. Durations that a program is given are shortened as much: a minute is a second.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasHelm } from '../../../charts/testing/helm.ts';
import { inParallel } from '../in-parallel.ts';
import { machineNeedsMet } from '../scenarios/test-run.ts';
import { type Evaluated, evaluatePanels, offeredValues } from './dashboard.ts';
import { alertsOf, renderMonitoring } from './monitoring.ts';
import { namespace } from './series.ts';
import { checkRules, type Evaluation, hasPromtool, testRules } from './promtool.ts';
import { inputOf, type Recording, recorded } from './recordings.ts';
import { situations } from './situations.ts';

const scrapes = 48;
/** Less than the half minute that a sidecar waits for its driver before it ends: so it ends once in a recording without driver. */
const recordingMs = 26_000;
/** Recordings at a time: more of them need more than two cores, and then scrapes come late. */
const atOnce = 4;
const limitMs = 400_000;

const canRun = hasHelm && hasPromtool && machineNeedsMet(process.env).includes('host-names');

describe.skipIf(!canRun)('[O-02] the alerts and the dashboard of the charts', () => {
  const recordings = new Map<string, Recording>();
  const stop = new AbortController();
  beforeAll(async () => {
    await inParallel(situations, atOnce, async (each) => {
      recordings.set(each.id, await recorded(each, { scrapes, limitMs: recordingMs, signal: stop.signal }));
    });
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
      // The failure shows everything that promtool printed.
      expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout });
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

  it('given the dashboard, then each of its queries is valid and shows data in one of the situations', async () => {
    const shown = new Set<string>();
    const all = new Set<string>();
    for (const each of recordings.values()) {
      for (const { panel, queries } of await evaluatePanels(shownIn(each))) {
        for (const { expr, lines } of queries) {
          const name = `${panel.title}: ${expr}`;
          all.add(name);
          if (lines.length > 0) shown.add(name);
        }
      }
    }
    expect(all.size).toBeGreaterThan(0);
    expect([...all].filter((name) => !shown.has(name))).toEqual([]);
  }, 60_000);

  it('given the healthy run, then the variables of the dashboard offer its driver and its namespace, and nothing else', async () => {
    const options = shownIn(recordings.get('healthy')!);
    expect(await offeredValues(options)).toEqual(
      new Map([
        ['driver', new Set([options.driverName])],
        ['namespace', new Set([namespace])],
      ]),
    );
  });

  it('given a query that is not valid, then the evaluation fails and names it', async () => {
    const options = shownIn(recordings.get('healthy')!);
    const [panel] = options.dashboard.panels.filter(({ targets }) => targets !== undefined);
    const broken = { ...panel!, targets: [{ expr: 'sum by container (up)', legendFormat: '' }] };
    const dashboard = { ...options.dashboard, panels: [broken] };
    await expect(evaluatePanels({ ...options, dashboard })).rejects.toThrow('sum by container (up)');
  });
});

function evaluationOf(recording: Recording): Evaluation {
  return { ...inputOf(recording), rules: Object.values(recording.monitoring.rules) };
}

/** Every five minutes. */
function shownIn(recording: Recording): Evaluated {
  const { driverName, monitoring } = recording;
  const input = inputOf(recording);
  const count = (input.samples * input.intervalSeconds) / 300;
  const times = Array.from({ length: count }, (_, at) => at * 300);
  return { dashboard: monitoring.dashboard, driverName, input, times };
}
