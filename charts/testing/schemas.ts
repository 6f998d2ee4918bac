// SPDX-License-Identifier: Apache-2.0
/** JSON schemas of custom resources that charts render, for kubeconform. Those of Kubernetes: e2e/src/tools/kubernetes-schemas.ts. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { chartsFolder } from './helm.ts';

type Schema = Readonly<Record<string, unknown>>;
interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

/** Writes the schemas of custom resources into a folder: those of the snapshot API from its definitions, the others from this repository. */
export function writeDefinitionSchemas(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const path of globSync('snapshot-controller/files/crds/*.yaml', { cwd: chartsFolder })) {
    const { spec } = load(readFileSync(join(chartsFolder, path), 'utf8')) as Definition;
    for (const { name, schema } of spec.versions) {
      write(folder, [spec.names.kind, spec.group, name], strict(schema.openAPIV3Schema));
    }
  }
  for (const [key, schema] of Object.entries(foreign)) {
    const [kind = '', group = '', version = ''] = key.split(' ');
    write(folder, [kind, group, version], schema);
  }
}

function write(folder: string, [kind = '', group = '', version = '']: readonly string[], schema: Schema): void {
  const file = `${kind.toLowerCase()}-${group.split('.')[0]!}-${version}.json`;
  writeFileSync(join(folder, file), JSON.stringify(schema));
}

/** No other fields than those that are listed, except in `metadata`. */
function strict(schema: Schema): Schema {
  const { properties, items, ...rest } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
  } & Schema;
  return {
    ...rest,
    ...(items !== undefined && { items: strict(items) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, name === 'metadata' ? each : strict(each)]),
      ),
      additionalProperties: false,
    }),
  };
}

const text: Schema = { type: 'string' };
const closed = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  // Draft 4 refuses an empty list.
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const object = (spec: Schema): Schema =>
  closed({ apiVersion: text, kind: text, metadata: { type: 'object' }, spec }, [
    'apiVersion',
    'kind',
    'metadata',
    'spec',
  ]);
const labels: Schema = { type: 'object', additionalProperties: text };
const relabeling = closed({
  action: {
    enum: ['replace', 'keep', 'drop', 'labelmap', 'labeldrop', 'labelkeep', 'hashmod', 'lowercase', 'uppercase'],
  },
  targetLabel: text,
  replacement: text,
  sourceLabels: listOf(text),
  regex: text,
  separator: text,
});
const endpoint = closed(
  {
    port: text,
    path: { type: 'string', pattern: '^/' },
    honorLabels: { type: 'boolean' },
    interval: text,
    scrapeTimeout: text,
    relabelings: listOf(relabeling),
    metricRelabelings: listOf(relabeling),
  },
  ['port'],
);
const selector = closed({ matchLabels: labels });
const namespaceSelector = closed({ matchNames: listOf(text), any: { type: 'boolean' } });

/** The fields that charts use, in the words of the definitions of the Prometheus operator and of external-snapshot-metadata. */
const foreign: Readonly<Record<string, Schema>> = {
  'ServiceMonitor monitoring.coreos.com v1': object(
    closed({ namespaceSelector, selector, endpoints: listOf(endpoint) }, ['selector', 'endpoints']),
  ),
  'PodMonitor monitoring.coreos.com v1': object(
    closed({ namespaceSelector, selector, podMetricsEndpoints: listOf(endpoint) }, ['selector', 'podMetricsEndpoints']),
  ),
  'PrometheusRule monitoring.coreos.com v1': object(
    closed({
      groups: listOf(
        closed({
          name: text,
          rules: listOf(closed({ alert: text, expr: text, for: text, labels, annotations: labels }, ['alert', 'expr'])),
        }),
      ),
    }),
  ),
  'SnapshotMetadataService cbt.storage.k8s.io v1beta1': object(
    closed({ address: text, audience: text, caCert: text }, ['address', 'audience', 'caCert']),
  ),
};
