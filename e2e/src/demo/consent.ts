// SPDX-License-Identifier: Apache-2.0
/** A user's own cluster is used only after its context and server were shown and the answer was yes. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import type { DemoOptions } from './options.ts';

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { readonly name: string; readonly context?: { readonly cluster?: string } }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster?: { readonly server?: string } }[];
}

/** The kubeconfig file to use, or undefined when the answer was no (also when nobody can be asked). */
export async function agreedKubeconfig(
  { kubeconfig, consent }: DemoOptions,
  env: Readonly<Record<string, string | undefined>>,
  print: (text: string) => void,
): Promise<string | undefined> {
  const path = kubeconfig ?? (env['KUBECONFIG'] || join(homedir(), '.kube', 'config'));
  const config = load(readFileSync(path, 'utf8')) as Kubeconfig;
  const context = config['current-context'] ?? '';
  const cluster = config.contexts?.find(({ name }) => name === context)?.context?.cluster;
  const server = config.clusters?.find(({ name }) => name === cluster)?.cluster?.server;
  if (server === undefined) throw new Error(`${path}: the current context "${context}" names no server`);
  print(`kubeconfig  ${path}`);
  print(`context     ${context}`);
  print(`server      ${server}`);
  print('In this cluster a namespace, a StorageClass, a claim and a volume object will be created and deleted again.');
  if (consent === 'given') return path;
  if (!process.stdin.isTTY) {
    print('Nobody can be asked here; answer with --yes.');
    return undefined;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Use this cluster? Type yes: ');
  terminal.close();
  return answer.trim().toLowerCase() === 'yes' ? path : undefined;
}
