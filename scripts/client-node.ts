// SPDX-License-Identifier: Apache-2.0
/**
 * What a bundle holds of @kubernetes/client-node: `KubeConfig` reads kubeconfig files and runs exec plugins. The module that it
 * is in imports a transport, proxies, auth providers and 800 generated models as well, all of which our programs have of
 * their own or refuse. Those stay out: using one throws an error that names it.
 */
import type { Plugin } from 'esbuild';

/** Imports of client-node that are never reached, with every name that it takes from them; a further name fails the build. */
const neverReached: Readonly<Record<string, readonly string[]>> = {
  // The requests and their models, and the header that each of them gets.
  './gen/index.js': ['createConfiguration', 'ServerConfiguration'],
  './middleware.js': ['setHeaderMiddleware'],
  // The transport of requests.
  undici: ['Agent', 'ProxyAgent'],
  // Proxies.
  hpagent: ['HttpProxyAgent', 'HttpsProxyAgent'],
  socks: ['SocksClient'],
  'socks-proxy-agent': ['SocksProxyAgent'],
  // The auth providers azure, gcp and oidc, which client-go has no more and which are refused before.
  'jsonpath-plus': ['JSONPath'],
  'openid-client': ['customFetch', 'discovery', 'refreshTokenGrant'],
};

export const neverReachedModules: readonly string[] = Object.keys(neverReached);

const namespace = 'never-reached';

export const clientNodeWithoutTransport: Plugin = {
  name: 'client-node-without-transport',
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, importer }) =>
      neverReached[path] !== undefined && importer.includes('/node_modules/@kubernetes/client-node/')
        ? { path, namespace, sideEffects: false }
        : undefined,
    );
    build.onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: (neverReached[path] ?? []).map((name) => standIn(path, name)).join('\n'),
    }));
  },
};

function standIn(path: string, name: string): string {
  const text = `${name} of ${path} is not part of this program: client-node only reads kubeconfig files here`;
  return `export function ${name}() { throw new Error(${JSON.stringify(text)}); }`;
}
