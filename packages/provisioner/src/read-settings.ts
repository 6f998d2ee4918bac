// SPDX-License-Identifier: Apache-2.0
/** From flags to settings: what is refused here ends the program before anything is connected. */
import type { ProvisionerSettings } from './settings.ts';

/** The flags that decide settings, as the command line has them. */
export interface SettingsFlags {
  readonly 'volume-name-prefix': string;
  readonly 'volume-name-uuid-length': number;
  readonly 'worker-threads': number;
  readonly 'retry-interval-start': number;
  readonly 'retry-interval-max': number;
  readonly timeout: number;
  readonly 'strict-topology': boolean;
  readonly 'immediate-topology': boolean;
  readonly 'extra-create-metadata': boolean;
  readonly 'controller-publish-readonly': boolean;
  readonly 'default-fstype': string;
  readonly 'enable-capacity': boolean;
  readonly 'node-deployment': boolean;
}

/** The length of a UID without its dashes. */
const uidDigits = 32;

/** Why this command line cannot be run; undefined when it can. */
export function refusedFlags(flags: SettingsFlags): string | undefined {
  if (flags['enable-capacity']) return '--enable-capacity is not supported by this version';
  if (flags['node-deployment']) return '--node-deployment is not supported by this version';
  if (flags['worker-threads'] === 0) return '--worker-threads must be at least 1';
  const length = flags['volume-name-uuid-length'];
  if (length < -1 || length > uidDigits) {
    return `--volume-name-uuid-length must be between -1 and ${uidDigits}, not ${length}`;
  }
  return undefined;
}

export function toSettings(
  flags: SettingsFlags,
  features: ProvisionerSettings['features'],
  identity: string,
): ProvisionerSettings {
  const length = flags['volume-name-uuid-length'];
  return {
    volumeNamePrefix: flags['volume-name-prefix'],
    volumeNameUuidLength: length === -1 ? undefined : length,
    workerThreads: flags['worker-threads'],
    retryIntervalStartMs: flags['retry-interval-start'],
    retryIntervalMaxMs: flags['retry-interval-max'],
    timeoutMs: flags.timeout,
    strictTopology: flags['strict-topology'],
    immediateTopology: flags['immediate-topology'],
    extraCreateMetadata: flags['extra-create-metadata'],
    controllerPublishReadonly: flags['controller-publish-readonly'],
    defaultFsType: flags['default-fstype'],
    identity,
    features,
  };
}
