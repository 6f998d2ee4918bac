// SPDX-License-Identifier: Apache-2.0
/** Runs promtool: rules are checked, and evaluated over series. `npm run charts` builds it. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, runCommand } from '../../../charts/testing/command.ts';
import { catalogue } from '../tools/catalogue.ts';
import { locate } from '../tools/locate.ts';
import type { InputSeries, Labels } from './series.ts';

export interface Rule {
  readonly alert: string;
  readonly expr: string;
}

/** The content of a rule file. */
export interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const promtoolPath: string = locate(catalogue.promtool, process.env).path;
export const hasPromtool: boolean = existsSync(promtoolPath);

/** An alert that fires, and the container that it names, if it names one. */
export interface Firing {
  readonly alert: string;
  readonly container?: string;
}

export interface SeriesInput {
  readonly series: readonly InputSeries[];
  /** Seconds between two samples, and between two evaluations of rules. */
  readonly intervalSeconds: number;
  readonly samples: number;
}

export interface Evaluation extends SeriesInput {
  readonly rules: readonly RuleGroups[];
}

export interface Queries extends SeriesInput {
  readonly exprs: readonly string[];
  /** Seconds at which each of them is evaluated. */
  readonly times: readonly number[];
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}
/** By time. */
export type Result = readonly (readonly Sample[])[];

export async function checkRules(rules: RuleGroups): Promise<Outcome> {
  return await inFolder(async (folder) => {
    const file = join(folder, 'rules.json');
    writeFileSync(file, JSON.stringify(rules));
    return await runCommand(promtoolPath, ['check', 'rules', file]);
  });
}

/** Whether exactly these alerts fire at some time of the evaluation. What promtool prints names the difference. */
export async function testRules(
  { rules, series, intervalSeconds, samples }: Evaluation,
  expected: readonly Firing[],
): Promise<Outcome> {
  const seconds = intervalSeconds * (samples - 1);
  return await inFolder(async (folder) => {
    const ruleFiles = rules.map((each, index) => {
      const file = join(folder, `rules-${index}.json`);
      writeFileSync(file, JSON.stringify(each));
      return file;
    });
    const test = {
      rule_files: ruleFiles,
      evaluation_interval: `${intervalSeconds}s`,
      tests: [
        {
          interval: `${intervalSeconds}s`,
          input_series: series,
          promql_expr_test: [
            {
              expr: `group by (alertname, container) (last_over_time(ALERTS{alertstate="firing"}[${seconds + 1}s]))`,
              eval_time: `${seconds}s`,
              exp_samples: expected.map(({ alert, container }) => ({
                labels: `{alertname="${alert}"${container === undefined ? '' : `,container="${container}"`}}`,
                value: 1,
              })),
            },
          ],
        },
      ],
    };
    const file = join(folder, 'test.json');
    writeFileSync(file, JSON.stringify(test));
    return await runCommand(promtoolPath, ['test', 'rules', file]);
  });
}

/**
 * Results by expression. promtool has no command for queries over a file, but a test prints what it got where nothing was expected;
 * rejects when an expression is not valid.
 */
export async function evaluate({
  exprs,
  times,
  series,
  intervalSeconds,
}: Queries): Promise<ReadonlyMap<string, Result>> {
  const test = {
    rule_files: [],
    evaluation_interval: `${intervalSeconds}s`,
    tests: [
      {
        interval: `${intervalSeconds}s`,
        input_series: series,
        promql_expr_test: exprs.flatMap((expr) => times.map((time) => ({ expr, eval_time: `${time}s` }))),
      },
    ],
  };
  const { code, stderr } = await inFolder(async (folder) => {
    const file = join(folder, 'test.json');
    writeFileSync(file, JSON.stringify(test));
    return await runCommand(promtoolPath, ['test', 'rules', file]);
  });
  const found = new Map(exprs.map((expr) => [expr, times.map((): readonly Sample[] => [])]));
  const printed = [...stderr.matchAll(/^ *expr: (".*"), time: (\w+),\n *exp: nil\n *got: (.*)$/gm)];
  // Whatever else it printed, for example that an expression is not valid.
  const rest = printed.reduce((text, [all]) => text.replace(all, () => ''), stderr);
  if (/\berr(?:or)?\b/.test(rest) || (code !== 0 && printed.length === 0)) throw new Error(rest.trim());
  for (const [, expr = '', time = '', got = ''] of printed) {
    found.get(JSON.parse(expr) as string)![times.indexOf(secondsOf(time))] = samplesIn(got);
  }
  return found;
}

/** `{a="b", c="d"} 1E+00, {} 2E+00`. Names and values are quoted as in JSON. */
function samplesIn(text: string): readonly Sample[] {
  return [...text.matchAll(/\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\} ([^\s,]+)/g)].map(([, inner = '', value = '']) => ({
    labels: Object.fromEntries(
      [...inner.matchAll(/(\w+)=("(?:[^"\\]|\\.)*")/g)].map(([, key, quoted = '""']) => [
        key,
        JSON.parse(quoted) as string,
      ]),
    ),
    value: Number(value.replace('Inf', 'Infinity')),
  }));
}

const secondsOfUnit: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1 };

function secondsOf(duration: string): number {
  return [...duration.matchAll(/(\d+)([dhms])/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (secondsOfUnit[unit] ?? Number.NaN),
    0,
  );
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-alerts-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
