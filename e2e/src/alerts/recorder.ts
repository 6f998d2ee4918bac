// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the metrics of every program of a stage again and again, as Prometheus does. What others say about the pods in a cluster is
 * derived from the processes: a run that ended is a restart of its container, and without the driver the pod of the node is not available.
 */
import { readExposition } from '../scenarios/observability/exposition.ts';
import { request } from '../suite-client/request.ts';
import { type Monitoring, metricsOf } from './monitoring.ts';
import { namespace, type Series, seriesOf } from './series.ts';
import type { Stage, Watched } from './stage.ts';

export interface RecordOptions {
  readonly monitoring: Monitoring;
  /** At most. */
  readonly scrapes: number;
  readonly intervalMs: number;
  /** Ends the recording when scrapes are slow. */
  readonly limitMs: number;
  /** What happens just before the scrape of this number. */
  readonly before: (scrape: number) => Promise<void>;
}

interface Recorded {
  readonly watched: Watched;
  /** What it answered: read at the end, because the control plane is in this process too. */
  readonly texts: (string | undefined)[];
  readonly restarts: number[];
}

/** The time limit of a scrape, as a part of the interval. */
const timeoutShare = 0.8;

export async function record(stage: Stage, options: RecordOptions): Promise<readonly Series[]> {
  const { ctx, watched } = stage;
  const { clock } = ctx.testRun;
  const { monitoring, scrapes, intervalMs, limitMs } = options;
  const recorded: readonly Recorded[] = watched.map((each) => ({ watched: each, texts: [], restarts: [] }));
  const unavailable: number[] = [];
  let dueMs = clock.monotonicMs();
  const endMs = dueMs + limitMs;
  for (let at = 0; at < scrapes && clock.monotonicMs() < endMs; at += 1) {
    await options.before(at);
    await clock.sleep(Math.max(0, dueMs - clock.monotonicMs()), ctx.signal);
    // After a pause it does not hurry.
    dueMs = clock.monotonicMs() + intervalMs;
    await Promise.all(
      recorded.map(async (each) => {
        each.restarts.push(each.watched.process.exits.length);
        each.texts.push(await scrape(each.watched, intervalMs * timeoutShare));
      }),
    );
    unavailable.push(ctx.driver.process.pid === undefined ? 1 : 0);
  }
  const metrics = metricsOf(monitoring);
  return [
    ...recorded.flatMap((each) => {
      const labels = monitoring.labelsOf(each.watched.container, each.watched.pod);
      const scrapes = each.texts.map((text) => (text === undefined ? undefined : readExposition(text)));
      return [...seriesOf({ labels, scrapes }, metrics), restartsOf(labels, each.restarts)];
    }),
    {
      name: 'kube_daemonset_status_number_unavailable',
      labels: { job: 'kube-state-metrics', namespace, daemonset: 'test-csi-driver-node' },
      grows: false,
      values: unavailable,
    },
  ];
}

async function scrape({ container, origin }: Watched, timeoutMs: number): Promise<string | undefined> {
  // kubelet asks the probe more often than that.
  if (container === 'liveness-probe') {
    await request({ url: `${origin}/healthz`, timeoutMs }).catch(() => undefined);
  }
  const answer = await request({ url: `${origin}/metrics`, timeoutMs }).catch(() => undefined);
  return answer?.status === 200 ? answer.text : undefined;
}

function restartsOf(labels: Readonly<Record<string, string>>, values: readonly number[]): Series {
  const { container = '', pod = '' } = labels;
  return {
    name: 'kube_pod_container_status_restarts_total',
    labels: { job: 'kube-state-metrics', namespace, pod, container },
    grows: true,
    values,
  };
}
