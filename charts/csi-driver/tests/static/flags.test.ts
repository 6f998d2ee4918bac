// SPDX-License-Identifier: Apache-2.0
/** Every argument in the golden files is a flag of the program that gets it, by the program's own table. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { manifests } from '../../../../scripts/manifests.ts';
import { toManifests } from '../../../testing/helm.ts';
import { containersOf, flagsOf, isWorkload, podOf, type Container } from '../../../testing/manifest.ts';
import { goldenPath, valuesFiles } from '../../../testing/matrix.ts';
import { chart } from '../minimal.ts';

const programOf: Readonly<Record<string, string>> = {
  'csi-provisioner': 'csi-provisioner',
  'csi-attacher': 'csi-attacher',
  'csi-resizer': 'csi-resizer',
  'csi-snapshotter': 'csi-snapshotter',
  'node-driver-registrar': 'csi-node-driver-registrar',
  'liveness-probe': 'livenessprobe',
  'csi-sidecars': 'csi-sidecars',
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

function unknownTo(program: string, container: Container): readonly string[] {
  const table = tableOf(program);
  const given = flagsOf(container);
  return [
    ...Object.keys(given).filter((flag) => !table.flags.has(flag)),
    ...gatesOf(given).filter((gate) => !table.gates.has(gate)),
  ];
}

describe.each(valuesFiles(chart))('containers of $name', ({ name }) => {
  const containers = toManifests(readFileSync(goldenPath(chart, `${name}.yaml`), 'utf8'))
    .filter(isWorkload)
    .flatMap((object) => (podOf(object).os?.name === 'windows' ? [] : containersOf(podOf(object))));

  it('given the arguments that the chart renders, then the programs know all flags and gates', () => {
    const sidecars = containers.filter(({ name: container }) => Object.hasOwn(programOf, container));
    expect(sidecars.length).toBeGreaterThan(1);
    for (const container of sidecars) {
      expect(unknownTo(programOf[container.name]!, container), container.name).toEqual([]);
    }
  });
});
