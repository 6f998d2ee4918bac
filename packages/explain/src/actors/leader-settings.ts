// SPDX-License-Identifier: Apache-2.0
/** What the arguments of a leader say about how it works. Of a leader that is not found, the defaults. */
import { provisionerProgram } from '@csi-sidecars/provisioner';
import { type ProgramFlags, readAssumedCommandLine, retryFlags, type RetryValues } from '@csi-sidecars/sidecar';
import type { Reader } from '../cluster/reader.ts';
import type { RetryIntervals } from '../facts/events.ts';
import { argumentsOfLeader } from './leader.ts';

export interface ProvisionerNaming {
  readonly prefix: string;
  /** Undefined: the whole UID. */
  readonly uuidLength: number | undefined;
}

export interface ProvisionerSettings {
  readonly naming: ProvisionerNaming;
  /** A deleted claim whose volume may exist is kept until that is known, however long it takes. */
  readonly keepsUnsettled: boolean;
}

export async function provisionerSettings(
  reader: Reader,
  { driver, namespace }: { readonly driver: string; readonly namespace: string },
): Promise<ProvisionerSettings> {
  const args = await argumentsOfLeader(reader, { program: 'csi-provisioner', driver, namespace });
  const { values } = readAssumedCommandLine(provisionerProgram, args);
  return {
    naming: namingOf(values),
    keepsUnsettled: values['provisioning-protection'] === 'always',
  };
}

export function namingOf(values: {
  readonly 'volume-name-prefix': string;
  readonly 'volume-name-uuid-length': number;
}): ProvisionerNaming {
  const length = values['volume-name-uuid-length'];
  return { prefix: values['volume-name-prefix'], uuidLength: length === -1 ? undefined : length };
}

/** All sidecars have these two flags, with the same defaults. */
const retrying: ProgramFlags<RetryValues & { readonly 'feature-gates'?: never }> = {
  name: 'sidecar',
  syntax: 'go',
  gates: {},
  flags: retryFlags('operation'),
};

export function retryIntervalsOf(args: readonly string[]): RetryIntervals {
  const { values } = readAssumedCommandLine(retrying, args);
  return { startMs: values['retry-interval-start'], maxMs: values['retry-interval-max'] };
}
