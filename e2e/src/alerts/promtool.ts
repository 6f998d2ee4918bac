// SPDX-License-Identifier: Apache-2.0
/** Runs promtool: rules are checked, and evaluated over series. `npm run charts` builds it. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, runCommand } from '../../../charts/testing/command.ts';
import { catalogue } from '../tools/catalogue.ts';
import { locate } from '../tools/locate.ts';
import type { RuleGroups } from './monitoring.ts';
import type { InputSeries } from './series.ts';

export const promtoolPath: string = locate(catalogue.promtool, process.env).path;
export const hasPromtool: boolean = existsSync(promtoolPath);

/** An alert that fires, and the container that it names, if it names one. */
export interface Firing {
  readonly alert: string;
  readonly container?: string;
}

export interface Evaluation {
  readonly rules: readonly RuleGroups[];
  readonly series: readonly InputSeries[];
  /** Seconds between two samples, and between two evaluations. */
  readonly intervalSeconds: number;
  readonly samples: number;
}

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

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-alerts-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
