// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { inject } from 'vitest';

interface Report {
  readonly resources?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly status: string;
    readonly msg: string;
  }[];
  readonly summary: Summary;
}

export interface Summary {
  readonly valid: number;
  readonly invalid: number;
  readonly errors: number;
  readonly skipped: number;
}

/** Rejects an object of a kind without a schema too. Throws with its messages when an object is not valid. */
export function kubeconform(text: string, schemaFolder: string): Summary {
  const location = `${schemaFolder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
  const args = ['-strict', '-summary', '-output=json', `-schema-location=${location}`];
  const { stdout, stderr, error } = spawnSync(inject('cluster').kubeconform, args, { input: text, encoding: 'utf8' });
  if (error !== undefined || stdout === '') throw new Error(`kubeconform: ${stderr}`, { cause: error });
  const { resources = [], summary } = JSON.parse(stdout) as Report;
  const messages = resources
    .filter(({ status }) => status !== 'statusValid')
    .map(({ kind, name, msg }) => `${kind} ${name}: ${msg}`);
  if (messages.length > 0) throw new Error(messages.join('\n'));
  return summary;
}
