// SPDX-License-Identifier: Apache-2.0
/**
 * Kinds of the Prometheus operator and of cert-manager, which the charts render where an API server has them. No Go module that is small
 * has their definitions as files, so these schemas are ours and name only the fields that the charts write, by the documentation of those
 * projects: a misspelt field is found, a field that they would refuse is not.
 */
import type { CustomKind } from './from-definitions.ts';
import type { Schema } from './json-schema.ts';

const string: Schema = { type: 'string' };
const strings: Schema = { type: 'array', items: string };
const labels: Schema = { type: 'object', additionalProperties: string };
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});
const list = (items: Schema): Schema => ({ type: 'array', items });
const selector = object({
  matchLabels: labels,
  matchExpressions: list(object({ key: string, operator: string, values: strings }, ['key', 'operator'])),
});
const relabeling = object({
  action: string,
  regex: string,
  replacement: string,
  separator: string,
  sourceLabels: strings,
  targetLabel: string,
});
const endpoint = object({
  port: string,
  path: string,
  scheme: string,
  interval: string,
  scrapeTimeout: string,
  honorLabels: { type: 'boolean' },
  relabelings: list(relabeling),
  metricRelabelings: list(relabeling),
});
const scraped = {
  jobLabel: string,
  selector,
  namespaceSelector: object({ any: { type: 'boolean' }, matchNames: strings }),
};
const rule = object({ alert: string, record: string, expr: string, for: string, labels, annotations: labels }, [
  'expr',
]);

const ofPrometheus = (kind: string, spec: Schema): CustomKind => ({
  group: 'monitoring.coreos.com',
  version: 'v1',
  kind,
  schema: object({ spec }, ['spec']),
});

/** Cluster-scoped kinds: that of external-snapshot-metadata. */
export const othersClusterSchemas: readonly CustomKind[] = [
  {
    group: 'cbt.storage.k8s.io',
    version: 'v1beta1',
    kind: 'SnapshotMetadataService',
    schema: object(
      { spec: object({ address: string, audience: string, caCert: string }, ['address', 'audience', 'caCert']) },
      ['spec'],
    ),
  },
];

export const othersSchemas: readonly CustomKind[] = [
  ofPrometheus('ServiceMonitor', object({ ...scraped, endpoints: list(endpoint) }, ['endpoints', 'selector'])),
  ofPrometheus('PodMonitor', object({ ...scraped, podMetricsEndpoints: list(endpoint) }, ['selector'])),
  ofPrometheus(
    'PrometheusRule',
    object({ groups: list(object({ name: string, interval: string, rules: list(rule) }, ['name'])) }),
  ),
  {
    group: 'cert-manager.io',
    version: 'v1',
    kind: 'Certificate',
    schema: object(
      {
        spec: object(
          {
            secretName: string,
            dnsNames: strings,
            duration: string,
            renewBefore: string,
            usages: strings,
            issuerRef: object({ name: string, kind: string, group: string }, ['name']),
          },
          ['issuerRef', 'secretName'],
        ),
      },
      ['spec'],
    ),
  },
];
