// SPDX-License-Identifier: Apache-2.0
/** Part driver: what only the leaders know of it. Without `--via-pod` they are not asked, and nothing is found. */
import type { Missing } from '../../cluster/reader.ts';
import { type Check, driverCheck, type Fact, factOf, type Judgement, problem, textOf } from '../check.ts';
import type { DriverFacts, Readings } from '../readings/facts.ts';
import { isOn, running } from '../readings/sidecars.ts';
import { className, classesOf } from './classes.ts';
import { driverName } from './driver-objects.ts';
import { flagFact, yamlOf } from './wording.ts';

const reads = ['leaders', 'csiDrivers', 'classes', 'snapshotClasses', 'attributesClasses', 'workloads'] as const;
type Read = Pick<Readings, (typeof reads)[number]>;

interface Presumption {
  readonly capability: string;
  /** What counts on it; undefined: nothing does. */
  readonly by: (driver: DriverFacts, read: Read) => Fact | undefined;
}

function classFact(
  driver: DriverFacts,
  { classes }: Read,
  { field, isSet }: { readonly field: string; readonly isSet: (each: Read['classes'][number]) => boolean },
): Fact | undefined {
  const found = classesOf(classes, driver).find(isSet);
  return found && factOf(textOf(className(found)), field, true);
}

const presumptions: readonly Presumption[] = [
  {
    capability: 'PUBLISH_UNPUBLISH_VOLUME',
    by: (driver) =>
      driver.object?.spec.attachRequired === true
        ? factOf(textOf(driverName(driver)), 'spec.attachRequired', true)
        : undefined,
  },
  {
    capability: 'GET_CAPACITY',
    by: (driver, { workloads }) => {
      const place = running(workloads.of(driver.name), 'csi-provisioner').find(({ sidecar }) =>
        isOn(sidecar, 'enable-capacity'),
      );
      return place && flagFact(place.workload, place.sidecar, 'enable-capacity');
    },
  },
  {
    capability: 'EXPAND_VOLUME',
    by: (driver, read) =>
      classFact(driver, read, {
        field: 'allowVolumeExpansion',
        isSet: ({ allowVolumeExpansion }) => allowVolumeExpansion === true,
      }),
  },
  {
    capability: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
    by: (driver, read) =>
      classFact(driver, read, {
        field: 'allowedTopologies is set',
        isSet: ({ allowedTopologies = [] }) => allowedTopologies.length > 0,
      }),
  },
  {
    capability: 'CREATE_DELETE_SNAPSHOT',
    by: (driver, { snapshotClasses }) => {
      const found = snapshotClasses.find((each) => each.driver === driver.name);
      return found && factOf(`VolumeSnapshotClass ${found.metadata?.name}`, 'driver', driver.name);
    },
  },
  {
    capability: 'MODIFY_VOLUME',
    by: (driver, { attributesClasses }) => {
      const found = attributesClasses.find(({ driverName: of }) => of === driver.name);
      return found && factOf(`VolumeAttributesClass ${found.metadata?.name}`, 'driverName', driver.name);
    },
  },
];

function silent({ name }: DriverFacts): Missing {
  const facts = { verb: 'get', group: '', resource: 'pods/portforward', namespace: undefined } as const;
  return { ...facts, because: 'failed', notKnown: `what the leaders of ${name} say of it` };
}

const incapable: Check = driverCheck({
  id: 'driver-14',
  severity: 'info',
  wrong: 'with --via-pod: the driver has no capability that a class, its CSIDriver or a flag counts on',
  mend: 'change what counts on it, or run a driver that has it',
  reads: [...reads],
  judge: (driver, read): readonly Judgement[] => {
    if (!read.leaders.isAsked) return [];
    const own = read.leaders.said.find(
      (each) => each.driver === driver.name && each.capabilities !== undefined && each.capabilities.size > 0,
    );
    const has = own?.capabilities;
    if (own === undefined || has === undefined) return [{ kind: 'notKnown', missing: silent(driver) }];
    return presumptions.flatMap(({ capability, by }): readonly Judgement[] => {
      const presumed = has.has(capability) ? undefined : by(driver, read);
      if (presumed === undefined) return [];
      return [
        problem(`${driver.name} has no ${capability}, and ${presumed.object} counts on it`, {
          objects: [driverName(driver)],
          evidence: [
            presumed,
            factOf(`${own.program} of pod ${own.pod}`, 'capabilities of the driver', [...has].toSorted().join(', ')),
          ],
          look: yamlOf(driverName(driver)),
        }),
      ];
    });
  },
});

export const capabilityChecks: readonly Check[] = [incapable];
