// SPDX-License-Identifier: Apache-2.0
/** What both charts, rendered by helm, say to Prometheus: the alert rules, and the labels that the monitors give to each container. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { chartsFolder, render } from '../../../charts/testing/helm.ts';
import { type Manifest, ofKind, one } from '../../../charts/testing/manifest.ts';
import { metricsIn } from '../../../charts/testing/metrics.ts';
import type { Dashboard } from './dashboard.ts';
import type { RuleGroups } from './promtool.ts';
import { type Labels, namespace } from './series.ts';

const chart = 'csi-driver';

export interface Monitoring {
  /** By the name of the chart. */
  readonly rules: Readonly<Record<'csi-driver' | 'snapshot-controller', RuleGroups>>;
  readonly dashboard: Dashboard;
  /** The labels of a container's series in the pod of this number. */
  labelsOf(container: string, pod: number): Labels;
}

interface Endpoint {
  readonly port: string;
  readonly relabelings: readonly { readonly targetLabel: string; readonly replacement: string }[];
}
interface Monitor {
  readonly selector: { readonly matchLabels: Labels };
  readonly endpoints?: readonly Endpoint[];
  readonly podMetricsEndpoints?: readonly Endpoint[];
}

export interface MonitoringOptions {
  readonly driverName: string;
  /**
   * How much longer than in the recording a second is in the series. What the programs themselves measure in seconds is not stretched,
   * so thresholds for it are shortened.
   */
  readonly stretch: number;
  /** Values of the chart of the driver, over the others. */
  readonly alerts?: Readonly<Record<string, object>>;
}

/** Alerts whose threshold is a number of seconds. */
const inSeconds: readonly string[] = ['CSIOperationSlow', 'CSIQueueStuck'];

export async function renderMonitoring({ driverName, stretch, alerts }: MonitoringOptions): Promise<Monitoring> {
  const shortened = inSeconds.map((name) => [name, { threshold: defaultThreshold(name) / stretch }]);
  const monitors = { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } };
  const [ofDriver, ofSnapshots] = await Promise.all([
    render({
      chart,
      files: [join(chartsFolder, chart, 'ci', 'minimal.yaml')],
      values: {
        driver: { name: driverName },
        // Alerts about what is off are not rendered.
        features: { capacity: true, snapshots: true, healthMonitor: true, snapshotMetadata: true },
        sidecars: { snapshotMetadata: { tlsSecretName: 'tls' } },
        metrics: {
          enabled: true,
          dashboard: { enabled: true },
          rules: { enabled: true, alerts: { ...Object.fromEntries(shortened), ...alerts } },
          ...monitors,
        },
      },
      namespace,
    }),
    render({
      chart: 'snapshot-controller',
      values: {
        image: { registry: 'registry.example.com' },
        controller: { enableDataSourceValidator: true },
        metrics: { enabled: true, rules: { enabled: true }, serviceMonitor: monitors.serviceMonitor },
      },
      release: 'snapshot-controller',
      namespace,
    }),
  ]);
  return {
    rules: { 'csi-driver': rulesIn(ofDriver), 'snapshot-controller': rulesIn(ofSnapshots) },
    dashboard: dashboardIn(ofDriver),
    labelsOf: (container, pod) => {
      const labels = labelsIn([...ofDriver, ...ofSnapshots], container);
      return {
        ...labels,
        pod: `${labels['job']?.replace(/-metrics$/, '')}-${pod}`,
        instance: `10.0.0.${pod + 1}:9800`,
      };
    },
  };
}

/** The names of all metrics that the rules and the dashboard read. */
export function metricsOf({ rules, dashboard }: Monitoring): ReadonlySet<string> {
  const ofRules = Object.values(rules).flatMap(({ groups }) => groups.flatMap((group) => group.rules));
  const ofPanels = dashboard.panels.flatMap(({ targets = [] }) => targets);
  return new Set([...ofRules, ...ofPanels].flatMap(({ expr }) => metricsIn(expr)));
}

export function alertsOf({ groups }: RuleGroups): readonly string[] {
  return groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
}

function rulesIn(objects: readonly Manifest[]): RuleGroups {
  return one(objects, 'PrometheusRule').spec as RuleGroups;
}

/** The ConfigMap that Grafana finds by its label. */
function dashboardIn(objects: readonly Manifest[]): Dashboard {
  const found = ofKind(objects, 'ConfigMap').filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1');
  const [text] = found.flatMap(({ data = {} }) => Object.values(data));
  if (text === undefined) throw new Error('no dashboard is rendered');
  return JSON.parse(text) as Dashboard;
}

function defaultThreshold(alert: string): number {
  const values = load(readFileSync(join(chartsFolder, chart, 'values.yaml'), 'utf8')) as {
    readonly metrics: { readonly rules: { readonly alerts: Record<string, { readonly threshold: number }> } };
  };
  return values.metrics.rules.alerts[alert]!.threshold;
}

/** As the Prometheus operator and the relabelings of the monitors make them. */
function labelsIn(objects: readonly Manifest[], container: string): Labels {
  for (const { kind, spec } of [...ofKind(objects, 'ServiceMonitor'), ...ofKind(objects, 'PodMonitor')]) {
    const { selector, endpoints = [], podMetricsEndpoints = [] } = spec as Monitor;
    for (const { port, relabelings } of [...endpoints, ...podMetricsEndpoints]) {
      const replaced = Object.fromEntries(
        relabelings.map(({ targetLabel, replacement }) => [targetLabel, replacement]),
      );
      // livenessprobe is in both pods. Here it is the one on a node.
      if (replaced['container'] !== container) continue;
      if (kind === 'ServiceMonitor' && container === 'liveness-probe') continue;
      const service = ofKind(objects, 'Service').find(({ metadata: { labels = {} } }) =>
        Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value),
      );
      const ofService =
        kind === 'ServiceMonitor' ? { job: service!.metadata.name, service: service!.metadata.name } : {};
      return { namespace, endpoint: port, container, ...ofService, ...replaced };
    }
  }
  throw new Error(`no monitor scrapes the container ${container}`);
}
