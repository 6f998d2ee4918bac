// SPDX-License-Identifier: Apache-2.0
// Generates everything again and fails if the result differs from the work tree.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './setup.mjs';

const patterns = [
  'packages/*/src/gen/**/*',
  'packages/runtime/api/*.txt',
  'docs/reference/*.md',
  'docs/behaviour/rights.md',
  'docs/pictures/*.svg',
  'charts/*/files/**/*',
  'charts/*/values.schema.json',
  'charts/*/README.md',
  'charts/snapshot-controller/templates/_rules.tpl',
];

function fingerprint() {
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root, withFileTypes: true }));
  return new Map(
    files
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name))
      .map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  );
}

const before = fingerprint();
for (const [command, ...args] of [
  ['npm', 'run', 'generate', '--silent', '--workspaces', '--if-present'],
  ['node', 'scripts/reference.ts'],
  ['node', 'scripts/pictures.ts'],
  ['node', 'scripts/crds.ts'],
  ['node', 'scripts/charts.ts'],
  ['node', 'scripts/charts/snapshot-controller-rules.ts'],
]) {
  const code = run(command, args);
  if (code !== 0) process.exit(code);
}
const after = fingerprint();
const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
  (path) => before.get(path) !== after.get(path),
);
for (const path of changed) process.stderr.write(`generated file is not up to date: ${path} (run npm run generate)\n`);
process.exit(changed.length === 0 ? 0 : 1);
