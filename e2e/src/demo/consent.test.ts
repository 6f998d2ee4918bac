// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { agreedKubeconfig } from './consent.ts';
import { parseDemoOptions } from './options.ts';

const folder = mkdtempSync(join(tmpdir(), 'consent-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const good = file(
  'good',
  `current-context: mine
contexts: [{ name: other, context: { cluster: a } }, { name: mine, context: { cluster: b } }]
clusters: [{ name: a, cluster: { server: 'https://a:1' } }, { name: b, cluster: { server: 'https://b:2' } }]
`,
);

async function ask(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly path: string | undefined; readonly shown: readonly string[] }> {
  const options = parseDemoOptions(['--control-plane=kubeconfig', ...args]);
  if (options === 'help') throw new Error('no options');
  const shown: string[] = [];
  const path = await agreedKubeconfig(options, env, (text) => shown.push(text));
  return { path, shown };
}

it('given --yes, then file, context and server are shown, and it is agreed', async () => {
  const { path, shown } = await ask(['--yes', `--kubeconfig=${good}`]);
  expect(path).toBe(good);
  expect(shown.slice(0, 3)).toEqual([`kubeconfig  ${good}`, 'context     mine', 'server      https://b:2']);
});

it('given no terminal, then the cluster is shown, and consent is not given', async () => {
  const { path, shown } = await ask([], { KUBECONFIG: good });
  expect([path, shown[2], shown.at(-1)]).toEqual([
    undefined,
    'server      https://b:2',
    'There is no terminal to ask on; answer with --yes.',
  ]);
});

it.each([
  ['a file that is not there', join(folder, 'none'), /^stat .*none: no such file or directory$/],
  ['an empty file', file('empty', ''), /^.*empty: the current context "" names no server$/],
  ['a file that is no YAML', file('broken', 'a: ['), /^error loading config file ".*broken": /],
  ['a context that is not there', file('astray', 'current-context: x'), /the current context "x" names no server$/],
])('given %s, then it is refused in one line, whatever was agreed', async (_given, path, text) => {
  await expect(ask(['--yes', `--kubeconfig=${path}`])).rejects.toMatchObject({
    name: 'Refusal',
    message: expect.stringMatching(text) as unknown,
  });
});
