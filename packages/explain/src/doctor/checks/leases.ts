// SPDX-License-Identifier: Apache-2.0
/** Part lease: whether each program has a leader that works, and whether its election can work. */
import { parseFlags } from '@csi-sidecars/sidecar';
import { createdMs } from '../../facts/objects.ts';
import { type Check, clusterCheck, factOf, type Problem, problem, textOf } from '../check.ts';
import { programFlags } from '../readings/arguments.ts';
import {
  elects,
  flagOf,
  hasLease,
  type Running,
  running,
  type Sidecar,
  type WorkloadFacts,
} from '../readings/sidecars.ts';
import { calledBy, counted, flagFact, ofDriver, yamlOf } from './wording.ts';
import type { Leading, Workloads } from '../readings/facts.ts';
import type { CheckId, Severity } from '../ids.ts';

function placesOf(workloads: Workloads, { driver, program }: Leading): readonly Running[] {
  return running(driver === undefined ? workloads.all : workloads.of(driver), program);
}

function leaseName({ leases }: Leading): {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
} {
  const { namespace, name = '' } = leases[0]?.metadata ?? {};
  return { kind: 'Lease', namespace, name };
}

/** A Lease of an earlier time, when the program still elected its leader. */
function isOfThePast(places: readonly Running[]): boolean {
  return places.length > 0 && places.every(({ sidecar, workload }) => !elects(sidecar) || workload.replicas === 0);
}

const dead: Check = clusterCheck({
  id: 'lease-1',
  severity: 'error',
  wrong: 'the Lease of a program is not renewed: nobody leads',
  mend: 'start a replica; look at the pod that held it',
  reads: ['leading', 'workloads', 'csiDrivers'],
  judge: ({ leading, workloads, csiDrivers }) =>
    leading.flatMap((each) => {
      const { leader, driver, program } = each;
      if (leader?.kind !== 'dead' || !leader.findings.includes('lease-1')) return [];
      const places = placesOf(workloads, each);
      const object = csiDrivers.find(({ metadata }) => metadata?.name === driver);
      const isNotNeeded = program === 'csi-attacher' && object?.spec.attachRequired === false;
      if (isOfThePast(places) || (places.length === 0 && (isNotNeeded || driver === undefined))) return [];
      const name = leaseName(each);
      const [place] = places;
      return problem(`nobody leads ${program}${ofDriver(driver)}: ${leader.because}`, {
        driver,
        program,
        objects: [name],
        evidence: [
          factOf(textOf(name), 'spec.renewTime', each.leases[0]?.spec?.renewTime),
          place === undefined
            ? factOf('workloads', `${program}${ofDriver(driver)}`, 'none')
            : factOf(calledBy(place.workload), 'replicas', place.workload.replicas),
        ],
        look: yamlOf(name),
      });
    }),
});

/** No pod has the name that the Lease says. */
function withoutHolder(
  each: Leading,
  { holder, namespace }: { readonly holder: string; readonly namespace?: string | undefined },
): Omit<Problem, 'kind' | 'sentence'> {
  const { driver, program } = each;
  const name = leaseName(each);
  return {
    driver,
    program,
    objects: [name],
    evidence: [
      factOf(textOf(name), 'spec.holderIdentity', holder),
      factOf(`pods of namespace ${namespace}`, holder, 'none'),
    ],
    look: yamlOf(name),
  };
}

const gone: Check = clusterCheck({
  id: 'lease-2',
  severity: 'error',
  wrong: 'the pod that holds the Lease is gone, and nobody renews it',
  mend: 'wait until it is over, or start a replica',
  causes: ['lease-1'],
  reads: ['leading', 'workloads', 'pods'],
  judge: ({ leading, workloads, pods }) =>
    leading.flatMap((each) => {
      const { leader, driver, program } = each;
      if (leader?.kind !== 'dead' || leader.holder === undefined) return [];
      const isThere = pods.some(
        ({ metadata }) => metadata?.namespace === leader.namespace && metadata?.name === leader.holder,
      );
      if (isThere || isOfThePast(placesOf(workloads, each))) return [];
      return problem(
        `pod ${leader.namespace}/${leader.holder}, which holds the Lease of ${program}${ofDriver(driver)}, is gone`,
        withoutHolder(each, { holder: leader.holder, namespace: leader.namespace }),
      );
    }),
});

const unseen: Check = clusterCheck({
  id: 'lease-3',
  severity: 'warn',
  wrong:
    'the Lease is renewed, and no pod has the name of its holder: the host name differs, or a process has survived its pod',
  mend: 'find the process that renews it',
  reads: ['leading'],
  judge: ({ leading }) =>
    leading.flatMap((each) => {
      const { leader, driver, program } = each;
      if (leader?.kind !== 'lives' || !leader.findings.includes('lease-3')) return [];
      return problem(
        `the Lease of ${program}${ofDriver(driver)} is renewed by ${leader.holder}, and no pod has that name`,
        withoutHolder(each, leader),
      );
    }),
});

const hourMs = 3_600_000;
const changesAnHour = 5;

