// SPDX-License-Identifier: Apache-2.0
/** Part stuck: finalizers that only our csi-provisioner puts on claims and takes off. */
import { driverOfProvisioningFinalizer } from '@csi-sidecars/provisioner';
import { type Check, driverCheck, type Fact, factOf, problem, textOf } from '../check.ts';
import type { ClaimFacts, DriverFacts, Leading, Workloads } from '../readings/facts.ts';
import { running } from '../readings/sidecars.ts';
import { isLed } from './driver-objects.ts';
import { counted, imageFact, yamlOf } from './wording.ts';

function finalizerOf({ finalizers, provisioner }: ClaimFacts, { name }: DriverFacts): string | undefined {
  return finalizers.find((finalizer) => {
    const driver = driverOfProvisioningFinalizer(finalizer);
    // The finalizer of the first release names no driver.
    return driver === name || (driver === '' && provisioner === name);
  });
}

/** What shows that no csi-provisioner of ours runs; undefined: one may. */
function without(workloads: Workloads, leading: readonly Leading[], driver: DriverFacts): Fact | undefined {
  const places = running(workloads.of(driver.name), 'csi-provisioner');
  const [place] = places;
  if (place !== undefined)
    return places.every(({ sidecar }) => sidecar.flavour === 'upstream')
      ? imageFact(place.workload, place.sidecar)
      : undefined;
  if (isLed(leading, driver, 'csi-provisioner')) return undefined;
  return factOf('Leases and workloads', `csi-provisioner of ${driver.name}`, 'none');
}

const left: Check = driverCheck({
  id: 'stuck-5',
  severity: 'warn',
  wrong: 'claims have the finalizer of our csi-provisioner, and no csi-provisioner of ours runs for the driver',
  mend: 'see `csi-sidecars leftovers`',
  causes: ['stuck-1'],
  reads: ['claims', 'workloads', 'leading'],
  judge: (driver, { claims, workloads, leading }) => {
    const seen = without(workloads, leading, driver);
    const own = claims.filter((claim) => finalizerOf(claim, driver) !== undefined);
    const [first] = own;
    if (first === undefined || seen === undefined) return [];
    const name = { kind: 'PersistentVolumeClaim', namespace: first.namespace, name: first.name };
    return [
      problem(`${counted(own.length, 'claim')} with a finalizer that no csi-provisioner of ${driver.name} takes off`, {
        program: 'csi-provisioner',
        objects: own.map((each) => ({ kind: 'PersistentVolumeClaim', namespace: each.namespace, name: each.name })),
        evidence: [factOf(textOf(name), 'metadata.finalizers', finalizerOf(first, driver)), seen],
        look: yamlOf(name),
      }),
    ];
  },
});

export const finalizerChecks: readonly Check[] = [left];
