// SPDX-License-Identifier: Apache-2.0
/** What can be checked without helm. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { ownVersion } from '../../../../images/src/facts.ts';
import { chartsFolder } from '../../../testing/helm.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { chart } from '../minimal.ts';

type Values = Record<string, unknown>;

const folder = join(chartsFolder, chart);
const schema = JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8')) as Values;
const ajv = new Ajv({ strict: false, allErrors: true });
const validate: ValidateFunction = ajv.compile(schema);
const defaults = load(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values;

/** As helm does it: maps are merged, everything else is replaced. */
function merged(base: Values, over: Values): Values {
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = result[key];
    const areMaps = [old, value].every((each) => typeof each === 'object' && each !== null && !Array.isArray(each));
    result[key] = areMaps ? merged(old as Values, value as Values) : value;
  }
  return result;
}

function errorsOf(values: Values): readonly string[] {
  return validate(values)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const minimal: Values = merged(defaults, {
  driver: { name: 'a.example.com', image: { repository: 'driver', tag: 'v1' } },
});

describe('values.schema.json', () => {
  it('given values.yaml alone, then only what must be set is missing', () => {
    expect(new Set(errorsOf(defaults).map((error) => error.split(' ')[0]))).toEqual(
      new Set(['/driver/name', '/driver/image/repository']),
    );
  });

  it.each(valuesFiles(chart).filter(({ isForParent }) => !isForParent))(
    'given the values file $name, then it is accepted',
    ({ path }) => {
      expect(errorsOf(merged(defaults, load(readFileSync(path, 'utf8')) as Values))).toEqual([]);
    },
  );

  it.each<{ readonly what: string; readonly values: Values; readonly at: string }>([
    { what: 'a name with an underscore', values: { driver: { name: 'a_b' } }, at: '/driver/name' },
    { what: 'a name of 64 characters', values: { driver: { name: 'a'.repeat(64) } }, at: '/driver/name' },
    {
      what: 'a digest that is none',
      values: { driver: { image: { digest: 'sha256:12' } } },
      at: '/driver/image/digest',
    },
    { what: 'an unknown mode', values: { mode: 'both' }, at: '/mode' },
    {
      what: 'a duration without a unit',
      values: { leaderElection: { leaseDuration: '15' } },
      at: '/leaderElection/leaseDuration',
    },
    {
      what: 'a duration that is a number',
      values: { leaderElection: { leaseDuration: 15 } },
      at: '/leaderElection/leaseDuration',
    },
    { what: 'a port of 0', values: { ports: { node: { livenessProbe: 0 } } }, at: '/ports/node/livenessProbe' },
    {
      what: 'Recreate with parameters of a rolling update',
      values: { controller: { strategy: { type: 'Recreate' } } },
      at: '/controller/strategy',
    },
    { what: 'a feature that is neither', values: { features: { snapshots: 'yes' } }, at: '/features/snapshots' },
    { what: 'a relative kubelet folder', values: { kubeletDir: 'var/lib/kubelet' }, at: '/kubeletDir' },
    {
      what: 'a snapshot class without a policy',
      values: { volumeSnapshotClasses: [{ name: 'a' }] },
      at: '/volumeSnapshotClasses/0',
    },
    {
      what: 'an attributes class without parameters',
      values: { volumeAttributesClasses: [{ name: 'a', parameters: {} }] },
      at: '/volumeAttributesClasses/0',
    },
    {
      what: 'a secret with a name and data',
      values: {
        storageClasses: [{ name: 'a', secrets: { provisioner: { name: 'x', namespace: 'y', data: { a: 'b' } } } }],
      },
      at: '/storageClasses/0',
    },
    {
      what: 'a limit of nodes below ten seconds',
      values: { csiDriver: { nodeAllocatableUpdatePeriodSeconds: 5 } },
      at: '/csiDriver/nodeAllocatableUpdatePeriodSeconds',
    },
    { what: 'a key that does not exist', values: { node: { hostNetworks: true } }, at: '/node' },
  ])('given $what, then it is refused', ({ values, at }) => {
    const errors = errorsOf(merged(minimal, values));
    expect(errors.filter((error) => error.startsWith(at))).not.toEqual([]);
  });

  it.each([
    ['/controller', 'replicas'],
    ['/controller', 'pdb'],
    ['/controller/pdb', 'enabled'],
    ['/csiDriver', 'create'],
    ['/ports/node', 'livenessProbe'],
    ['/sidecars', 'provisioner'],
    ['', 'features'],
  ])('given null for a default below %s that has no empty value, %s, then it is refused', (at, key) => {
    const values = structuredClone(minimal);
    const parent = at
      .split('/')
      .slice(1)
      .reduce<Values>((each, name) => each[name] as Values, values);
    // As helm does it.
    delete parent[key];
    expect(errorsOf(values)).toEqual([`${at} must have required property '${key}'`]);
  });

  it('given the minimal values and those of a parent chart, then they are accepted', () => {
    expect(errorsOf(minimal)).toEqual([]);
    expect(errorsOf(merged(minimal, { enabled: true, global: { anything: [1] } }))).toEqual([]);
    expect(errorsOf(merged(minimal, { controller: { strategy: { type: 'Recreate', rollingUpdate: null } } }))).toEqual(
      [],
    );
  });
});

describe('Chart.yaml', () => {
  const meta = load(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as Values;

  it('given the product, then the chart has its version, and says which Kubernetes it needs', () => {
    expect(meta).toMatchObject({ apiVersion: 'v2', name: chart, type: 'application', appVersion: ownVersion() });
    expect(meta['version']).toMatch(/^\d+\.\d+\.\d+$/);
    expect(meta['kubeVersion']).toMatch(/^>=1\.\d+\.0-0$/);
  });
});
