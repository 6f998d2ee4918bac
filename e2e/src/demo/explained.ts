// SPDX-License-Identifier: Apache-2.0
/** What `csi-sidecars explain` prints about an object of the demonstration, as a person would call it. */
import { execFile } from 'node:child_process';
import { findProgram } from '../processes/program.ts';
import type { ScenarioContext } from '../scenarios/context.ts';

/** Rejects unless the object is explained: exit codes 0, 3, 4 and 5. */
export async function explained(
  { namespace, testRun: { controlPlane } }: Pick<ScenarioContext, 'namespace' | 'testRun'>,
  subject: string,
): Promise<readonly string[]> {
  const { command, args } = findProgram('csi-sidecars', {});
  const line = [...args, 'explain', subject, '-n', namespace, `--kubeconfig=${controlPlane.adminKubeconfig}`];
  return await new Promise((resolve, reject) => {
    const child = execFile(command, line, { encoding: 'utf8', env: {} }, (error, stdout, stderr) => {
      if (stdout === '')
        reject(new Error(`csi-sidecars explain ended with ${child.exitCode}: ${stderr}`, { cause: error }));
      else resolve(stdout.trimEnd().split('\n'));
    });
  });
}
