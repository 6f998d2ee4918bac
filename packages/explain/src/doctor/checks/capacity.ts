// SPDX-License-Identifier: Apache-2.0
/** Part cap: the CSIStorageCapacity objects by which pods are scheduled. */
import { createdMs } from '../../facts/objects.ts';
import { type Check, driverCheck, factOf, problem, textOf } from '../check.ts';
import { classesOf } from './classes.ts';
import { driverName } from './driver-objects.ts';
import { counted, yamlOf } from './wording.ts';
import type { CapacityFacts, DriverFacts } from '../readings/facts.ts';

export function ownOf(capacities: readonly CapacityFacts[], { name }: DriverFacts): readonly CapacityFacts[] {
  return capacities.filter(({ driver }) => driver === name);
}

/** A poll of all segments and classes. */
const settleMs = 120_000;

const none: Check = driverCheck({
  id: 'cap-1',
  severity: 'error',
  wrong:
    'the CSIDriver has storageCapacity, its classes wait for the node, and no CSIStorageCapacity exists: no pod with such a claim is scheduled',
  mend: 'set --enable-capacity of csi-provisioner, or storageCapacity to false',
  causes: ['driver-4', 'lease-1', 'pod-1', 'rights-1'],
  reads: ['csiDrivers', 'capacities', 'classes'],
  judge: (driver, { capacities, classes }, { nowMs }) => {
    if (driver.object?.spec.storageCapacity !== true || ownOf(capacities, driver).length > 0) return [];
    const young = (atMs: number | undefined): boolean => atMs !== undefined && nowMs - atMs < settleMs;
    const own = classesOf(classes, driver).filter(
      (each) => each.volumeBindingMode === 'WaitForFirstConsumer' && !young(createdMs(each)),
    );
    const [first] = own;
    if (first === undefined || young(createdMs(driver.object))) return [];
    return [
      problem(
        `no CSIStorageCapacity of ${driver.name} exists: no pod with a claim of class ${first.metadata?.name} is scheduled`,
        {
          program: 'csi-provisioner',
          objects: [driverName(driver)],
          evidence: [
            factOf(textOf(driverName(driver)), 'spec.storageCapacity', true),
            factOf('CSIStorageCapacities', `of ${driver.name}`, 'none'),
          ],
          look: ['kubectl', 'get', 'csistoragecapacities', '--all-namespaces'],
        },
      ),
    ];
  },
});

const orphaned: Check = driverCheck({
  id: 'cap-3',
  severity: 'warn',
  wrong: 'CSIStorageCapacity objects are of a class that does not exist',
  mend: 'run csi-provisioner with --enable-capacity, which removes them; else see `csi-sidecars leftovers`',
  causes: ['lease-1', 'pod-1'],
  reads: ['capacities', 'classes'],
  judge: (driver, { capacities, classes }) => {
    const names = new Set(classes.map(({ metadata }) => metadata?.name));
    const bad = ownOf(capacities, driver).filter(({ className }) => !names.has(className));
    const [first] = bad;
    if (first === undefined) return [];
    const object = { kind: 'CSIStorageCapacity', namespace: first.namespace, name: first.name };
    return [
      problem(
        `${counted(bad.length, 'CSIStorageCapacity object')} of ${driver.name} name class ${first.className}, which does not exist`,
        {
          program: 'csi-provisioner',
          objects: bad.map(({ namespace, name }) => ({ kind: 'CSIStorageCapacity', namespace, name })),
          evidence: [
            factOf(textOf(object), 'storageClassName', first.className),
            factOf('StorageClasses', first.className, 'absent'),
          ],
          look: yamlOf(object),
        },
      ),
    ];
  },
});

export const capacityChecks: readonly Check[] = [none, orphaned];
