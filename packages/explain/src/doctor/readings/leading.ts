// SPDX-License-Identifier: Apache-2.0
/** The Leases of the programs of each driver, and whether their holders live. Leases of other names are not read. */
import { leases } from '@csi-sidecars/runtime';
import { leaderByLease, leasesOf } from '../../actors/leader.ts';
import type { Program } from '../../verdict.ts';
import { driversOf } from './drivers.ts';
import { clusterPrograms, driverPrograms } from './sidecars.ts';
import { eachOf, type Source, value } from './source.ts';
import type { Leading } from './facts.ts';

export const leadingSource: Source<readonly Leading[]> = {
  rights: ['list leases.coordination.k8s.io', 'get leases.coordination.k8s.io', 'get pods'],
  async read(gathering) {
    const { reader, scope } = gathering;
    const drivers = await driversOf(gathering);
    const questions: { readonly driver: string | undefined; readonly program: Program }[] = [
      ...drivers.flatMap(({ name }) => driverPrograms.map((program) => ({ driver: name, program }))),
      ...clusterPrograms.map((program) => ({ driver: undefined, program })),
    ];
    const all = await eachOf(questions, async ({ driver, program }): Promise<Leading | undefined> => {
      const question = { program, driver: driver ?? '', namespace: scope.namespace };
      const found = await leasesOf(reader, question);
      if (found.kind === 'unknown') return undefined;
      return { driver, program, leases: found.leases, leader: await leaderByLease(reader, question) };
    });
    const known = all.filter((each) => each !== undefined);
    if (known.length === all.length) return value(known);
    const missing = reader.missing().filter(({ resource }) => resource === leases.plural);
    return { kind: 'notRead', missing: missing.slice(0, 1) };
  },
};
