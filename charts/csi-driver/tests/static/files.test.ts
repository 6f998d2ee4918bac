// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { dashboard } from '../../../../scripts/charts/dashboard.ts';
import { chartsFolder } from '../../../testing/helm.ts';
import { documentedMetrics, metricsIn } from '../../../testing/metrics.ts';
import { chart } from '../minimal.ts';

const folder = join(chartsFolder, chart);

describe('the dashboard', () => {
  const { panels } = dashboard() as {
    readonly panels: readonly {
      readonly id: number;
      readonly title: string;
      readonly targets?: readonly { readonly expr: string }[];
    }[];
  };
  const expressions = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

  it('given its expressions, then each metric is one that a program or the cluster exports', () => {
    const known = documentedMetrics();
    expect(expressions.length).toBeGreaterThan(20);
    for (const { title, expr } of expressions) {
      const metrics = metricsIn(expr);
      expect(metrics.length, title).toBeGreaterThan(0);
      expect(
        metrics.filter((metric) => !known.has(metric)),
        title,
      ).toEqual([]);
    }
  });

  it('given its file, then it is the one that the script writes, and panels have different ids', () => {
    expect(JSON.parse(readFileSync(join(folder, 'files', 'dashboard.json'), 'utf8'))).toEqual(dashboard());
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

describe('metrics of an expression', () => {
  it.each([
    ['sum by (a, b) (rate(x_total{job="y"}[5m])) / z > 0.2', ['x_total', 'z']],
    ['histogram_quantile(0.99, sum by (le) (rate(d_bucket{m=~".*/(A|B)C"}[15m])))', ['d_bucket']],
    ['increase(failed[1m]) > 3 unless increase(done[1m]) > 0', ['failed', 'done']],
    ['up{job=~"x-.*"} == 0', ['up']],
  ])('given %s, then they are %j', (expression, metrics) => {
    expect(metricsIn(expression)).toEqual(metrics);
  });
});

describe('files/rbac.yaml', () => {
  const { sidecars } = load(readFileSync(join(folder, 'files', 'rbac.yaml'), 'utf8')) as {
    readonly sidecars: Readonly<
      Record<
        string,
        Readonly<
          Record<'minimal' | 'compatible', readonly { readonly feature: string; readonly verbs: readonly string[] }[]>
        >
      >
    >;
  };

  it('given each rule, then it names a feature that the templates know', () => {
    const features = readFileSync(join(folder, 'templates', '_features.tpl'), 'utf8');
    const named = Object.values(sidecars).flatMap(({ minimal, compatible }) =>
      [...minimal, ...compatible].map(({ feature }) => feature),
    );
    const unknown = [...new Set(named)].filter(
      (feature) => !['always', 'upstream'].includes(feature) && !features.includes(`\n${feature}: `),
    );
    expect(unknown).toEqual([]);
    expect(named.length).toBeGreaterThan(50);
  });
});
