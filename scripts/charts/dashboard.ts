// SPDX-License-Identifier: Apache-2.0
/** The Grafana dashboard of the chart csi-driver, as JSON. */

interface Query {
  readonly expr: string;
  readonly legend: string;
}
interface PanelSpec {
  readonly title: string;
  readonly unit?: string;
  readonly queries: readonly Query[];
}
interface Row {
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

const own = 'driver="$driver"';
const calls = 'driver_name="$driver"';
const query = (expr: string, legend: string): Query => ({ expr, legend });
const quantile = (share: number): Query =>
  query(
    `histogram_quantile(${share}, sum by (le, method_name) (rate(csi_sidecar_operations_seconds_bucket{${calls}}[$__rate_interval])))`,
    `p${share * 100} {{method_name}}`,
  );
const callsOf = (methods: string, title: string): PanelSpec => ({
  title,
  unit: 'ops',
  queries: [
    query(
      `sum by (method_name, grpc_status_code) (rate(csi_sidecar_operations_seconds_count{${calls},method_name=~"${methods}"}[$__rate_interval]))`,
      '{{method_name}} {{grpc_status_code}}',
    ),
  ],
});
const rateOf = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}{${own}}[$__rate_interval]))`;

const rows: readonly Row[] = [
  {
    title: 'Leaders',
    panels: [
      {
        title: 'Leaders of each sidecar',
        queries: [query(`sum by (container, name) (leader_election_master_status{${own}})`, '{{container}} {{name}}')],
      },
    ],
  },
  {
    title: 'Calls to the driver',
    panels: [
      {
        title: 'Calls',
        unit: 'ops',
        queries: [
          query(
            `sum by (method_name) (rate(csi_sidecar_operations_seconds_count{${calls}}[$__rate_interval]))`,
            '{{method_name}}',
          ),
        ],
      },
      {
        title: 'Share of calls that fail',
        unit: 'percentunit',
        queries: [
          query(
            `sum by (method_name) (rate(csi_sidecar_operations_seconds_count{${calls},grpc_status_code!="OK"}[$__rate_interval])) / sum by (method_name) (rate(csi_sidecar_operations_seconds_count{${calls}}[$__rate_interval]))`,
            '{{method_name}}',
          ),
        ],
      },
      { title: 'Duration of calls', unit: 's', queries: [quantile(0.5), quantile(0.95), quantile(0.99)] },
    ],
  },
  {
    title: 'Volumes and snapshots',
    panels: [
      {
        title: 'Provisioned and deleted',
        unit: 'ops',
        queries: [
          query(rateOf('controller_persistentvolumeclaim_provision_total', 'class'), 'provisioned {{class}}'),
          query(rateOf('controller_persistentvolumeclaim_provision_failed_total', 'class'), 'failed {{class}}'),
          query(rateOf('controller_persistentvolume_delete_total', 'class'), 'deleted {{class}}'),
          query(rateOf('controller_persistentvolume_delete_failed_total', 'class'), 'not deleted {{class}}'),
        ],
      },
      callsOf('.*/Controller(Unp|P)ublishVolume', 'Attach and detach'),
      callsOf('.*/Controller(Expand|Modify)Volume', 'Expand and modify'),
      callsOf('.*/(Create|Delete)(Volume)?(Group)?Snapshot', 'Snapshots'),
    ],
  },
  {
    title: 'Queues',
    panels: [
      {
        title: 'Waiting keys',
        queries: [query(`sum by (container, name) (workqueue_depth{${own}})`, '{{container}} {{name}}')],
      },
      {
        title: 'Added and repeated keys',
        unit: 'ops',
        queries: [
          query(rateOf('workqueue_adds_total', 'name'), 'added {{name}}'),
          query(rateOf('workqueue_retries_total', 'name'), 'repeated {{name}}'),
        ],
      },
      {
        title: 'Waiting and working, 99th percentile',
        unit: 's',
        queries: [
          query(
            `histogram_quantile(0.99, sum by (le, name) (rate(workqueue_queue_duration_seconds_bucket{${own}}[$__rate_interval])))`,
            'waiting {{name}}',
          ),
          query(
            `histogram_quantile(0.99, sum by (le, name) (rate(workqueue_work_duration_seconds_bucket{${own}}[$__rate_interval])))`,
            'working {{name}}',
          ),
        ],
      },
    ],
  },
  {
    title: 'API server and capacity',
    panels: [
      {
        title: 'Requests to the API server',
        unit: 'reqps',
        queries: [query(rateOf('rest_client_requests_total', 'container, code'), '{{container}} {{code}}')],
      },
      {
        title: 'CSIStorageCapacity objects',
        queries: [
          query(`csistoragecapacities_desired_goal{${own}}`, 'wanted {{pod}}'),
          query(`csistoragecapacities_desired_current{${own}}`, 'there {{pod}}'),
          query(`csistoragecapacities_obsolete{${own}}`, 'obsolete {{pod}}'),
        ],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [
          query(`process_resident_memory_bytes{${own}}`, 'resident {{container}} {{pod}}'),
          query(`process_anonymous_memory_bytes{${own}}`, 'anonymous {{container}} {{pod}}'),
        ],
      },
      {
        title: 'CPU',
        unit: 'short',
        queries: [query(`rate(process_cpu_seconds_total{${own}}[$__rate_interval])`, '{{container}} {{pod}}')],
      },
      {
        title: 'Age of the last watch event',
        unit: 's',
        queries: [query(`max by (container) (reflector_last_event_age_seconds{${own}})`, '{{container}}')],
      },
      {
        title: 'Restarts within an hour',
        queries: [
          query(
            'increase(kube_pod_container_status_restarts_total{namespace="$namespace"}[1h])',
            '{{container}} {{pod}}',
          ),
        ],
      },
    ],
  },
];

const datasource = { type: 'prometheus', uid: '${datasource}' };
const [gridWidth, height] = [24, 8];
/** No line of a row has a gap. */
const perLineOf = (count: number): number => (count === 4 ? 2 : Math.min(count, 3));

export function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: specs } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: gridWidth, h: 1 },
    });
    y += 1;
    const perLine = perLineOf(specs.length);
    const width = gridWidth / perLine;
    specs.forEach(({ title: panelTitle, unit = 'short', queries }, index) => {
      panels.push({
        id: panels.length + 1,
        type: 'timeseries',
        title: panelTitle,
        datasource,
        gridPos: { x: (index % perLine) * width, y: y + Math.floor(index / perLine) * height, w: width, h: height },
        fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
        options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
        targets: queries.map(({ expr, legend }, at) => ({
          refId: String.fromCodePoint(65 + at),
          datasource,
          expr,
          legendFormat: legend,
        })),
      });
    });
    y += Math.ceil(specs.length / perLine) * height;
  }
  return {
    title: 'CSI driver and sidecars',
    uid: 'csi-sidecars',
    tags: ['csi', 'storage'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          ...variable(
            'driver',
            'label_values(csi_sidecar_operations_seconds_count{driver_name!="unknown-driver"}, driver_name)',
          ),
          label: 'Driver',
        },
        {
          ...variable('namespace', 'label_values(leader_election_master_status{driver="$driver"}, namespace)'),
          label: 'Namespace',
        },
      ],
    },
    panels,
  };
}

const variable = (name: string, text: string): object => ({
  name,
  type: 'query',
  datasource,
  query: { query: text, refId: name },
  refresh: 2,
  sort: 1,
});
