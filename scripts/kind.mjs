// SPDX-License-Identifier: Apache-2.0
// `npm run kind`: installs what is missing and builds the programs, then shows a volume's life on a kind cluster (see --help).
import { ensureInstalled, run } from './setup.mjs';

ensureInstalled();
const args = process.argv.slice(2);
const code = args.includes('--help') ? 0 : run('npm', ['run', 'build', '--silent']);
process.exitCode = code === 0 ? run('node', ['e2e/src/kind/main.ts', ...args]) : code;
