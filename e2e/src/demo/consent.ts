// SPDX-License-Identifier: Apache-2.0
/** A user's own cluster is used only after its context and server were shown and the answer was yes. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { systemFiles, toError } from '@csi-sidecars/runtime';
import { readKubeconfig } from '@csi-sidecars/runtime/internal';
import { Refusal } from '../refusal.ts';
import type { DemoOptions } from './options.ts';

/** The kubeconfig file to use, or undefined when the answer was no (also without a terminal). */
export async function agreedKubeconfig(
  { kubeconfig, consent }: DemoOptions,
  env: Readonly<Record<string, string | undefined>>,
  print: (text: string) => void,
): Promise<string | undefined> {
  const path = kubeconfig ?? (env['KUBECONFIG'] || join(homedir(), '.kube', 'config'));
  // Read as csi-provisioner will read it: what is shown is what will be used.
  const { contextName, cluster } = await readKubeconfig(systemFiles(), { paths: [path] }).catch((error: unknown) => {
    throw new Refusal(toError(error).message);
  });
  if (cluster.server === '') throw new Refusal(`${path}: the current context "${contextName}" names no server`);
  print(`kubeconfig  ${path}`);
  print(`context     ${contextName}`);
  print(`server      ${cluster.server}`);
  print('In this cluster a namespace, a StorageClass, a claim and a volume object will be created and deleted again.');
  if (consent === 'given') return path;
  if (!process.stdin.isTTY) {
    print('There is no terminal to ask on; answer with --yes.');
    return undefined;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Use this cluster? Type yes: ');
  terminal.close();
  return answer.trim().toLowerCase() === 'yes' ? path : undefined;
}
