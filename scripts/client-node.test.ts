// SPDX-License-Identifier: Apache-2.0
import { build, type Metafile } from 'esbuild';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { clientNodeWithoutTransport, neverReachedModules } from './client-node.ts';

const source = `
  import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server: 'https://api', proxyUrl: 'socks5://p' }, { name: 'u', token: 't' });
  const failureOf = async (use) => {
    try {
      await use();
    } catch (error) {
      return error.message;
    }
  };
  module.exports = async () => [
    config.getCurrentUser().token,
    await failureOf(() => config.makeApiClient(Object)),
    await failureOf(() => config.applyToHTTPSOptions({})),
  ];
`;

it('given KubeConfig in a bundle, then it works, its transport is left out, and using that says so', async () => {
  const { metafile, outputFiles } = await build({
    stdin: { contents: source, resolveDir: join(import.meta.dirname, '..', 'packages', 'runtime') },
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'silent',
    plugins: [clientNodeWithoutTransport],
  });
  const bundled: { exports: () => Promise<unknown> } = { exports: () => Promise.resolve() };
  // The bundle is CommonJS: a function of `module` and `require`.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  new Function('module', 'require', outputFiles[0]!.text)(bundled, createRequire(import.meta.url));

  expect(await bundled.exports()).toEqual([
    't',
    'ServerConfiguration of ./gen/index.js is not part of this program: client-node only reads kubeconfig files here',
    'SocksProxyAgent of socks-proxy-agent is not part of this program: client-node only reads kubeconfig files here',
  ]);
  expect(librariesOf(metafile)).toEqual(['@kubernetes/client-node', 'js-yaml', 'rfc4648']);
  expect(Object.keys(metafile.inputs).filter((path) => path.includes('/gen/'))).toEqual([
    'never-reached:./gen/index.js',
  ]);
});

it('given client-node as it is installed, then each module that is left out is one that it imports', async () => {
  const { metafile } = await build({
    entryPoints: [createRequire(import.meta.url).resolve('@kubernetes/client-node/dist/config.js')],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    plugins: [clientNodeWithoutTransport],
  });
  const leftOut = Object.keys(metafile.inputs).filter((path) => path.startsWith('never-reached:'));
  expect(leftOut.sort()).toEqual(neverReachedModules.map((path) => `never-reached:${path}`).sort());
});

function librariesOf({ inputs }: Metafile): readonly string[] {
  const names = Object.keys(inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort();
}
