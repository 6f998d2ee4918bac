// SPDX-License-Identifier: Apache-2.0
/** Whether this machine may be changed. The flag of a command line is passed on as the variable. */
import type { Environment } from '../../tools/locate.ts';

export const consentFlag = '--allow-system-changes';
const variable = 'CSI_SIDECARS_ALLOW_SYSTEM_CHANGES';

export function withConsent(env: Environment): Environment {
  return { ...env, [variable]: '1' };
}

export function mayChangeSystem(env: Environment): boolean {
  return env['CI'] === 'true' || env['CI'] === '1' || env[variable] === '1';
}
