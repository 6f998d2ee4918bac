// SPDX-License-Identifier: Apache-2.0
/** Part pop: volume-data-source-validator, by itself or beside snapshot-controller, and what it needs. */
import { type Check, clusterCheck, factOf, problem } from '../check.ts';
import { running } from '../readings/sidecars.ts';
import { rivalsOf } from './rivals.ts';
import { calledBy, imageFact } from './wording.ts';

const program = 'volume-data-source-validator';

const undefinedKind: Check = clusterCheck({
  id: 'pop-1',
  severity: 'warn',
  wrong: 'volume-data-source-validator runs, and the definition of VolumePopulator is missing: no claim is checked',
  mend: 'install the definition: the chart snapshot-controller has it',
  reads: ['crds', 'workloads'],
  judge: ({ crds, workloads }) => {
    const crd = crds.find(({ of }) => of === 'populators');
    const place = running(workloads.all, program).find(({ workload }) => workload.replicas > 0);
    if (crd === undefined || crd.versions !== undefined || place === undefined) return [];
    return [
      problem(`${program} of ${calledBy(place.workload)} checks no claim: ${crd.name} is not defined`, {
        program,
        objects: [{ kind: 'CustomResourceDefinition', name: crd.name }],
        evidence: [factOf('CustomResourceDefinitions', crd.name, 'absent'), imageFact(place.workload, place.sidecar)],
        look: ['kubectl', 'get', 'customresourcedefinitions'],
      }),
    ];
  },
});

const rivals: Check = clusterCheck({
  id: 'pop-2',
  severity: 'warn',
  wrong:
    'two volume-data-source-validators run, one of them perhaps beside snapshot-controller, and elect no leader among them: each claim gets their events twice',
  mend: 'remove one of them, or give both the same --leader-election-namespace',
  reads: ['workloads'],
  judge: ({ workloads }) => rivalsOf(workloads, program),
});

export const populatorChecks: readonly Check[] = [undefinedKind, rivals];
