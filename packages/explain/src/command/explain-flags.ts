// SPDX-License-Identifier: Apache-2.0
/** The command line of `csi-sidecars explain`. */
import { boolFlag, durationFlag, intFlag, type ProgramFlags, rare, stringFlag } from '@csi-sidecars/sidecar';
import { parseEndpoints } from '../leader-answer/endpoints.ts';
import { clusterFlags, type ClusterValues } from './cluster-flags.ts';

export const outputs = ['text', 'json', 'yaml', 'row'] as const;
export type Output = (typeof outputs)[number];

export interface ExplainValues extends ClusterValues {
  readonly namespace: string;
  readonly output: string;
  readonly watch: boolean;
  readonly until: string;
  /** Milliseconds; 0: no limit. */
  readonly for: number;
  readonly 'driver-namespace': string;
  readonly 'snapshot-controller-namespace': string;
  readonly deep: boolean;
  readonly 'no-events': boolean;
  readonly 'node-metrics': boolean;
  readonly 'volume-name-prefix': string;
  readonly 'volume-name-uuid-length': number;
  readonly 'all-volumes': boolean;
  readonly via: string;
  readonly 'via-pod': boolean;
}

export const explainProgram: ProgramFlags<ExplainValues> = {
  name: 'csi-sidecars',
  syntax: 'pflag',
  gates: {},
  flags: {
    ...clusterFlags,
    namespace: { ...stringFlag('', 'The namespace of the object. Default: that of the context.'), shorthand: 'n' },
    output: { ...stringFlag('text', 'The format: text, json, yaml or row.'), shorthand: 'o' },
    watch: { ...boolFlag(false, 'Explain again after each change, until nothing is awaited.'), shorthand: 'w' },
    until: rare(stringFlag('done', 'With --watch: done, or person to end when a person is needed.')),
    for: durationFlag(0, 'With --watch: the longest time.'),
    'driver-namespace': stringFlag('', 'The namespace of the driver and its sidecars, if it is not found.'),
    'snapshot-controller-namespace': rare(stringFlag('', 'The namespace of snapshot-controller, if it is not found.')),
    deep: boolFlag(false, 'Read all VolumeAttachments where one is looked for.'),
    'no-events': boolFlag(false, 'Read no events; failures are then known from objects only.'),
    'node-metrics': boolFlag(false, 'Read what the kubelet in charge has measured.'),
    'volume-name-prefix': rare(stringFlag('pvc', 'That of csi-provisioner. Default: what its leader has.')),
    'volume-name-uuid-length': rare(intFlag(-1, 'That of csi-provisioner. Default: what its leader has.')),
    via: rare(stringFlag('', 'Port-forwards to leaders with --debug-explain, as in http://127.0.0.1:8080.')),
    'via-pod': boolFlag(false, 'Ask the leader in charge through a port-forward to its pod.'),
    'all-volumes': boolFlag(false, 'Explain all volumes of a pod that has more than ten.'),
  },
};

/** The reason why this command line cannot be run; undefined if it can. */
export function refusedOf(values: ExplainValues): string | undefined {
  if (!outputs.some((output) => output === values.output)) return `--output must be ${outputs.join(', ')}`;
  if (values.until !== 'done' && values.until !== 'person') return '--until must be done or person';
  if (values['volume-name-prefix'] === '') return '--volume-name-prefix must not be empty';
  if (values['via-pod'] && values.via !== '') return '--via-pod and --via exclude each other';
  const endpoints = parseEndpoints(values.via);
  return endpoints.kind === 'mistake' ? endpoints.message : undefined;
}
