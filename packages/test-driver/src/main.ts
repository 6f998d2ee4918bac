#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
/** The program's entry. Exit codes are those of the hostpath driver: 0 stopped, 1 cannot start, 2 wrong flags. */
import { readFileSync } from 'node:fs';
import { systemClock } from '@csi-sidecars/runtime';
import { configure, type Configuration } from './program/configuration.ts';
import { parseFlags, usage } from './program/flags.ts';
import { startProgram } from './program/program.ts';
import { parseSettings } from './program/settings-file.ts';

const configuration = readConfiguration();
try {
  const program = await startProgram({ clock: systemClock(), die }, configuration);
  console.error(`listening on ${configuration.endpoints.map(({ path }) => path).join(', ')}`);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) {
    process.once(signal, () => {
      void program.stop().then(() => process.exit(0));
    });
  }
} catch (error) {
  console.error(error);
  process.exit(1);
}

function readConfiguration(): Configuration {
  try {
    const flags = parseFlags(process.argv.slice(2));
    if (flags.help[0] === 'true') {
      console.log(usage());
      process.exit(0);
    }
    const [file = ''] = flags.settings;
    return configure(flags, file === '' ? {} : parseSettings(readFileSync(file, 'utf8')));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage()}`);
    process.exit(2);
  }
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive after SIGKILL');
}
