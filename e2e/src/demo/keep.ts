// SPDX-License-Identifier: Apache-2.0
/** `--keep`: after its last step the cluster runs on, with a claim and a pod to try in a file, until it is interrupted. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ScenarioContext } from '../scenarios/context.ts';
import { aClaim, aPod } from '../scenarios/objects.ts';

/** Writes the file, and returns what a person needs to go on with kubectl. */
export function offer(
  { namespace, folder }: Pick<ScenarioContext, 'namespace' | 'folder'>,
  { adminKubeconfig }: { readonly adminKubeconfig: string },
  { className, nodeName }: { readonly className: string; readonly nodeName: string },
): readonly string[] {
  const file = join(folder, 'try.json');
  const pod = aPod('mine', 'mine', { nodeSelector: { 'kubernetes.io/hostname': nodeName } });
  const items = [aClaim('mine', className), pod].map((object) => ({
    ...object,
    metadata: { ...object.metadata, namespace },
  }));
  writeFileSync(file, `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, undefined, 2)}\n`);
  return [
    '',
    'The cluster runs on until Ctrl-C. In another terminal:',
    `  export KUBECONFIG=${adminKubeconfig}`,
    `  kubectl apply --validate=false -f ${file}   # a claim, and a pod that uses it`,
    `  kubectl get pvc,pv,pods -n ${namespace} -o custom-columns=KIND:.kind,NAME:.metadata.name,PHASE:.status.phase`,
    `  kubectl describe pvc -n ${namespace} mine`,
    `No container runs: a pod is Running when its volume is mounted. Logs are in ${folder}.`,
  ];
}

export async function untilInterrupted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
