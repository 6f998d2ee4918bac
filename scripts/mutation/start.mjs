// SPDX-License-Identifier: Apache-2.0
// `npm run mutation`: the mutation run with the pinned Node.js, at low priority.
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled, run } from '../setup.mjs';

ensureInstalled();
setPriority(constants.priority.PRIORITY_LOW);
process.exitCode = run('node', [join(import.meta.dirname, 'main.ts'), ...process.argv.slice(2)]);
