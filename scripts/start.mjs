// SPDX-License-Identifier: Apache-2.0
// `npm start`: installs what is missing, then shows the main job. All options go to the demonstration (see --help).
import { ensureInstalled, run } from './setup.mjs';

ensureInstalled();
process.exitCode = run('node', ['e2e/src/demo/main.ts', ...process.argv.slice(2)]);
