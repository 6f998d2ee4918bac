// SPDX-License-Identifier: Apache-2.0
/**
 * Which workload belongs to which driver. Nothing says it outright: a controller may name its driver nowhere, because it asks it over the
 * socket. So the driver's name is looked for, then the holder of a Lease, then the image of the driver, then the namespace.
 */
import type { Lease } from '@csi-sidecars/runtime';
import { namesDriver, registrarOf } from '../../actors/programs.ts';
import { isOfCluster } from '../../verdict.ts';
import type { WorkloadFacts } from './sidecars.ts';
import { type Gathering, isRead } from './source.ts';
import type { DriverFacts, Readings, Workloads } from './facts.ts';

export interface Held {
  readonly driver: string;
  readonly lease: Lease;
}

/** `drivers`: all of the cluster, because a workload of another driver is none of this one. */
export function linked(all: readonly WorkloadFacts[], drivers: readonly string[], held: readonly Held[]): Workloads {
  const links = new Map<WorkloadFacts, Set<string>>(all.map((workload) => [workload, new Set<string>()]));
  const link = (workload: WorkloadFacts, driver: string): void => {
    links.get(workload)?.add(driver);
  };
  const isOpen = (workload: WorkloadFacts): boolean => links.get(workload)?.size === 0;
  for (const workload of all)
    for (const driver of drivers) if (namesDriver(workload.spec, driver)) link(workload, driver);
  for (const { driver, lease } of held)
    for (const workload of all.filter(isOpen)) if (holds(workload, lease)) link(workload, driver);
  const known = all.filter((workload) => !isOpen(workload));
  for (const workload of all.filter(isOpen)) {
    const images = driverImages(workload);
    for (const other of known)
      if (driverImages(other).some((image) => images.includes(image)))
        for (const driver of links.get(other) ?? []) link(workload, driver);
  }
  for (const workload of all.filter(isOpen)) {
    if (workload.sidecars.every(({ program }) => isOfCluster(program))) continue;
    const beside = new Set(
      known
        .filter(({ object }) => object.namespace === workload.object.namespace)
        .flatMap((other) => [...(links.get(other) ?? [])]),
    );
    const [only] = beside;
    if (only !== undefined && beside.size === 1) link(workload, only);
  }
  return {
    all,
    of: (driver) => all.filter((workload) => links.get(workload)?.has(driver) === true),
    driverOf: (workload) => [...(links.get(workload) ?? [])][0],
  };
}

/** The holder is named by the pod: `NAME-HASH-ID` of a Deployment, `NAME-0` of a StatefulSet. */
function holds({ object }: WorkloadFacts, { metadata, spec }: Lease): boolean {
  const { holderIdentity = '' } = spec ?? {};
  return metadata?.namespace === object.namespace && holderIdentity.startsWith(`${object.name}-`);
}

/** Containers that are neither a sidecar nor a helper of one. */
export function driverContainers({ spec, sidecars }: WorkloadFacts): WorkloadFacts['spec']['containers'] {
  const registrar = registrarOf(spec);
  return spec.containers.filter(
    (container) =>
      container !== registrar &&
      !sidecars.some((sidecar) => sidecar.container === container) &&
      !/livenessprobe|health-monitor|kube-rbac-proxy/.test(`${container.image} ${container.command?.[0]}`),
  );
}

/** Without tags. */
function driverImages(workload: WorkloadFacts): readonly string[] {
  return driverContainers(workload)
    .map(({ image = '' }) => image.replace(/[@:][^/]*$/, ''))
    .filter((image) => image !== '');
}

/** Those that are judged. */
export async function driversOf({ get, scope }: Gathering): Promise<readonly DriverFacts[]> {
  const objects = await get('csiDrivers');
  const names = scope.driver === undefined ? await knownDrivers({ get }) : [scope.driver];
  return names.map((name) => ({
    name,
    object: isRead(objects) ? objects.value.find(({ metadata }) => metadata?.name === name) : undefined,
  }));
}

/** All drivers of the cluster, sorted: with a CSIDriver, or registered on a node. */
export async function knownDrivers({ get }: Pick<Gathering, 'get'>): Promise<readonly string[]> {
  const [objects, registrations] = [await get('csiDrivers'), await get('registrations')];
  const names = namesOfDrivers({
    csiDrivers: isRead(objects) ? objects.value : [],
    registrations: isRead(registrations) ? registrations.value : [],
  });
  return [...names].toSorted();
}

/** With a CSIDriver, or registered on a node. */
export function namesOfDrivers({
  csiDrivers,
  registrations,
}: Pick<Readings, 'csiDrivers' | 'registrations'>): ReadonlySet<string> {
  const registered = registrations.flatMap(({ drivers }) => drivers.map(({ name }) => name));
  const names = [...csiDrivers.map(({ metadata }) => metadata?.name ?? ''), ...registered];
  return new Set(names.filter((name) => name !== ''));
}
