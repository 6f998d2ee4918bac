// SPDX-License-Identifier: Apache-2.0
/** Part health: whether claims can show the health of their volumes, and what they show. */
import { type Check, clusterCheck, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { running, writesHealth } from '../readings/sidecars.ts';
import { isBelow, minorOf, oldestWithHealth, versionText } from '../readings/versions.ts';
import { counted, explainOf, imageFact, ofDriver } from './wording.ts';

const program = 'csi-external-health-monitor-controller';

const dropped: Check = driverCheck({
  id: 'health-1',
  severity: 'warn',
  wrong: 'the health monitor runs, and the API server does not keep what it writes: only its metric shows health',
  mend: 'Kubernetes 1.37 or later with the gate CSIVolumeHealth of kube-apiserver on',
  reads: ['workloads', 'version', 'healthGate'],
  judge: (driver, { workloads, version, healthGate }) => {
    const place = running(workloads.of(driver.name), program).find(({ sidecar }) => writesHealth(sidecar));
    if (place === undefined) return [];
    const isEarly = isBelow(minorOf(version), oldestWithHealth);
    if (!isEarly && healthGate.isOn !== false) return [];
    const why = isEarly
      ? `claims have no health before Kubernetes ${versionText(oldestWithHealth)}`
      : 'the gate CSIVolumeHealth of the API server is off';
    return [
      problem(`claims do not show the health of volumes of ${driver.name}: ${why}`, {
        program,
        objects: [place.workload.object],
        evidence: [
          imageFact(place.workload, place.sidecar),
          isEarly
            ? factOf('API server', 'version', version)
            : factOf('API server', 'kubernetes_feature_enabled of CSIVolumeHealth', 0),
        ],
        look: ['kubectl', 'get', '--raw', isEarly ? '/version' : '/metrics'],
      }),
    ];
  },
});

const unhealthy: Check = clusterCheck({
  id: 'health-2',
  severity: 'warn',
  wrong: 'claims show that the driver calls their volumes unhealthy',
  mend: 'what the conditions of the claim name, in the storage system',
  reads: ['claims'],
  judge: ({ claims }) => {
    const groups = Map.groupBy(
      claims.filter(({ health }) => health.length > 0),
      ({ provisioner }) => provisioner,
    );
    return [...groups].flatMap(([driver, group]): readonly Judgement[] => {
      const [first] = group;
      if (first === undefined) return [];
      const nameOf = ({ namespace, name }: typeof first) => ({ kind: 'PersistentVolumeClaim', namespace, name });
      const states = [...new Set(group.flatMap(({ health }) => health))].toSorted();
      return [
        problem(`${counted(group.length, 'volume')}${ofDriver(driver)} reported as ${states.join(', ')}`, {
          driver,
          program,
          objects: group.map(nameOf),
          evidence: [
            factOf(textOf(nameOf(first)), 'status.healthStatus', first.health.join(', ')),
            factOf(textOf(nameOf(first)), 'status.phase', first.phase),
          ],
          look: explainOf('pvc', nameOf(first)),
        }),
      ];
    });
  },
});

export const healthChecks: readonly Check[] = [dropped, unhealthy];
