// SPDX-License-Identifier: Apache-2.0
/** A command of csi-sidecars, run with a ServiceAccount of its own that has exactly the rights given. */
import { execFile } from 'node:child_process';
import type { PolicyRule } from '@csi-sidecars/runtime';
import { kubeconfigOf } from '../accounts/kubeconfig-of.ts';
import { findProgram } from '../processes/program.ts';
import { applyRbac, removeBindings } from '../rbac/apply.ts';
import { extraRules } from '../rbac/profiles.ts';
import type { ScenarioContext } from './context.ts';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Command = (...args: readonly string[]) => Promise<Ended>;

/** `name` is the first word of the command line. Upstream has no such commands, so it is always ours. */
export async function prepareCommand(
  ctx: ScenarioContext,
  name: string,
  rules: readonly PolicyRule[],
): Promise<Command> {
  const { api, namespace, testRun } = ctx;
  const account = { namespace, name };
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    ...extraRules(
      account,
      'command',
      rules.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs })),
    ),
  ];
  ctx.cleanUp.defer(() => removeBindings(api, objects));
  await applyRbac(api, objects);
  const kubeconfig = await kubeconfigOf(testRun.controlPlane, { account, name, folder: ctx.scratch });
  const { command, args: before } = findProgram('csi-sidecars', { ...testRun.env, UPSTREAM_BIN: '' });
  return async (...args) =>
    await new Promise((resolve) => {
      const line = [...before, name, ...args, `--kubeconfig=${kubeconfig}`];
      const env = { PATH: testRun.env['PATH'] };
      const child = execFile(command, line, { encoding: 'utf8', env }, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? -1, stdout, stderr }),
      );
    });
}
