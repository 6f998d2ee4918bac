// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { noMetrics, type MetricOptions } from '../metrics/metrics.ts';
import { recordingMetrics } from '../../testing/index.ts';
import { registerLaneMetrics } from './lane-metrics.ts';

it('given the families of lanes, then the page of our metrics has a row for each, with its help', () => {
  const families: MetricOptions[] = [];
  const gauge = (options: MetricOptions) => {
    families.push(options);
    return { set: () => undefined };
  };
  registerLaneMetrics({ ...noMetrics, gauge }, () => []);
  const page = readFileSync(new URL('../../../../docs/reference/metrics.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `csi_sidecars_workqueue_lane_'));
  expect(rows).toEqual(
    families.map(({ name, help }) => `| \`${name}\` | gauge | \`name\`, \`lane\` | csi-attacher | ${help} |`),
  );
});

it('given queues of two names with lanes of one name, then each queue has its own series', () => {
  const metrics = recordingMetrics();
  const state = { lane: 'in', inFlight: 0, oldestWaitingMs: 0 };
  registerLaneMetrics(metrics, () => [
    ['attachments', { ...state, waiting: 2 }],
    ['claims', { ...state, waiting: 5 }],
  ]);
  const waiting = (name: string) => metrics.value('csi_sidecars_workqueue_lane_waiting', { name, lane: 'in' });
  expect([waiting('attachments'), waiting('claims')]).toEqual([2, 5]);
});
