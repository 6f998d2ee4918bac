// SPDX-License-Identifier: Apache-2.0
/** The command line of `csi-sidecars leftovers`. */
import {
  boolFlag,
  floatFlag,
  intFlag,
  kubeApiFlags,
  type KubeApiValues,
  loggingFlags,
  type LoggingValues,
  type ProgramFlags,
  stringFlag,
  versionFlag,
} from '@csi-sidecars/sidecar';
import { provisionerProgram } from '../flags.ts';
import type { LeftoverOptions } from './state.ts';

export interface LeftoversValues extends LoggingValues, KubeApiValues {
  readonly version: boolean;
  readonly driver: string;
  readonly all: boolean;
  readonly output: string;
  readonly remove: boolean;
  readonly 'include-unsettled': boolean;
  readonly yes: boolean;
  readonly 'volume-name-prefix': string;
  readonly 'volume-name-uuid-length': number;
}

const { 'kube-api-qps': qps, 'kube-api-burst': burst } = kubeApiFlags;
const { 'volume-name-prefix': prefix, 'volume-name-uuid-length': uuidLength } = provisionerProgram.flags;

export const leftoversProgram: ProgramFlags<LeftoversValues> = {
  name: 'csi-sidecars',
  syntax: 'pflag',
  gates: {},
  flags: {
    ...loggingFlags,
    ...kubeApiFlags,
    'kube-api-qps': { ...qps, ...floatFlag(20, qps.usage) },
    'kube-api-burst': { ...burst, ...intFlag(30, burst.usage) },
    version: versionFlag,
    driver: stringFlag('', 'Only what is left of this driver. Required with --remove.'),
    all: boolFlag(false, 'Also what is in use: finalizers that a provisioner still needs.'),
    output: stringFlag('table', 'The format: table or json.'),
    remove: boolFlag(false, 'Remove what can be removed without loss, after a confirmation.'),
    'include-unsettled': boolFlag(
      false,
      'With --remove: also finalizers that may be the only record of a volume. Its name is printed.',
    ),
    yes: boolFlag(false, 'With --remove: ask for no confirmation.'),
    'volume-name-prefix': { ...prefix, usage: 'The value of this flag of csi-provisioner.' },
    'volume-name-uuid-length': {
      ...uuidLength,
      usage: 'The value of this flag of csi-provisioner.',
      brief: 'The value of this flag of csi-provisioner.',
    },
  },
};

/** The reason why this command line cannot be run; undefined if it can. */
export function refusedOf(values: LeftoversValues): string | undefined {
  if (values.output !== 'table' && values.output !== 'json') return '--output must be table or json';
  if (values.remove && values.driver === '') return '--remove needs --driver';
  if (!values.remove && values['include-unsettled']) return '--include-unsettled needs --remove';
  if (!values.remove && values.yes) return '--yes needs --remove';
  if (values.remove && values.output === 'json' && !values.yes) return '--remove with --output=json needs --yes';
  if (values['volume-name-prefix'] === '') return 'volume name prefix cannot be of length 0';
  return undefined;
}

export function optionsOf(values: LeftoversValues): LeftoverOptions {
  const length = values['volume-name-uuid-length'];
  return {
    driver: values.driver === '' ? undefined : values.driver,
    volumeNamePrefix: values['volume-name-prefix'],
    volumeNameUuidLength: length === -1 ? undefined : length,
  };
}
