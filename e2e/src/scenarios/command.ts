// SPDX-License-Identifier: Apache-2.0
/** A command of csi-sidecars, run with a ServiceAccount of its own that has exactly the rights given. */
import { execFile } from 'node:child_process';
import type { PolicyRule } from '@csi-sidecars/runtime';
import { kubeconfigOf } from '../accounts/kubeconfig-of.ts';
import type { ServiceAccountRef } from '../control-planes/control-plane.ts';
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
  return await commandOf(ctx, { name, account: await commandAccount(ctx, name, rules) });
}

/** A ServiceAccount that has exactly these rights, in the whole cluster. */
export async function commandAccount(
  ctx: ScenarioContext,
  name: string,
  rules: readonly PolicyRule[],
): Promise<ServiceAccountRef> {
  const { api, namespace } = ctx;
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
  return account;
}

export interface CommandOptions {
  /** The first word of the command line. */
  readonly name: string;
  readonly account: ServiceAccountRef;
  /** Address of the API server instead of the control plane's. */
  readonly server?: string;
}

export async function commandOf(ctx: ScenarioContext, { name, account, server }: CommandOptions): Promise<Command> {
  const { testRun, scratch } = ctx;
  const file = server === undefined ? account.name : `${account.name}-${new URL(server).port}`;
  const kubeconfig = await kubeconfigOf(testRun.controlPlane, { account, name: file, folder: scratch, server });
  const { command, args: before } = findProgram('csi-sidecars', { ...testRun.env, UPSTREAM_BIN: '' });
  return async (...args) =>
    await endOf(command, [...before, name, ...args, `--kubeconfig=${kubeconfig}`], { PATH: testRun.env['PATH'] });
}

/** Runs a program to its end. */
export async function endOf(
  command: string,
  line: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = execFile(command, line, { encoding: 'utf8', env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}
