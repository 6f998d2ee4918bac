// SPDX-License-Identifier: Apache-2.0
/** What the panels of the chart's dashboard show over recorded series: their own queries, evaluated by the engine of Prometheus. */
import { evaluate, type Result, type SeriesInput } from './promtool.ts';
import { type Labels, namespace } from './series.ts';

/** The parts of Grafana's model that are looked at. */
export interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}
export interface GridPosition {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}
export interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: GridPosition;
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  /** Not in a row's title. */
  readonly targets?: readonly Target[];
}
interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}
interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
}

export interface Line {
  readonly legend: string;
  /** By time; undefined where there is nothing to draw. */
  readonly values: readonly (number | undefined)[];
}
export interface EvaluatedQuery {
  /** As it is in the dashboard. */
  readonly expr: string;
  readonly lines: readonly Line[];
}
export interface EvaluatedPanel {
  readonly panel: Panel;
  readonly queries: readonly EvaluatedQuery[];
}

export interface Evaluated {
  readonly dashboard: Dashboard;
  readonly driverName: string;
  readonly input: SeriesInput;
  /** Seconds. */
  readonly times: readonly number[];
}

/** Four scrapes, as Grafana has it for a graph in whose width there are no more points than scrapes. */
const scrapesOfRate = 4;

export async function evaluatePanels(options: Evaluated): Promise<readonly EvaluatedPanel[]> {
  const { dashboard, input, times } = options;
  const values = valuesFor(options);
  const exprs = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => replaced(expr, values)));
  const results = await evaluate({ ...input, exprs: [...new Set(exprs)], times });
  return dashboard.panels.map((panel) => ({
    panel,
    queries: (panel.targets ?? []).map(({ expr, legendFormat }) => ({
      expr,
      lines: linesOf(results.get(replaced(expr, values)) ?? [], legendFormat),
    })),
  }));
}

/** By the name of each variable that asks Prometheus, what it offers at any of the times. */
export async function offeredValues(options: Evaluated): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { dashboard, input, times } = options;
  const values = valuesFor(options);
  const asked = dashboard.templating.list
    .filter(({ type }) => type === 'query')
    .map(({ name, query }) => ({ name, ...labelValuesIn(typeof query === 'string' ? query : query.query) }))
    .map((each) => ({ ...each, expr: `group by (${each.label}) (${replaced(each.selector, values)})` }));
  const results = await evaluate({ ...input, exprs: asked.map(({ expr }) => expr), times });
  return new Map(
    asked.map(({ name, label, expr }) => [
      name,
      new Set((results.get(expr) ?? []).flat().map(({ labels }) => labels[label] ?? '')),
    ]),
  );
}

function labelValuesIn(query: string): { readonly selector: string; readonly label: string } {
  const [, selector, label] = /^label_values\((.*), *(\w+)\)$/.exec(query) ?? [];
  if (selector === undefined || label === undefined) throw new Error(`not understood: ${query}`);
  return { selector, label };
}

function valuesFor({ driverName, input }: Evaluated): Readonly<Record<string, string>> {
  return { driver: driverName, namespace, __rate_interval: `${scrapesOfRate * input.intervalSeconds}s` };
}

function replaced(expr: string, values: Readonly<Record<string, string>>): string {
  return expr.replaceAll(/\$(?:(\w+)|\{(\w+)\})/g, (found, plain?: string, braced?: string) => {
    const value = values[plain ?? braced ?? ''];
    if (value === undefined) throw new Error(`the dashboard has no value for ${found}: ${expr}`);
    return value;
  });
}

function linesOf(result: Result, legendFormat: string): readonly Line[] {
  const lines = new Map<string, { readonly legend: string; readonly values: (number | undefined)[] }>();
  for (const [at, samples] of result.entries()) {
    for (const { labels, value } of samples) {
      const key = JSON.stringify(labels);
      const line = lines.get(key) ?? { legend: legendOf(labels, legendFormat), values: result.map(() => undefined) };
      lines.set(key, line);
      // A share of nothing and a percentile of nothing are no numbers.
      if (Number.isFinite(value)) line.values[at] = value;
    }
  }
  return [...lines.values()].filter(({ values }) => values.some((value) => value !== undefined));
}

function legendOf(labels: Labels, format: string): string {
  return format.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, name: string) => labels[name] ?? '').trim();
}
