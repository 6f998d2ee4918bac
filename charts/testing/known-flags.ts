// SPDX-License-Identifier: Apache-2.0
/** Whether our programs know the arguments that a chart renders, by their own tables. */
import { manifests } from '../../scripts/manifests.ts';
import { flagsOf, type Container } from './manifest.ts';

/** By the name of the container. */
export const programOf: Readonly<Record<string, string>> = {
  'csi-provisioner': 'csi-provisioner',
  'csi-attacher': 'csi-attacher',
  'csi-resizer': 'csi-resizer',
  'csi-snapshotter': 'csi-snapshotter',
  'csi-external-health-monitor-controller': 'csi-external-health-monitor-controller',
  'csi-snapshot-metadata': 'csi-snapshot-metadata',
  'node-driver-registrar': 'csi-node-driver-registrar',
  'liveness-probe': 'livenessprobe',
  'csi-sidecars': 'csi-sidecars',
  'snapshot-controller': 'snapshot-controller',
  'snapshot-conversion-webhook': 'snapshot-conversion-webhook',
};
function tableOf(program: string): { readonly flags: ReadonlySet<string>; readonly gates: ReadonlySet<string> } {
  const { flags } = manifests.find(({ commandLine }) => commandLine === program)!;
  return { flags: new Set(Object.keys(flags.flags)), gates: new Set(Object.keys(flags.gates)) };
}

const gatesOf = (flags: Readonly<Record<string, string>>): readonly string[] =>
  (flags['feature-gates'] ?? '')
    .split(',')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('=')[0]!);

/** Flags and gates of a container that its program does not have. */
export function unknownTo(container: Container): readonly string[] {
  const table = tableOf(programOf[container.name]!);
  const given = flagsOf(container);
  return [
    ...Object.keys(given).filter((flag) => !table.flags.has(flag)),
    ...gatesOf(given).filter((gate) => !table.gates.has(gate)),
  ];
}
