// SPDX-License-Identifier: Apache-2.0
// `npm start`: installs what is missing, then shows the main job. All options go to the demonstration (see --help).
import { ensureInstalled, run } from './setup.mjs';

ensureInstalled();
const args = process.argv.slice(2);
if (args.includes('--control-plane=node')) {
  // Its images are made of the built programs, and it needs packages of Debian.
  const consent = args.filter((arg) => arg === '--allow-system-changes');
  for (const command of [
    ['run', 'node-setup', '--silent', '--', ...consent],
    ['run', 'build', '--silent'],
  ]) {
    const code = run('npm', command);
    if (code !== 0) process.exit(code);
  }
}
process.exitCode = run('node', ['e2e/src/demo/main.ts', ...args]);
