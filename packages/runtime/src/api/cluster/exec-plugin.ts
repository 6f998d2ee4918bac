// SPDX-License-Identifier: Apache-2.0
/**
 * Tokens from a kubeconfig's exec plugin. client-node runs the plugin and keeps what it printed until that expires; only
 * that module of it is loaded, when it is needed, because its index brings hundreds of generated models along.
 * Not supported: plugins that print client certificates instead of a token.
 */
import type { ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js';
import type { ExecPlugin } from './cluster-config.ts';

/** Reads the Authorization header; for `cachedCredentials`. */
export function execPluginReader(plugin: ExecPlugin): (why: 'due' | 'refused') => Promise<string> {
  const { command, args, env, apiVersion } = plugin;
  const info = { kind: 'ExecCredential', apiVersion, spec: { interactive: false } };
  const exec = { command, args, env: [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }] };
  let runner: ExecAuth | undefined;
  return async (why) => {
    const module = await import('@kubernetes/client-node/dist/exec_auth.js');
    if (runner === undefined || why === 'refused') runner = new module.ExecAuth();
    const options: { headers?: Record<string, string> } = {};
    await runner.applyAuthentication({ name: 'user', exec }, options);
    const authorization = options.headers?.['Authorization'];
    if (authorization === undefined) throw new Error(`exec plugin ${command} returned no token`);
    return authorization;
  };
}
