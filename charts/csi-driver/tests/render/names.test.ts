// SPDX-License-Identifier: Apache-2.0
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chartsFolder, hasHelm, render } from '../../../testing/helm.ts';
import { isWorkload, nameOf, ofKind, one, podOf, workload } from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { chart, driverName, everyApi, refusalWith, renderWith } from '../minimal.ts';

const longest = 53;
const everything = {
  metrics: { enabled: true, dashboard: { enabled: true }, rules: { enabled: true } },
  node: { windows: { enabled: true } },
  networkPolicy: { enabled: true },
};

describe.skipIf(!hasHelm)('names and labels', () => {
  it('[packaging#25] given a release name of 53 characters, then every name is valid and differs from the others; one more, and helm refuses', async () => {
    const names = async (release: string): Promise<readonly string[]> =>
      (await renderWith(everything, { release, apiVersions: everyApi }))
        .filter(({ metadata }) => metadata.namespace !== undefined)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const [first, second] = await Promise.all([names('a'.repeat(longest)), names(`${'a'.repeat(longest - 1)}b`)]);
    for (const name of first) expect(name.split(' ')[1]!.length, name).toBeLessThanOrEqual(63);
    expect(new Set(first).size).toBe(first.length);
    expect(first.some((name) => name.endsWith('-controller-metrics'))).toBe(true);
    expect(first.filter((name) => second.includes(name))).toEqual([]);
    expect(await refusalWith({}, { release: 'a'.repeat(longest + 1) })).toMatch(/release name/);
  });

  it('[packaging#26] given an app version with build metadata, then the label has an underscore in place of the plus', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-'));
    try {
      cpSync(join(chartsFolder, chart), folder, { recursive: true });
      writeFileSync(
        join(folder, 'Chart.yaml'),
        'apiVersion: v2\nname: csi-driver\nversion: 1.0.0+chart.1\nappVersion: 1.2.3+build.4\n',
      );
      const minimal = valuesFiles(chart).find(({ name }) => name === 'minimal')!;
      const objects = await render({
        chart: folder,
        files: [minimal.path],
        values: { sidecars: { image: { registry: 'r.example.com' } } },
      });
      const labels = one(objects, 'Deployment').metadata.labels;
      expect(labels?.['app.kubernetes.io/version']).toBe('1.2.3_build.4');
      expect(labels?.['helm.sh/chart']).toBe('csi-driver-1.0.0_chart.1');
      const images = podOf(one(objects, 'Deployment')).containers.map(({ image }) => image);
      expect(images).toContain('r.example.com/csi-provisioner:v1.2.3_build.4');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('given the objects, then they have the common labels, and selectors have exactly name, instance and component', async () => {
    const objects = await renderWith({ commonLabels: { team: 'storage' }, controller: { podLabels: { mine: 'x' } } });
    for (const { kind, metadata } of objects) {
      expect(metadata.labels, kind).toMatchObject({
        'app.kubernetes.io/name': 'csi-driver',
        'app.kubernetes.io/instance': 'test',
        'app.kubernetes.io/part-of': driverName,
        'app.kubernetes.io/managed-by': 'Helm',
        team: 'storage',
      });
    }
    for (const object of objects.filter(isWorkload)) {
      const component = object.metadata.labels?.['app.kubernetes.io/component'];
      expect(workload(object).selector.matchLabels).toEqual({
        'app.kubernetes.io/name': 'csi-driver',
        'app.kubernetes.io/instance': 'test',
        'app.kubernetes.io/component': component,
      });
      expect(workload(object).template.metadata.labels).toMatchObject(workload(object).selector.matchLabels);
    }
  });

  it('given a release, a namespace and a class whose names are digits only, then every name and label is still a text', async () => {
    const values = {
      ...everything,
      // A Service's name begins with a letter.
      fullnameOverride: 'a',
      serviceAccount: { controller: { name: '1' }, node: { name: '2' } },
      storageClasses: [{ name: '3', secrets: { provisioner: { name: '4', namespace: '5' } } }],
      node: { ...everything.node, extraDaemonSets: { 6: {} } },
    };
    const objects = await renderWith(values, { release: '7', namespace: '8', apiVersions: everyApi });
    const leaves = (value: unknown): readonly unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value];
    for (const object of objects) {
      const { selector, template } = isWorkload(object)
        ? workload(object)
        : { selector: undefined, template: undefined };
      const named = [object.metadata, object.subjects, selector, template?.metadata, template?.spec.serviceAccountName];
      const others = leaves(named).filter((value) => value !== undefined && typeof value !== 'string');
      expect(others, nameOf(object)).toEqual([]);
    }
    expect(one(objects, 'StorageClass').metadata.name).toBe('3');
  });

  it('given cluster-wide objects, then their names begin with the name of the driver, of which there can be one', async () => {
    const objects = (await renderWith()).filter(({ metadata }) => metadata.namespace === undefined);
    expect(objects.length).toBeGreaterThan(6);
    expect(objects.filter(({ metadata }) => !metadata.name.startsWith(driverName))).toEqual([]);
  });

  it('[packaging#32] given two releases of one driver, then they claim the same CSIDriver, so that helm refuses the second', async () => {
    const clusterWide = async (release: string): Promise<readonly string[]> =>
      (await renderWith({}, { release }))
        .filter(({ metadata }) => metadata.namespace === undefined)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const [first, second] = await Promise.all([clusterWide('one'), clusterWide('two')]);
    expect(first).toContain(`CSIDriver ${driverName}`);
    expect(second).toEqual(first);
  });

  it('[packaging#46] given pull secrets as names and as objects, then pods name them as objects, each once', async () => {
    const objects = await renderWith({
      imagePullSecrets: ['a', { name: 'b' }],
      global: { imagePullSecrets: ['b', 'c'] },
    });
    for (const object of objects.filter(isWorkload)) {
      expect(podOf(object).imagePullSecrets).toEqual([{ name: 'b' }, { name: 'c' }, { name: 'a' }]);
    }
    expect(await refusalWith({ imagePullSecrets: [{ key: 'a' }] })).toMatch(/imagePullSecrets/);
  });

  it('[packaging#47] given the chart as a dependency, then global values of any kind and `enabled` are accepted', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parent-'));
    try {
      mkdirSync(join(folder, 'charts'));
      cpSync(join(chartsFolder, chart), join(folder, 'charts', chart), { recursive: true });
      writeFileSync(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: parent\nversion: 1.0.0\n');
      const values = valuesFiles(chart).find(({ name }) => name === 'sub-chart')!;
      const objects = await render({ chart: folder, files: [values.path] });
      const images = ofKind(objects, 'Deployment').flatMap((each) => podOf(each).containers.map(({ image }) => image));
      expect(images).toContain('mirror.example.com/registry.k8s.io/sig-storage/csi-provisioner:v6.4.0');
      expect(images).toContain('mirror.example.com/registry.example.com/driver:v1.2.3');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('given a value that the chart does not know, then the schema refuses it at any depth', async () => {
    for (const values of [
      { drivr: {} },
      { sidecars: { attacher: { strictTopology: true } } },
      { controller: { pdb: { max: 1 } } },
    ]) {
      expect(await refusalWith(values)).toMatch(/additional properties/i);
    }
  });
});
