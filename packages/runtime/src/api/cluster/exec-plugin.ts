// SPDX-License-Identifier: Apache-2.0
/**
 * Tokens and certificates from a kubeconfig's exec plugin. client-node's `KubeConfig` runs it and keeps what it printed until that
 * expires. Here: the input of the plugin, the required content of its answer, and client-go's texts for failures.
 *
 * Guarantees: no error quotes what the plugin printed as its answer; a plugin that failed runs again at the next request; one
 * is not done after a minute is killed together with its child processes (client-go: waits without a limit, and all requests
 * with it).
 * Not here: interaction with users. A plugin gets no input, and its stderr is logged only if it fails.
 */
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import type { RequestOptions } from 'node:https';
import process from 'node:process';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../clock/clock.ts';
import { type Credential, type Identity, isSameCredential } from '../credentials.ts';
import { loadClientNode } from './client-node.ts';
import type { ExecPlugin } from './cluster-config.ts';

/** All requests wait for the plugin. */
const timeoutMs = 60_000;

export interface ExecPluginDeps {
  readonly clock: Clock;
}

export interface ExecPluginCredentials {
  /** For `cachedCredentials`. */
  readonly read: (why: 'due' | 'refused') => Promise<Credential>;
  /** The certificate that was read last, for the TLS source. */
  readonly issued: () => Identity | undefined;
}

/** The plugin runs at the first `read`. */
export function execPlugin(deps: ExecPluginDeps, plugin: ExecPlugin): ExecPluginCredentials {
  let runner: Runner | undefined;
  let last: Credential | undefined;
  return {
    issued: () => last?.identity,
    read: async (why) => {
      if (why === 'refused') runner = undefined;
      runner ??= await createRunner(deps, plugin);
      try {
        const found = await askFor(runner.config);
        if (last === undefined || why === 'refused' || !isSameCredential(found, last)) last = found;
        return last;
      } catch (error) {
        const { exitCode } = runner;
        runner = undefined;
        throw explained(error, plugin, exitCode());
      }
    },
  };
}

interface Runner {
  readonly config: KubeConfig;
  /** The exit code of the last run. Null: ended by a signal. */
  readonly exitCode: () => number | null | undefined;
}

async function createRunner(
  { clock }: ExecPluginDeps,
  { command, args, env, apiVersion, cluster }: ExecPlugin,
): Promise<Runner> {
  // Loaded only if a plugin is configured, because they make the start slower.
  const [{ KubeConfig }, { spawn }] = await Promise.all([loadClientNode(), import('node:child_process')]);
  const info = { kind: 'ExecCredential', apiVersion, spec: { cluster, interactive: false } };
  const exec = { command, args, env: [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }] };
  let exitCode: number | null | undefined;
  // client-node leaves a plugin's input open, so that one that reads it would never end, and keeps the exit code to itself.
  const run = (file: string, fileArgs: readonly string[], options: SpawnOptions): ChildProcess => {
    const child = spawn(file, fileArgs, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const limit = clock.timer(timeoutMs, () => cutOff(child));
    return child.once('close', (code) => {
      limit.cancel();
      exitCode = code;
    });
  };
  const config = new KubeConfig();
  // A private method, but the only way in. A test fails if it disappears.
  for (const authenticator of config['authenticators']) {
    if ('execFn' in authenticator) authenticator.execFn = run;
  }
  // Only the user matters: nothing is sent through client-node.
  config.loadFromClusterAndUser(
    { name: 'cluster', server: 'https://unused', skipTLSVerify: false },
    { name: 'user', exec },
  );
  return { config, exitCode: () => exitCode };
}

/** The plugin leads a process group. A child process that left it may still hold the other end of a pipe. */
function cutOff(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // There is no group any more, or the system has none.
    child.kill('SIGKILL');
  }
  child.stdout?.destroy();
  child.stderr?.destroy();
}

async function askFor(config: KubeConfig): Promise<Credential> {
  const headers: Record<string, string> = {};
  const options: RequestOptions = { headers };
  await config.applyToHTTPSOptions(options);
  const { cert, key } = options as { readonly cert?: string; readonly key?: string };
  const authorization = headers['Authorization'];
  if (authorization === undefined && cert === undefined && key === undefined) {
    throw new AnswerError("exec plugin didn't return a token or cert/key pair");
  }
  if (cert === undefined && key === undefined) return { authorization };
  if (cert === undefined || key === undefined) {
    throw new AnswerError('exec plugin returned only certificate or key, not both');
  }
  const identity = { cert, key };
  try {
    createSecureContext(identity);
  } catch (error) {
    throw new AnswerError(`failed parsing client key/certificate: ${(error as Error).message}`);
  }
  return { authorization, identity };
}

class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

function explained(error: unknown, plugin: ExecPlugin, exitCode: number | null | undefined): Error {
  return new Error(`getting credentials: ${reasonOf(error as Error, plugin, exitCode)}`);
}

function reasonOf(error: NodeJS.ErrnoException, plugin: ExecPlugin, exitCode: number | null | undefined): string {
  const { command, installHint = '' } = plugin;
  if (error instanceof AnswerError) return error.message;
  if (error.code === 'ENOENT') {
    return `exec: executable ${command} not found${installHint === '' ? '' : `: ${inOneLine(installHint)}`}`;
  }
  if (error.code !== undefined) return `exec: ${error.message}`;
  if (exitCode !== 0) {
    // In this case client-node throws what the plugin wrote to stderr.
    const said = inOneLine(error.message);
    const end = exitCode === null ? 'was ended by a signal' : `failed with exit code ${exitCode}`;
    return `exec: executable ${command} ${end}${said === '' ? '' : `: ${said}`}`;
  }
  // These would quote the answer, which holds secrets.
  return error instanceof SyntaxError ? 'decoding stdout: not JSON' : "exec plugin didn't return a status field";
}

/** Removes control characters, which could move the cursor of a terminal. */
function inOneLine(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 1024);
}