const restless: Check = clusterCheck({
  id: 'lease-4',
  severity: 'warn',
  wrong: 'the leader has changed more than five times an hour since the Lease exists, and in the last hour',
  mend: 'look at the latency of the API server, and remove CPU limits',
  reads: ['leading'],
  judge: ({ leading }, { nowMs }) =>
    leading.flatMap(({ leases, driver, program }) =>
      leases.flatMap((lease) => {
        const { leaseTransitions = 0, acquireTime } = lease.spec ?? {};
        const ageHours = Math.max(1, (nowMs - (createdMs(lease) ?? nowMs)) / hourMs);
        const acquiredMs = Date.parse(String(acquireTime));
        if (leaseTransitions / ageHours <= changesAnHour || !(nowMs - acquiredMs < hourMs)) return [];
        const name = { kind: 'Lease', namespace: lease.metadata?.namespace, name: lease.metadata?.name ?? '' };
        return problem(`the leader of ${program}${ofDriver(driver)} has changed ${counted(leaseTransitions, 'time')}`, {
          driver,
          program,
          objects: [name],
          evidence: [
            factOf(textOf(name), 'spec.leaseTransitions', leaseTransitions),
            factOf(textOf(name), 'spec.acquireTime', String(acquireTime)),
            factOf(textOf(name), 'metadata.creationTimestamp', lease.metadata?.creationTimestamp),
          ],
          look: yamlOf(name),
        });
      }),
    ),
});

interface OfWorkloads {
  readonly id: CheckId;
  readonly severity: Severity;
  readonly wrong: string;
  readonly mend: string;
  readonly judge: (workload: WorkloadFacts) => readonly Problem[];
}

/** A check of each workload by itself. */
function workloadCheck({ judge, ...facts }: OfWorkloads): Check {
  return clusterCheck({
    ...facts,
    reads: ['workloads'],
    judge: ({ workloads }) =>
      workloads.all.flatMap((workload) =>
        judge(workload).map((each) => ({ ...each, driver: workloads.driverOf(workload) })),
      ),
  });
}

const twice: Check = workloadCheck({
  id: 'lease-5',
  severity: 'error',
  wrong: 'two containers of one pod run the same program: both have the identity of the pod, so both lead',
  mend: 'remove one of them',
  judge: (workload) => {
    const all = Map.groupBy(workload.sidecars.filter(elects), (sidecar) => `${sidecar.program} ${socketOf(sidecar)}`);
    return [...all.values()].flatMap((same) => {
      const [first, second] = same;
      if (first === undefined || second === undefined) return [];
      const names = same.map(({ container }) => container.name).join(' and ');
      return problem(`containers ${names} of ${calledBy(workload)} both run ${first.program}, and both lead`, {
        program: first.program,
        objects: [workload.object],
        evidence: [
          factOf(calledBy(workload), `image of container ${first.container.name}`, first.container.image),
          factOf(calledBy(workload), `image of container ${second.container.name}`, second.container.image),
        ],
        look: yamlOf(workload.object),
      });
    });
  },
});

/** Two drivers in one pod have a program each. */
function socketOf(sidecar: Sidecar): string {
  return flagOf(sidecar, 'csi-address') ?? '';
}

const throttled: Check = workloadCheck({
  id: 'lease-6',
  severity: 'warn',
  wrong: 'a program that elects its leader has a CPU limit below 100m',
  mend: 'remove the limit',
  judge: (workload) =>
    workload.sidecars.filter(elects).flatMap((sidecar) => {
      const { limits } = sidecar.container.resources ?? {};
      const cpu = limits?.['cpu'];
      const milli = cpu === undefined ? undefined : cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1_000;
      if (milli === undefined || !(milli < 100)) return [];
      return problem(
        `${sidecar.program} of ${calledBy(workload)} has a CPU limit of ${cpu}: it renews its Lease late, and loses it`,
        {
          program: sidecar.program,
          objects: [workload.object],
          evidence: [
            factOf(calledBy(workload), `resources.limits.cpu of container ${sidecar.container.name}`, cpu),
            flagFact(workload, sidecar, 'leader-election'),
          ],
          look: yamlOf(workload.object),
        },
      );
    }),
});

const timerFlags = [
  'leader-election-lease-duration',
  'leader-election-renew-deadline',
  'leader-election-retry-period',
] as const;
const defaults = [15_000, 10_000, 5_000] as const;

const timers: Check = workloadCheck({
  id: 'lease-7',
  severity: 'warn',
  wrong:
    'the lease duration is not longer than the renew deadline, or the deadline not longer than 1.2 retry periods: the program does not start',
  mend: 'correct the three flags, or remove them',
  judge: (workload) =>
    workload.sidecars.filter(elects).flatMap((sidecar) => {
      const [lease = 0, renew = 0, retry = 0] = timerFlags.map(
        (name, index) => durationOf(sidecar, name) ?? defaults[index],
      );
      if (lease > renew && renew > 1.2 * retry) return [];
      return problem(
        `the timers of the election of ${sidecar.program} of ${calledBy(workload)} do not fit: it does not start`,
        {
          program: sidecar.program,
          objects: [workload.object],
          evidence: [
            flagFact(workload, sidecar, timerFlags[0]),
            flagFact(workload, sidecar, timerFlags[1]),
            flagFact(workload, sidecar, timerFlags[2]),
          ],
          look: yamlOf(workload.object),
        },
      );
    }),
});

/** Undefined: it is not given, or no duration. */
export function durationOf(sidecar: Sidecar, name: string): number | undefined {
  const text = flagOf(sidecar, name);
  const flag = hasLease(sidecar) ? programFlags[sidecar.program].flags[name] : undefined;
  if (text === undefined || flag === undefined) return undefined;
  const parsed = parseFlags<Record<string, number>>({ [name]: flag } as never, 'pflag', [`--${name}=${text}`]);
  return parsed.kind === 'parsed' ? parsed.values[name] : undefined;
}

export const leaseChecks: readonly Check[] = [dead, gone, unseen, restless, twice, throttled, timers];
