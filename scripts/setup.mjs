// SPDX-License-Identifier: Apache-2.0
// Makes a fresh clone usable: installs what package-lock.json names, once. Runs on Node.js 20 and newer.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const binaries = join(root, 'node_modules', '.bin');

/** The environment in which `node` is the Node.js of package.json, whatever the machine has. */
export function environment() {
  return { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` };
}

/** Runs a command with the pinned Node.js; returns its exit code (128 when it was killed). */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: environment(), ...options });
  if (result.error) process.stderr.write(`${command}: ${result.error.message}\n`);
  return result.status ?? 128;
}

/** Installs the dependencies unless they are there and not older than the lock file. Ends the process on failure. */
export function ensureInstalled() {
  const marker = join(root, 'node_modules', '.package-lock.json');
  const upToDate =
    existsSync(marker) &&
    existsSync(join(binaries, 'node')) &&
    statSync(marker).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
  if (upToDate) return;
  process.stderr.write('Installing dependencies (npm ci) ...\n');
  const code = run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (code !== 0) {
    process.stderr.write(`npm ci failed with exit code ${code}\n`);
    process.exit(1);
  }
}
