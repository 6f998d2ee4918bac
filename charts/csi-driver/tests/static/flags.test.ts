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
};
/** Those of the combined program that no single program has. */
const combinedOnly = ['controllers', 'shutdown-timeout'];

function tableOf(program: string): { readonly flags: ReadonlySet<string>; readonly gates: ReadonlySet<string> } {
  const { flags } = manifests.find(({ name }) => name === program)!;
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

function unknownToCombined(container: Container): readonly string[] {
  const given = flagsOf(container);
  const controllers = (given['controllers'] ?? '').split(',');
  const tables = controllers.map((controller) => ({ controller, ...tableOf(`csi-${controller}`) }));
  const isKnown = (flag: string): boolean =>
    combinedOnly.includes(flag) ||
    // Shared: every controller has it.
    tables.every(({ flags }) => flags.has(flag)) ||
    tables.some(
      ({ controller, flags }) => flag.startsWith(`${controller}-`) && flags.has(flag.slice(controller.length + 1)),
    );
  return [
    ...Object.keys(given).filter((flag) => !isKnown(flag)),
    ...gatesOf(given).filter((gate) => !tables.some(({ gates }) => gates.has(gate))),
  ];
}

describe.each(valuesFiles(chart))('containers of $name', ({ name }) => {
  const containers = toManifests(readFileSync(goldenPath(chart, `${name}.yaml`), 'utf8'))
    .filter(isWorkload)
    .flatMap((object) => (podOf(object).os?.name === 'windows' ? [] : containersOf(podOf(object))));

  it('given the arguments that the chart renders, then the programs know all flags and gates', () => {
    const sidecars = containers.filter((each) => Object.hasOwn(programOf, each.name) || each.name === 'csi-sidecars');
    expect(sidecars.length).toBeGreaterThan(1);
    for (const container of sidecars) {
      const program = programOf[container.name];
      const unknown = program === undefined ? unknownToCombined(container) : unknownTo(program, container);
      expect(unknown, container.name).toEqual([]);
    }
  });
});
