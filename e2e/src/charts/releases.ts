// SPDX-License-Identifier: Apache-2.0
/** Releases of a test in namespaces of its own, and an empty cluster after it. */
import { definitionFolder } from '../snapshot-api/definitions.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import type { Definition } from '../snapshot-api/definitions.ts';
import { helm, kubectl, tryKubectl } from './commands.ts';

/** Those that the chart installs by default: of the snapshot API. */
export const definitionNames: readonly string[] = readdirSync(definitionFolder)
  .map((file) => file.replace('.yaml', ''))
  .filter((name) => name.endsWith('snapshot.storage.k8s.io'));

/** As the files of the chart have it. */
export function definitionFile(name: string): Definition {
  return load(readFileSync(join(definitionFolder, `${name}.yaml`), 'utf8')) as Definition;
}

let spaces = 0;

/** With a level of Pod Security: pods that it does not allow are refused, and manifests of such pods cause a warning. */
export async function createNamespace(level?: 'restricted' | 'baseline' | 'privileged'): Promise<string> {
  spaces += 1;
  const name = `charts-${process.pid}-${spaces}`;
  await kubectl(['create', 'namespace', name]);
  if (level !== undefined) {
    const labels = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=${level}`);
    await kubectl(['label', 'namespace', name, ...labels]);
  }
  return name;
}

interface Release {
  readonly name: string;
  readonly namespace: string;
}

/** Uninstalls everything and takes the snapshot API away. */
export async function emptyCluster(): Promise<void> {
  const releases = JSON.parse(await helm(['list', '--all-namespaces', '--output=json'])) as readonly Release[];
  for (const { name, namespace } of releases) await helm(['uninstall', name, `--namespace=${namespace}`, '--no-hooks']);
  await kubectl([
    'delete',
    'validatingadmissionpolicybinding,validatingadmissionpolicy',
    '--selector=app.kubernetes.io/part-of=csi-sidecars',
  ]);
  await deleteDefinitions();
}

/**
 * Where an API server cannot end the deletion of a definition at once, under load for example, it waits longer after each failure, up to
 * minutes, and another deletion does not make it look. A change of the definition does.
 */
async function deleteDefinitions(): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const names = ['customresourcedefinition', ...definitionNames];
    const { code, stderr } = await tryKubectl(['delete', ...names, '--ignore-not-found', '--timeout=15s']);
    if (code === 0) return;
    if (attempt === 6) throw new Error(`definitions stay: ${stderr}`);
    // Some of them may be gone.
    await tryKubectl(['annotate', '--overwrite', ...names, `csi-sidecars.example.com/attempt=${attempt}`]);
  }
}

/** Until kinds are served. */
export async function untilEstablished(names: readonly string[] = definitionNames): Promise<void> {
  await kubectl([
    'wait',
    '--for=condition=Established',
    '--timeout=30s',
    ...names.map((name) => `customresourcedefinition/${name}`),
  ]);
}
