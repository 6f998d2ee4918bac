// SPDX-License-Identifier: Apache-2.0
/** Every argument in the golden files is a flag of the program that gets it, by the program's own table. */
import { describe, expect, it } from 'vitest';
import { readGolden } from '../../../testing/golden.ts';
import { toManifests } from '../../../testing/helm.ts';
import { programOf, unknownTo } from '../../../testing/known-flags.ts';
import { containersOf, isWorkload, podOf } from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { chart } from '../minimal.ts';

describe.each(valuesFiles(chart).filter(({ isExample }) => !isExample))('containers of $name', ({ name }) => {
  const containers = toManifests(readGolden(chart, 'yaml', name))
    .filter(isWorkload)
    .flatMap((object) => (podOf(object).os?.name === 'windows' ? [] : containersOf(podOf(object))));

  it('given the arguments that the chart renders, then the programs know all flags and gates', () => {
    const sidecars = containers.filter(({ name: container }) => Object.hasOwn(programOf, container));
    expect(sidecars.length).toBeGreaterThan(1);
    for (const container of sidecars) {
      expect(unknownTo(container), container.name).toEqual([]);
    }
  });
});
