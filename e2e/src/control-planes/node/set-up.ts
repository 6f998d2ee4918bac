// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run node-setup`: what control plane `node` needs on a bare Debian machine - packages of Debian, then the foreign programs,
 * built into the cache. Does nothing where everything is there. `--packages-only` leaves the foreign programs out.
 */
import { spawnSync } from 'node:child_process';
import { ensureTools } from '../../tools/ensure-tools.ts';
import { consentFlag, withConsent } from './consent.ts';
import { checkConsent, missingPackages } from './machine.ts';
import { nodeTools } from './start-node.ts';

try {
  checkConsent(process.argv.includes(consentFlag) ? withConsent(process.env) : process.env);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(2);
}
const packages = missingPackages();
if (packages.length > 0) {
  apt('update');
  apt('install', '--yes', '--no-install-recommends', ...packages);
}
if (!process.argv.includes('--packages-only')) await ensureTools(nodeTools);

function apt(...args: readonly string[]): void {
  const { status, error } = spawnSync('apt-get', ['--quiet', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status === 0) return;
  process.stderr.write(`apt-get ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}\n`);
  process.exit(1);
}
