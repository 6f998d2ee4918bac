// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** What a process gets that resolves modules of this name as if they were imported from a folder without node_modules. */
function loadedWithout(name: string): string {
  const hook = `import { registerHooks } from 'node:module';
    registerHooks({ resolve: (specifier, context, next) => next(specifier, specifier.startsWith('${name}')
      ? { ...context, parentURL: 'file:///empty/main.js' } : context) });`;
  const program = `import { loadClientNode } from ${JSON.stringify(join(import.meta.dirname, 'client-node.ts'))};
    try { console.log(Object.keys(await loadClientNode()).join()) } catch (error) { console.log(error.message) }`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, '--input-type=module', '-e', program];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim();
}

it.each([
  {
    absent: '@kubernetes/client-node',
    error: /^a kubeconfig is read with the package @kubernetes\/client-node, .*: npm install @kubernetes\/client-node$/,
  },
  // client-node is there, and its own error names what it lacks.
  { absent: 'rfc4648', error: /^Cannot find package 'rfc4648' imported from / },
])('given a folder without $absent, then the error names what is missing', ({ absent, error }) => {
  expect(loadedWithout(absent)).toMatch(error);
});
