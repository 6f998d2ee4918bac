// SPDX-License-Identifier: Apache-2.0
/** Every values file: accepted by `helm lint --strict`, rendered as the golden file says, valid for three minors of Kubernetes. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartsFolder, hasHelm, lint, renderText, type RenderOptions } from '../../../testing/helm.ts';
import { hasKubeconform, nonconforming } from '../../../testing/kubeconform.ts';
import { comparable, digestOf, goldenPath, valuesFiles, type ValuesFile } from '../../../testing/matrix.ts';
import { ensureKubernetesSchemas } from '../../../../e2e/src/tools/kubernetes-schemas.ts';
import { writeDefinitionSchemas } from '../../../testing/schemas.ts';
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

  it('given helm template, then the objects are those of the golden file', async () => {
    await expect(comparable(await renderText(optionsOf(file)))).toMatchFileSnapshot(
      goldenPath(chart, `${file.name}.yaml`),
    );
  });
});

it.skipIf(!hasHelm)('given the templates and values, then the golden files were made from them', async () => {
  await expect(`${digestOf(chart)}\n`).toMatchFileSnapshot(goldenPath(chart, 'digest.txt'));
});

describe.skipIf(!hasHelm || !hasKubeconform)('schemas of Kubernetes', () => {
  let definitions: string;
  beforeAll(() => {
    definitions = mkdtempSync(join(tmpdir(), 'chart-schemas-'));
    writeDefinitionSchemas(definitions);
  });
  afterAll(() => rmSync(definitions, { recursive: true }));

  it('given a field that does not exist, then kubeconform finds it', async () => {
    const wrong =
      'apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: a}\nspec: {selector: {}, podMetricsEndpoint: []}\n';
    expect(await nonconforming(wrong, [definitions])).toEqual([expect.stringContaining('podMetricsEndpoint')]);
  });

  it.each(valuesFiles(chart))(
    'given the values file $name, then its objects are valid for each minor',
    async (file) => {
      const rendered = await renderText(optionsOf(file));
      for (const { minor, folder } of await ensureKubernetesSchemas()) {
        expect(await nonconforming(rendered, [folder, definitions]), minor).toEqual([]);
      }
    },
  );
});
