// SPDX-License-Identifier: Apache-2.0
/** Holds rendered objects against JSON schemas with kubeconform. */
import { existsSync } from 'node:fs';
import { catalogue } from '../../e2e/src/tools/catalogue.ts';
import { locate } from '../../e2e/src/tools/locate.ts';
import { runCommand } from './command.ts';

export const kubeconformPath: string = locate(catalogue.kubeconform, process.env).path;
export const hasKubeconform: boolean = existsSync(kubeconformPath);

interface Finding {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly msg: string;
}

/** One line for each object that is not valid, or whose schema is missing. `folders` hold files `<kind>-<group>-<version>.json`. */
export async function nonconforming(rendered: string, folders: readonly string[]): Promise<readonly string[]> {
  const { stdout, stderr } = await runCommand(
    kubeconformPath,
    [
      '-strict',
      '-output=json',
      '-verbose',
      ...folders.flatMap((folder) => ['-schema-location', `${folder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`]),
      '-',
    ],
    { input: rendered },
  );
  if (stdout === '') throw new Error(`kubeconform printed nothing: ${stderr}`);
  const { resources } = JSON.parse(stdout) as { readonly resources: readonly Finding[] };
  if (resources.length === 0) throw new Error('kubeconform saw no object');
  return resources
    .filter(({ status }) => status !== 'statusValid')
    .map(({ kind, name, status, msg }) => `${kind} ${name}: ${status} ${msg}`);
}
