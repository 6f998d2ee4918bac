// SPDX-License-Identifier: Apache-2.0
/**
 * Every values file of every chart: accepted by `helm lint --strict`, valid for three minors of Kubernetes, and its objects keep to the rules of
 * this repository. What a reviewer reads is in golden files.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureKubernetesSchemas } from '../../../../e2e/src/tools/kubernetes-schemas.ts';
import { goldenOf, reviewed, smallest } from '../../golden.ts';
import { chartsFolder, hasHelm, lint, renderText, toManifests, type RenderOptions } from '../../helm.ts';
import { programOf, unknownTo } from '../../known-flags.ts';
import { hasKubeconform, nonconforming } from '../../kubeconform.ts';
import { containersOf, isWorkload, podOf, type Manifest } from '../../manifest.ts';
import { digestOf, goldenPath, valuesFiles } from '../../matrix.ts';
import { securityLevelOf, violations, type Allowance } from '../../policy.ts';

const releases: Readonly<Record<string, string>> = {
  'csi-driver': 'test',
  'snapshot-controller': 'snapshot-controller',
};
const files = Object.keys(releases).flatMap((chart) => valuesFiles(chart).map((file) => ({ chart, ...file })));
type File = (typeof files)[number];
const forTests = files.filter(({ isExample }) => !isExample);
const named = (chart: string, name: string): File => files.find((file) => file.chart === chart && file.name === name)!;

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'chart-parent-'));
  for (const folder of ['charts', 'templates']) mkdirSync(join(parent, folder));
  cpSync(join(chartsFolder, 'csi-driver'), join(parent, 'charts', 'csi-driver'), { recursive: true });
  writeFileSync(
    join(parent, 'Chart.yaml'),
    `apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n  - {name: csi-driver, version: '*', repository: ''}\n`,
  );
});
afterAll(() => rmSync(parent, { recursive: true }));

function optionsOf({ chart, path, kubeVersion, apiVersions, isForParent }: File): RenderOptions {
  return { chart: isForParent ? parent : chart, files: [path], kubeVersion, apiVersions, release: releases[chart]! };
}

const texts = new Map<string, Promise<string>>();
function textOf(file: File): Promise<string> {
  const known = texts.get(file.path);
  const text = known ?? renderText(optionsOf(file));
  if (known === undefined) texts.set(file.path, text);
  return text;
}
const objectsOf = async (chart: string, name: string): Promise<readonly Manifest[]> =>
  toManifests(await textOf(named(chart, name)));

describe.skipIf(!hasHelm).each(files)('values file $name of $chart', (file) => {
  it('given helm lint --strict, then it finds nothing', async () => {
    expect(await lint(optionsOf(file))).toMatch(/1 chart\(s\) linted, 0 chart\(s\) failed/);
  });
});

describe.skipIf(!hasHelm)('golden files', () => {
  it.each(forTests.filter(({ name }) => name === smallest || reviewed.includes(name)))(
    'given the values file $name of $chart, then all objects of the smallest values and the differences of the others are as a reviewer accepted them',
    async ({ chart, name }) => {
      const golden = await goldenOf(chart, name, (each) => textOf(named(chart, each)));
      await expect(golden.text).toMatchFileSnapshot(golden.path);
    },
  );

  it.each(Object.keys(releases))(
    'given the templates and values of %s, then the golden files were made from them, and there is no other',
    async (chart) => {
      await expect(`${digestOf(chart)}\n`).toMatchFileSnapshot(goldenPath(chart, 'digest.txt'));
      const names = readdirSync(goldenPath(chart, '')).filter((name) => name !== 'digest.txt');
      const expected = forTests.filter((file) => file.chart === chart && reviewed.includes(file.name));
      expect(names.sort()).toEqual([`${smallest}.yaml`, ...expected.map(({ name }) => `${name}.diff`)].sort());
    },
  );
});

/** kubelet's folders, and what drivers need. */
const hostPaths = [
  /(^|\/|\\)kubelet(\/|\\)(plugins|plugins_registry|pods)((\/|\\)[a-z0-9.-]+)?$/,
  /^\/(dev|sys|lib\/modules)$/,
  /^\\\\\.\\pipe\\csi-proxy-[a-z]+-v1$/,
];
/** livenessprobe is watched by the probe of the driver, which it serves. */
const unprobed = ['liveness-probe'];
/** Without election csi-provisioner and csi-snapshotter have no path that a probe could ask. */
const withoutElection = [...unprobed, 'csi-provisioner', 'csi-snapshotter'];

