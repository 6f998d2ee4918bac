// SPDX-License-Identifier: Apache-2.0
/** Part driver: what the CSIDriver says against what runs beside the driver. */
import { nearest } from '@csi-sidecars/sidecar';
import type { ObjectName, Program } from '../../verdict.ts';
import { type Check, clusterCheck, driverCheck, factOf, problem, textOf } from '../check.ts';
import { namesOfDrivers } from '../readings/drivers.ts';
import { driverPrograms, elects, isOn, running, type Sidecar, type WorkloadFacts } from '../readings/sidecars.ts';
import { calledBy, electionPlace, flagFact, imageFact, yamlOf } from './wording.ts';
import type { DriverFacts, Leading } from '../readings/facts.ts';

/** A Lease that somebody holds shows a program whose workload was not found. */
export function isLed(leading: readonly Leading[], driver: DriverFacts, program: Program): boolean {
  const found = leading.find((each) => each.driver === driver.name && each.program === program)?.leader;
  return found !== undefined && found.kind !== 'dead' && found.kind !== 'none';
}

export function driverName({ name }: DriverFacts): ObjectName {
  return { kind: 'CSIDriver', name };
}

const unknownDriver: Check = clusterCheck({
  id: 'driver-1',
  severity: 'error',
  wrong: 'a class or a volume names a driver that has neither a CSIDriver nor a registration on any node',
  mend: 'install the driver, or make the class again with the right name',
  reads: ['csiDrivers', 'registrations', 'classes', 'volumes'],
  judge: ({ csiDrivers, registrations, classes, volumes }) => {
    const known = namesOfDrivers({ csiDrivers, registrations });
    const ofVolumes = new Map(
      volumes.flatMap((volume) => (volume.driver === undefined ? [] : [[volume.driver, volume]])),
    );
    const named = Map.groupBy(classes, ({ provisioner }) => provisioner);
    const unknown = [...new Set([...named.keys(), ...ofVolumes.keys()])].filter(
      (name) => !known.has(name) && !name.startsWith('kubernetes.io/'),
    );
    return unknown.flatMap((name) => {
      const meant = nearest(name, [...known]);
      const volume = ofVolumes.get(name);
      // Provisioners that are no CSI drivers have none of these objects, and are fine.
      if (meant === undefined && volume === undefined) return [];
      const own = (named.get(name) ?? []).map(({ metadata }) => ({ kind: 'StorageClass', name: metadata?.name ?? '' }));
      const hint = meant === undefined ? '' : `; there is ${meant}`;
      const used = volume === undefined ? own[0] : { kind: 'PersistentVolume', name: volume.name };
      return problem(`${name} is no CSI driver of this cluster${hint}`, {
        driver: name,
        objects: own.length > 0 || used === undefined ? own : [used],
        evidence: [
          factOf(
            used === undefined ? 'StorageClass' : textOf(used),
            volume === undefined ? 'provisioner' : 'spec.csi.driver',
            name,
          ),
          factOf('CSIDrivers and CSINodes', 'names', [...known].slice(0, 20).join(', ')),
        ],
        look: ['kubectl', 'get', 'csidrivers'],
      });
    });
  },
});

const noAttacher: Check = driverCheck({
  id: 'driver-2',
  severity: 'error',
  wrong: 'the CSIDriver demands attachments, and no csi-attacher runs: pods wait for ever',
  mend: 'run csi-attacher, or make the CSIDriver again with attachRequired: false',
  reads: ['csiDrivers', 'workloads', 'leading'],
  judge: (driver, { workloads, leading }) => {
    const required = driver.object?.spec.attachRequired;
    if (driver.object === undefined || required === false) return [];
    if (running(workloads.of(driver.name), 'csi-attacher').length > 0 || isLed(leading, driver, 'csi-attacher'))
      return [];
    return [
      problem(`${driver.name} demands attachments, and no csi-attacher of it runs`, {
        program: 'csi-attacher',
        objects: [driverName(driver)],
        evidence: [
          factOf(textOf(driverName(driver)), 'spec.attachRequired', required ?? 'true (by default)'),
          factOf('Deployments, StatefulSets, DaemonSets, Leases', 'csi-attacher of the driver', 'none'),
        ],
        look: yamlOf(driverName(driver)),
      }),
    ];
  },
});

const idleAttacher: Check = driverCheck({
  id: 'driver-3',
  severity: 'warn',
  wrong: 'the CSIDriver demands no attachments, and csi-attacher runs: it has no work',
  mend: 'remove csi-attacher',
  reads: ['csiDrivers', 'workloads'],
  judge: (driver, { workloads }) => {
    if (driver.object?.spec.attachRequired !== false) return [];
    return running(workloads.of(driver.name), 'csi-attacher')
      .filter(({ sidecar }) => !sidecar.isCombined)
      .map(({ workload, sidecar }) =>
        problem(`csi-attacher of ${driver.name} runs, and the driver attaches nothing`, {
          program: 'csi-attacher',
          objects: [workload.object],
          evidence: [factOf(textOf(driverName(driver)), 'spec.attachRequired', false), imageFact(workload, sidecar)],
          look: yamlOf(driverName(driver)),
        }),
      );
  },
});

