// SPDX-License-Identifier: Apache-2.0
/** Every values file: accepted by `helm lint --strict`, valid for three minors of Kubernetes, and those of `ci` rendered as the golden file says. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartsFolder, hasHelm, lint, renderText, type RenderOptions } from '../../../testing/helm.ts';
import { hasKubeconform, nonconforming } from '../../../testing/kubeconform.ts';
import { goldenOf, smallest } from '../../../testing/golden.ts';
import { comparable, digestOf, goldenPath, valuesFiles, type ValuesFile } from '../../../testing/matrix.ts';
import { ensureKubernetesSchemas } from '../../../../e2e/src/tools/kubernetes-schemas.ts';
import { chart } from '../minimal.ts';

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'chart-parent-'));
  for (const folder of ['charts', 'templates']) mkdirSync(join(parent, folder));
  cpSync(join(chartsFolder, chart), join(parent, 'charts', chart), { recursive: true });
  writeFileSync(
    join(parent, 'Chart.yaml'),
    `apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n  - {name: ${chart}, version: '*', repository: ''}\n`,
  );
});
afterAll(() => rmSync(parent, { recursive: true }));

function optionsOf({ path, kubeVersion, apiVersions, isForParent }: ValuesFile): RenderOptions {
  return { chart: isForParent ? parent : chart, files: [path], kubeVersion, apiVersions };
}

describe.skipIf(!hasHelm).each(valuesFiles(chart))('values file $name', (file) => {
  it('given helm lint --strict, then it finds nothing', async () => {
    expect(await lint(optionsOf(file))).toMatch(/1 chart\(s\) linted, 0 chart\(s\) failed/);
  });
});

const ofTests = valuesFiles(chart).filter(({ isExample }) => !isExample);
/** Each file has a driver of its own; its name is in every object. */
const rendered = async (file: ValuesFile): Promise<string> =>
  comparable(await renderText(optionsOf(file))).replaceAll(/[a-z-]+\.csi\.example\.com/g, 'driver.csi.example.com');

let base: Promise<string> | undefined;

describe.skipIf(!hasHelm).each(ofTests)('values file $name', (file) => {
  it('given helm template, then the objects differ from those of the smallest values as the golden file says', async () => {
    const { name } = file;
    base ??= rendered(ofTests.find((each) => each.name === smallest)!);
    const golden = goldenOf(chart, 'yaml', { name, text: await rendered(file), smallest: await base });
    await expect(golden.text).toMatchFileSnapshot(golden.path);
  });
});

it.skipIf(!hasHelm)('given the templates and values, then the golden files were made from them', async () => {
  await expect(`${digestOf(chart)}\n`).toMatchFileSnapshot(goldenPath(chart, 'digest.txt'));
});

/** As a cluster of that minor would render it, which may lack a kind. */
function onMinor(file: ValuesFile, minor: string, folder: string): ValuesFile {
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

  it.each(valuesFiles(chart))(
    'given the values file $name, then its objects are valid for each minor',
    async (file) => {
      for (const { minor, folder } of schemas) {
        const rendered = await renderText({ ...optionsOf(onMinor(file, minor, folder)), withTests: true });
        expect(await nonconforming(rendered, [folder]), minor).toEqual([]);
      }
    },
    60_000,
  );
});