describe.skipIf(!hasHelm).each(forTests)('objects of $name of $chart', ({ chart, name }) => {
  it('given the rules for permissions, images, security contexts, resources and probes, then no object breaks one', async () => {
    const ofDriver = chart === 'csi-driver';
    const allowance: Allowance = {
      hostPaths: ofDriver ? hostPaths : [],
      hostNetwork: name === 'hostnetwork',
      unprobed: !ofDriver ? [] : name === 'distributed' ? withoutElection : unprobed,
    };
    const objects = await objectsOf(chart, name);
    expect(violations(objects, allowance)).toEqual([]);
    const onHostNetwork = violations(objects, { ...allowance, hostNetwork: false });
    // Pods on Windows nodes have no other network.
    expect(onHostNetwork.length).toBe(name === 'hostnetwork' ? objects.filter(isWorkload).length : 0);
  });

  it('given the arguments that the chart renders, then the programs know all flags and gates', async () => {
    const containers = (await objectsOf(chart, name))
      .filter(isWorkload)
      .flatMap((object) => (podOf(object).os?.name === 'windows' ? [] : containersOf(podOf(object))))
      .filter((container) => Object.hasOwn(programOf, container.name));
    expect(containers.length).toBeGreaterThan(name === 'crds-only' ? -1 : 0);
    for (const container of containers) expect(unknownTo(container), container.name).toEqual([]);
  });
});

describe.skipIf(!hasHelm)('a chart as a dependency', () => {
  it('given the smallest values from a parent, then the objects are the same, but for the name of the driver and the registry of all images', async () => {
    const asOwn = (await textOf(named('csi-driver', smallest)))
      .replaceAll('minimal.csi.example.com', 'sub-chart.csi.example.com')
      .replaceAll('minimal-csi-example-com', 'sub-chart-csi-example-com')
      .replaceAll(/ image: /g, ' image: mirror.example.com/');
    expect(await objectsOf('csi-driver', 'sub-chart')).toEqual(toManifests(asOwn));
  });
});

describe.skipIf(!hasHelm)('Pod Security', () => {
  it.each([
    ['restricted', 'Deployment', 'restricted'],
    ['minimal', 'Deployment', 'baseline'],
    ['combined', 'Deployment', 'baseline'],
    ['minimal', 'DaemonSet', 'privileged'],
  ])('given the values file %s, then its %s passes %s and nothing stricter', async (name, kind, level) => {
    const object = (await objectsOf('csi-driver', name)).find((each) => each.kind === kind)!;
    expect(securityLevelOf(podOf(object))).toBe(level);
  });
});

/** As a cluster of that minor would render it, which may lack a kind. */
function onMinor(file: File, minor: string, folder: string): File {
  const hasClasses = existsSync(join(folder, 'volumeattributesclass-storage-v1.json'));
  return {
    ...file,
    kubeVersion: `${minor}.0`,
    apiVersions: file.apiVersions.filter((api) => hasClasses || !api.endsWith('/VolumeAttributesClass')),
  };
}

describe.skipIf(!hasHelm || !hasKubeconform)('schemas of Kubernetes', () => {
  let schemas: Awaited<ReturnType<typeof ensureKubernetesSchemas>>;
  // The first time it downloads three versions of Kubernetes' module.
  beforeAll(async () => {
    schemas = await ensureKubernetesSchemas();
  }, 600_000);

  it('given a field that does not exist, then kubeconform finds it for each of three minors', async () => {
    const wrong = [
      'apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: a}\nspec: {selector: {}, podMetricsEndpoint: []}\n',
      'apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {port: []}\n',
    ].join('---\n');
    expect(schemas.length).toBe(3);
    for (const { folder } of schemas) {
      const found = await nonconforming(wrong, [folder]);
      expect([...found].sort()).toEqual([
        expect.stringMatching(/^PodMonitor a: .*podMetricsEndpoint/s),
        expect.stringMatching(/^Service b: .*port/s),
      ]);
    }
  });

  it.each(files)(
    'given the values file $name of $chart, then its objects are valid for each minor',
    async (file) => {
      for (const { minor, folder } of schemas) {
        const rendered = await renderText({ ...optionsOf(onMinor(file, minor, folder)), withTests: true });
        expect(await nonconforming(rendered, [folder]), minor).toEqual([]);
      }
    },
    60_000,
  );
});
