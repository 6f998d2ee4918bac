// SPDX-License-Identifier: Apache-2.0
/** Part lease: which pods hold the Leases of one driver. */
import { type Check, driverCheck, factOf, problem, textOf } from '../check.ts';
import { driverContainers } from '../readings/drivers.ts';
import type { DriverFacts, Leading } from '../readings/facts.ts';
import { argumentsOf, type Container } from '../readings/arguments.ts';
import type { WorkloadFacts } from '../readings/sidecars.ts';
import { calledBy, yamlOf } from './wording.ts';

interface Holder {
  readonly pod: string;
  readonly lease: { readonly kind: 'Lease'; readonly namespace: string; readonly name: string };
}

function holdersOf(leading: readonly Leading[], driver: DriverFacts): readonly Holder[] {
  return leading
    .filter((each) => each.driver === driver.name)
    .flatMap(({ leader, leases }) => {
      if (leader?.kind !== 'lives') return [];
      const lease = leases.find(({ spec }) => spec?.holderIdentity === leader.holder)?.metadata;
      if (lease === undefined) return [];
      const { namespace = '', name = '' } = lease;
      return [{ pod: leader.holder, lease: { kind: 'Lease', namespace, name } }];
    });
}

/** A flag of the container that says that one of its replicas works, and the others wait. */
function electionFlag(container: Container): string | undefined {
  const { values } = argumentsOf(container);
  return [...values].find(([name, value]) => /^(enable-)?leader-?elect(ion)?$/.test(name) && value !== 'false')?.[0];
}

function electing(workloads: readonly WorkloadFacts[]) {
  return workloads
    .filter(({ object, sidecars }) => object.kind !== 'DaemonSet' && sidecars.length > 0)
    .flatMap((workload) =>
      driverContainers(workload).map((container) => ({ workload, container, flag: electionFlag(container) })),
    )
    .find(({ flag }) => flag !== undefined);
}

const apart: Check = driverCheck({
  id: 'lease-8',
  severity: 'info',
  wrong:
    'programs of the driver lead in different pods, and the driver elects a replica of its own: a program whose driver waits cannot work',
  mend: 'run one replica, or a driver that answers in every pod',
  reads: ['leading', 'workloads'],
  judge: (driver, { leading, workloads }) => {
    const [first, ...rest] = holdersOf(leading, driver);
    const second = rest.find(({ pod }) => pod !== first?.pod);
    const place = electing(workloads.of(driver.name));
    if (first === undefined || second === undefined || place === undefined) return [];
    const { workload, container, flag } = place;
    return [
      problem(
        `programs of ${driver.name} lead in ${first.pod} and ${second.pod}, and the driver works in one pod only`,
        {
          objects: [first.lease, second.lease],
          evidence: [
            factOf(textOf(first.lease), 'spec.holderIdentity', first.pod),
            factOf(textOf(second.lease), 'spec.holderIdentity', second.pod),
            factOf(calledBy(workload), `arguments of container ${container.name}`, `--${flag}`),
          ],
          look: yamlOf(second.lease),
        },
      ),
    ];
  },
});

export const leaseHolderChecks: readonly Check[] = [apart];
