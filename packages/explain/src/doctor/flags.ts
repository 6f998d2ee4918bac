// SPDX-License-Identifier: Apache-2.0
/** The command line of `csi-sidecars doctor`. */
import { boolFlag, durationFlag, type ProgramFlags, stringFlag } from '@csi-sidecars/sidecar';
import { isDnsLabel, isDnsSubdomain } from '@csi-sidecars/volume';
import { clusterFlags, type ClusterValues } from '../command/cluster-flags.ts';
import type { Check } from './check.ts';

export const outputs = ['text', 'json', 'yaml'] as const;

export interface DoctorValues extends ClusterValues {
  readonly output: string;
  readonly driver: string;
  readonly only: string;
  readonly skip: string;
  readonly node: string;
  readonly namespace: string;
  readonly accept: string;
  readonly list: boolean;
  readonly 'via-pod': boolean;
}

export const doctorProgram: ProgramFlags<DoctorValues> = {
  name: 'csi-sidecars',
  syntax: 'pflag',
  gates: {},
  flags: {
    ...clusterFlags,
    timeout: { ...durationFlag(120_000, 'The time limit of the whole command.'), group: 'API server' },
    output: { ...stringFlag('text', 'The format: text, json or yaml.'), shorthand: 'o' },
    driver: stringFlag('', 'The driver that is examined. Default: all.'),
    only: stringFlag('', 'Checks or parts that are run, separated by commas: lease-1,rights.'),
    skip: stringFlag('', 'Checks or parts that are not run, separated by commas.'),
    node: {
      ...stringFlag('', 'The only node that the checks of nodes look at; of doctor node, the node itself.'),
      brief: 'The only node that is looked at.',
    },
    namespace: {
      ...stringFlag(
        '',
        'The namespace of the driver and its sidecars, if workloads and Leases may not be listed in all.',
      ),
      brief: 'The only namespace in which workloads and Leases are looked for.',
      shorthand: 'n',
    },
    accept: stringFlag('', 'A file of known findings, which do not count: an id, or id, kind and object, a line.'),
    'via-pod': boolFlag(
      false,
      'Ask the leaders as well, through port-forwards to their pods: for driver-14 and load-2.',
    ),
    list: boolFlag(false, 'Print the checks with their severities and rights, and end.'),
  },
};

/** The reason why this command line cannot be run; undefined if it can. */
export function refusedOf(
  { output, driver, node, namespace, only, skip }: DoctorValues,
  checks: readonly Check[],
): string | undefined {
  if (!outputs.some((each) => each === output)) return `--output must be ${outputs.join(', ')}`;
  if (driver !== '' && !isDnsSubdomain(driver.toLowerCase())) return '--driver is no name of a driver';
  if (node !== '' && !isDnsSubdomain(node)) return '--node is no name of a node';
  if (namespace !== '' && !isDnsLabel(namespace)) return '--namespace is no name of a namespace';
  const unknown = [...wordsOf(only), ...wordsOf(skip)].find((word) => !checks.some((check) => isNamed(check, word)));
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is no check; --list prints them`;
  return undefined;
}

/** `doctor node` is about one node; doctor takes no other word. */
export function refusedWords(
  [word, ...rest]: readonly string[],
  { node }: Pick<DoctorValues, 'node'>,
): string | undefined {
  if (word === undefined) return undefined;
  if (word !== 'node' || rest.length > 0) return 'doctor takes flags, and the word node';
  return node === '' ? 'doctor node needs --node' : undefined;
}

export function chosenOf({ only, skip }: DoctorValues, checks: readonly Check[]): readonly Check[] {
  const [wanted, unwanted] = [wordsOf(only), wordsOf(skip)];
  return checks.filter(
    (check) =>
      (wanted.length === 0 || wanted.some((word) => isNamed(check, word))) &&
      !unwanted.some((word) => isNamed(check, word)),
  );
}

function wordsOf(list: string): readonly string[] {
  return list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** By its id, or by its part: `lease`. */
function isNamed({ id }: Check, word: string): boolean {
  return id === word || id.replace(/-\d+$/, '') === word;
}
