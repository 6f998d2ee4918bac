// SPDX-License-Identifier: Apache-2.0
/** The command line of `csi-sidecars audit`. */
import { boolFlag, durationFlag, inGroup, type ProgramFlags, rare, stringFlag, uintFlag } from '@csi-sidecars/sidecar';
import { clusterFlags, type ClusterValues } from '../command/cluster-flags.ts';
import { parseEndpoints } from '../leader-answer/endpoints.ts';

export const auditKinds = ['volumes', 'snapshots', 'attachments'] as const;
export type AuditKind = (typeof auditKinds)[number];

export interface AuditValues extends ClusterValues {
  readonly driver: string;
  readonly 'driver-address': string;
  readonly 'driver-list': string;
  readonly dump: boolean;
  readonly output: string;
  /** Milliseconds. */
  readonly grace: number;
  readonly confirm: number;
  readonly kinds: string;
  readonly 'volume-id-prefix': string;
  readonly 'page-size': number;
  readonly calls: number;
  readonly node: string;
  readonly via: string;
  readonly 'via-pod': boolean;
  readonly 'driver-namespace': string;
}

export const auditProgram: ProgramFlags<AuditValues> = {
  name: 'csi-sidecars',
  syntax: 'pflag',
  gates: {},
  flags: {
    ...clusterFlags,
    ...inGroup('API server', {
      timeout: durationFlag(300_000, 'The time limit of one list and its comparison.'),
    }),
    driver: stringFlag('', 'The name of the CSI driver. It must be the name that the driver itself returns.'),
    'driver-address': stringFlag('', 'The socket of the driver.'),
    'driver-list': stringFlag('', 'A file that --dump made, or an earlier and a later one: A,B.'),
    dump: boolFlag(false, 'Print the list of the driver for --driver-list.'),
    output: { ...stringFlag('text', 'The format: text, json or yaml.'), shorthand: 'o' },
    grace: durationFlag(600_000, 'What is younger may be work under way.'),
    confirm: uintFlag(
      0,
      'Number of further lists, each --grace after the one before. A difference counts that two lists show.',
    ),
    kinds: stringFlag(auditKinds.join(','), 'What is compared.'),
    'volume-id-prefix': stringFlag('', 'Volumes whose handles begin otherwise are not ours.'),
    'page-size': rare(uintFlag(500, 'Entries in a page of the driver; 0: the driver chooses.')),
    calls: rare(
      uintFlag(100, 'Volumes and snapshots that the driver is asked for one by one, because it does not list them.'),
    ),
    'via-pod': boolFlag(false, 'Print the last audit of the leaders, through port-forwards to their pods.'),
    via: rare(
      stringFlag(
        '',
        'The same through port-forwards that are open, as in http://127.0.0.1:8080,http://127.0.0.1:8081.',
      ),
    ),
    'driver-namespace': rare(stringFlag('', 'With --via-pod: the namespace of the driver, if it is not found.')),
    node: stringFlag('', 'The node of the driver, if it lists the volumes of its own node only.'),
  },
};

/** The reason why this command line cannot be run; undefined if it can. */
export function refusedOf(values: AuditValues, positionals: readonly string[]): string | undefined {
  if (positionals.length > 0) return `audit takes no argument, not ${positionals.join(' ')}`;
  if (!['text', 'json', 'yaml'].includes(values.output)) return '--output must be text, json or yaml';
  if (values.dump) return values['driver-address'] === '' ? '--dump needs --driver-address' : undefined;
  if (values.driver === '') return '--driver is missing';
  const sources = [values['driver-address'] !== '', values['driver-list'] !== '', values['via-pod'], values.via !== ''];
  if (sources.filter(Boolean).length !== 1) {
    return 'one of --driver-address, --driver-list, --via-pod and --via is needed';
  }
  if (isAsked(values) && values.confirm > 0) return '--confirm needs --driver-address; a leader confirms by itself';
  const endpoints = parseEndpoints(values.via);
  if (endpoints.kind === 'mistake') return endpoints.message;
  if (values['driver-list'] !== '' && values.confirm > 0) {
    return '--confirm needs --driver-address; --driver-list takes an earlier and a later file';
  }
  if (values['driver-list'].split(',').length > 2) return '--driver-list takes at most two files';
  if (kindsOf(values) === undefined) return `--kinds must be some of ${auditKinds.join(', ')}`;
  if (values.grace < 0) return '--grace must not be negative';
  return undefined;
}

/** A leader is asked, and not the driver. */
export function isAsked(values: Pick<AuditValues, 'via' | 'via-pod'>): boolean {
  return values['via-pod'] || values.via !== '';
}

/** Undefined: one of them is no kind. */
export function kindsOf(values: Pick<AuditValues, 'kinds'>): ReadonlySet<AuditKind> | undefined {
  const kinds = values.kinds.split(',').map((word) => auditKinds.find((kind) => kind === word.trim()));
  return kinds.every((kind) => kind !== undefined) ? new Set(kinds) : undefined;
}
