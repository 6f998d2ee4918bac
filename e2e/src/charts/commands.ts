// SPDX-License-Identifier: Apache-2.0
/** helm and kubectl as functions. Their state (caches, plug-ins) is in the folder of the run, never the user's. */
import { delimiter, dirname, join } from 'node:path';
import { inject } from 'vitest';
import { type Outcome, runCommand } from '../../../charts/testing/command.ts';
import { toManifests } from '../../../charts/testing/helm.ts';

export interface CommandOptions {
  readonly input?: string;
  /** Default: the administrator's. */
  readonly kubeconfig?: string;
}

/** What a test looks into without a type: objects of many kinds. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Untyped = any;

export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: Untyped;
}

/** Whatever the exit code is. */
export function tryHelm(args: readonly string[], options?: CommandOptions): Promise<Outcome> {
  return run(inject('cluster').helm, args, options);
}

export function tryKubectl(args: readonly string[], options?: CommandOptions): Promise<Outcome> {
  return run(inject('cluster').kubectl, args, options);
}

/** A command line as a user copies it. Rejects unless it ends with 0. */
export async function shell(command: string): Promise<string> {
  return textOf('sh', ['-c', command], await run('sh', ['-c', command]));
}

/** The same on a terminal, on which the line is typed. */
export async function answer(command: string, line: string): Promise<string> {
  const args = ['--quiet', '--return', '--command', command, '/dev/null'];
  return textOf('script', args, await run('script', args, { input: `${line}\n` }));
}

/** Rejects with what helm wrote, unless it ends with 0. */
export async function helm(args: readonly string[], options?: CommandOptions): Promise<string> {
  return textOf('helm', args, await tryHelm(args, options));
}

export async function kubectl(args: readonly string[], options?: CommandOptions): Promise<string> {
  return textOf('kubectl', args, await tryKubectl(args, options));
}

export async function get(kind: string, name: string, namespace = 'default'): Promise<ApiObject> {
  return JSON.parse(await kubectl(['get', kind, name, `--namespace=${namespace}`, '--output=json'])) as ApiObject;
}

export async function list(kind: string, ...args: readonly string[]): Promise<readonly ApiObject[]> {
  const text = await kubectl(['get', kind, '--output=json', ...args]);
  return (JSON.parse(text) as { readonly items: readonly ApiObject[] }).items;
}

export async function exists(kind: string, name: string, namespace = 'default'): Promise<boolean> {
  const found = await kubectl(['get', kind, name, `--namespace=${namespace}`, '--ignore-not-found', '--output=name']);
  return found !== '';
}

export async function apply(...objects: readonly object[]): Promise<void> {
  const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  await kubectl(['apply', '--filename=-'], { input });
}

export function parseObjects(text: string): readonly ApiObject[] {
  return toManifests(text);
}

function textOf(program: string, args: readonly string[], { code, stdout, stderr }: Outcome): string {
  if (code !== 0) throw new Error(`${program} ${args.slice(0, 3).join(' ')} ended with ${code}: ${stderr || stdout}`);
  return stdout;
}

function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const { kubeconfig: admin, helm: helmTool, kubectl: tool, scratch } = inject('cluster');
  const { input = '', kubeconfig = admin } = options;
  return runCommand(program, args, {
    input,
    env: {
      PATH: [dirname(helmTool), dirname(tool), process.env['PATH']].join(delimiter),
      HOME: scratch,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(scratch, 'kubectl-cache'),
      HELM_CACHE_HOME: join(scratch, 'helm-cache'),
      HELM_CONFIG_HOME: join(scratch, 'helm-config'),
      HELM_DATA_HOME: join(scratch, 'helm-data'),
    },
  });
}
