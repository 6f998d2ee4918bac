// SPDX-License-Identifier: Apache-2.0
/** Every chart without helm: its golden files are up to date, its schema is valid, and the rules that rendered objects keep to. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { chartsFolder } from './helm.ts';
import type { Manifest } from './manifest.ts';
import { digestOf, goldenPath } from './matrix.ts';
import { violations, type Allowance } from './policy.ts';

it.each(['csi-driver', 'snapshot-controller'])(
  'given templates, values and files of the chart %s, then its golden files were made from them (npm run charts -- -u)',
  (chart) => {
    expect(readFileSync(goldenPath(chart, 'digest.txt'), 'utf8').trim()).toBe(digestOf(chart));
  },
);

it.each(['csi-driver', 'snapshot-controller'])(
  'given the meta-schema of draft-07, then the schema of %s is valid, and refuses a value that it does not know',
  (chart) => {
    const read = (file: string): object => load(readFileSync(join(chartsFolder, chart, file), 'utf8')) as object;
    const schema = read('values.schema.json');
    const ajv = new Ajv({ strict: false, allErrors: true });
    const unknown = (values: object): readonly object[] => {
      const validate = ajv.compile(schema);
      validate(values);
      return (validate.errors ?? []).filter(({ keyword }) => keyword === 'additionalProperties');
    };
    expect(schema).toMatchObject({ $schema: 'http://json-schema.org/draft-07/schema#' });
    expect(ajv.validateSchema(schema)).toBe(true);
    expect(unknown(read('values.yaml'))).toEqual([]);
    expect(unknown({ ...read('values.yaml'), contoller: {} })).toHaveLength(1);
  },
);

describe('the rules themselves', () => {
  const role = (verbs: readonly string[], resources = ['pods']): Manifest => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'a' },
    rules: [{ apiGroups: [''], resources, verbs }],
  });
  const workloadWith = (container: object, pod: object = {}): Manifest => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a' },
    spec: { template: { spec: { automountServiceAccountToken: false, containers: [container], ...pod } } },
  });
  const good = {
    name: 'c',
    image: 'c:v1',
    resources: { requests: { cpu: '1m' } },
    securityContext: { readOnlyRootFilesystem: true },
    livenessProbe: { httpGet: { path: '/', port: 1 } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const allowance: Allowance = { hostPaths: [], hostNetwork: false, unprobed: [] };

  it.each<{ readonly what: string; readonly object: Manifest; readonly found: string }>([
    { what: 'a wildcard', object: role(['*']), found: 'ClusterRole a: wildcard in a rule' },
    { what: 'the right to escalate', object: role(['escalate']), found: 'ClusterRole a: verbs escalate' },
    { what: 'a list of secrets', object: role(['list'], ['secrets']), found: 'ClusterRole a: lists secrets' },
    {
      what: 'no tag',
      object: workloadWith({ ...good, image: 'c' }),
      found: 'Deployment a: c: image without tag and digest: c',
    },
    {
      what: 'the tag latest',
      object: workloadWith({ ...good, image: 'c:latest' }),
      found: 'Deployment a: c: image latest',
    },
    { what: 'no resources', object: workloadWith({ ...good, resources: {} }), found: 'Deployment a: c: no requests' },
    {
      what: 'no probe',
      object: workloadWith({ ...good, livenessProbe: undefined }),
      found: 'Deployment a: c: no probe',
    },
    {
      what: 'a probe by exec',
      object: workloadWith({ ...good, livenessProbe: { exec: {} } }),
      found: 'Deployment a: c: a probe that starts a process',
    },
    {
      what: 'a writable root',
      object: workloadWith({ ...good, securityContext: {} }),
      found: 'Deployment a: c: the root file system is writable',
    },
    {
      what: 'the host network',
      object: workloadWith(good, { hostNetwork: true }),
      found: 'Deployment a: host network',
    },
    {
      what: 'a host path',
      object: workloadWith(good, { volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
      found: 'Deployment a: volume v is the host path /',
    },
    {
      what: 'a token for all',
      object: workloadWith(good, { automountServiceAccountToken: true }),
      found: 'Deployment a: the token of the account is mounted into every container',
    },
    {
      what: 'a variable twice',
      object: workloadWith({ ...good, env: [{ name: 'A' }, { name: 'B' }, { name: 'A' }] }),
      found: 'Deployment a: two of c: variable A',
    },
    {
      what: 'a port twice',
      object: workloadWith({
        ...good,
        ports: [
          { name: 'x', containerPort: 1 },
          { name: 'y', containerPort: 1, protocol: 'TCP' },
        ],
      }),
      found: 'Deployment a: two of c: port 1 TCP',
    },
    {
      what: 'two mounts at one place',
      object: workloadWith({ ...good, volumeMounts: ['v', 'w'].map((name) => ({ name, mountPath: '/m' })) }),
      found: 'Deployment a: two of c: mount /m',
    },
    {
      what: 'two volumes of one name',
      object: workloadWith(good, { volumes: [{ name: 'v' }, { name: 'v' }] }),
      found: 'Deployment a: two of volume v',
    },
  ])('given $what, then it is found', ({ object, found }) => {
    expect(violations([object], allowance)).toEqual([found]);
  });

  it('given an object that keeps to the rules, then nothing is found', () => {
    expect(violations([workloadWith(good), role(['get'])], allowance)).toEqual([]);
  });
});
