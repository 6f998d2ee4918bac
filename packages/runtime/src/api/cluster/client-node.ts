// SPDX-License-Identifier: Apache-2.0
/** What is used of client-node while the program runs. It is an optional peer of the package: no process in a cluster loads it. */
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { newClusters, newUsers } from '@kubernetes/client-node/dist/config_types.js';

interface ClientNode {
  readonly KubeConfig: typeof KubeConfig;
  readonly newClusters: typeof newClusters;
  readonly newUsers: typeof newUsers;
}

const missing =
  'a kubeconfig is read with the package @kubernetes/client-node, which is not installed: npm install @kubernetes/client-node';

/**
 * Rejects with the command that installs it where it is missing.
 * @internal
 */
export async function loadClientNode(): Promise<ClientNode> {
  // Where the module is missing, webpack makes a bundle if the import is within `try`, and esbuild if it has a `catch`.
  try {
    const [config, types] = await Promise.all([
      import('@kubernetes/client-node/dist/config.js').catch(thrown),
      import('@kubernetes/client-node/dist/config_types.js').catch(thrown),
    ]);
    return { KubeConfig: config.KubeConfig, newClusters: types.newClusters, newUsers: types.newUsers };
  } catch (error) {
    throw isMissing(error as NodeJS.ErrnoException) ? new Error(missing, { cause: error }) : error;
  }
}

function thrown(error: unknown): never {
  throw error;
}

/** False for a package that client-node itself lacks. */
function isMissing({ code = '', message }: NodeJS.ErrnoException): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(code) && message.includes("'@kubernetes/client-node");
}