const capacity: Check = driverCheck({
  id: 'driver-4',
  severity: 'warn',
  wrong: 'storageCapacity of the CSIDriver and --enable-capacity of csi-provisioner do not agree',
  mend: 'set both or neither',
  reads: ['csiDrivers', 'workloads'],
  judge: (driver, { workloads }) => {
    if (driver.object === undefined) return [];
    const isWanted = driver.object.spec.storageCapacity === true;
    const all = running(workloads.of(driver.name), 'csi-provisioner').filter(
      ({ sidecar }) => sidecar.arguments.isWhole,
    );
    return all
      .filter(({ sidecar }) => isOn(sidecar, 'enable-capacity') !== isWanted)
      .map(({ workload, sidecar }) =>
        problem(
          isWanted
            ? `the scheduler asks for the capacity of ${driver.name}, and csi-provisioner publishes none`
            : `csi-provisioner publishes the capacity of ${driver.name}, and the scheduler does not look at it`,
          {
            program: 'csi-provisioner',
            objects: [driverName(driver), workload.object],
            evidence: [
              factOf(textOf(driverName(driver)), 'spec.storageCapacity', isWanted),
              flagFact(workload, sidecar, 'enable-capacity'),
            ],
            look: yamlOf(driverName(driver)),
          },
        ),
      );
  },
});

/** Of a DaemonSet with `--node-deployment` each node has its own part of the work. */
function isPerNode({ object }: WorkloadFacts, sidecar: Sidecar): boolean {
  return object.kind === 'DaemonSet' && isOn(sidecar, 'node-deployment');
}

const twoWorkloads: Check = driverCheck({
  id: 'driver-8',
  severity: 'error',
  wrong:
    'two workloads run the same program of a driver, and elect their leaders in different namespaces or not at all',
  mend: 'remove one of them, or give both the same --leader-election-namespace',
  reads: ['workloads'],
  judge: (driver, { workloads }) =>
    driverPrograms.flatMap((program) => {
      const all = running(workloads.of(driver.name), program).filter(
        ({ workload, sidecar }) =>
          workload.replicas > 0 && !isPerNode(workload, sidecar) && workload.object.kind !== 'DaemonSet',
      );
      const places = Map.groupBy(all, (each) => electionPlace(each));
      const distinct = new Set(all.map(({ workload }) => calledBy(workload)));
      if (distinct.size < 2 || (places.size < 2 && !places.has('nowhere'))) return [];
      const [first, second] = all;
      if (first === undefined || second === undefined) return [];
      return [
        problem(`${program} of ${driver.name} runs in ${[...distinct].join(' and ')}, and each of them leads`, {
          program,
          objects: all.map(({ workload }) => workload.object),
          evidence: [
            factOf(textOf(first.workload.object), 'elects in', electionPlace(first)),
            factOf(textOf(second.workload.object), 'elects in', electionPlace(second)),
          ],
          look: ['kubectl', 'get', 'deployments,statefulsets', '--all-namespaces', '-o', 'wide'],
        }),
      ];
    }),
});

const twoAtOnce: Check = driverCheck({
  id: 'driver-9',
  severity: 'error',
  wrong: 'several replicas of a program run, or two while it is rolled out, and none is elected',
  mend: 'set --leader-election, or one replica with strategy Recreate',
  reads: ['workloads'],
  judge: (driver, { workloads }) =>
    driverPrograms.flatMap((program) =>
      running(workloads.of(driver.name), program).flatMap(({ workload, sidecar }) => {
        if (elects(sidecar) || isPerNode(workload, sidecar) || !sidecar.arguments.isWhole) return [];
        const count = workload.object.kind === 'DaemonSet' ? workload.scheduled.desired : workload.replicas;
        const isMany = count > 1;
        if (!isMany && !(workload.isSurging && workload.replicas === 1)) return [];
        return problem(
          isMany
            ? `${count} replicas of ${program} of ${driver.name} work at the same time`
            : `while ${calledBy(workload)} is rolled out, two of ${program} of ${driver.name} work at the same time`,
          {
            // A short time, and only when something is changed.
            ...(!isMany && { severity: 'warn' }),
            program,
            objects: [workload.object],
            evidence: [
              factOf(
                textOf(workload.object),
                isMany ? 'replicas' : 'spec.strategy',
                isMany ? count : 'RollingUpdate with surge',
              ),
              flagFact(workload, sidecar, 'leader-election'),
            ],
            look: yamlOf(workload.object),
          },
        );
      }),
    ),
});

export const driverChecks: readonly Check[] = [
  unknownDriver,
  noAttacher,
  idleAttacher,
  capacity,
  twoWorkloads,
  twoAtOnce,
];
