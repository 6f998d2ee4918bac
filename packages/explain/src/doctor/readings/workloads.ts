// SPDX-License-Identifier: Apache-2.0
/** Workloads with sidecars or drivers, of all namespaces unless one is given; and the pods of the namespaces that they are in. */
import { controllerOf, type Pod, pods } from '@csi-sidecars/runtime';
import { hasSidecar, namesDriver } from '../../actors/programs.ts';
import { daemonSets, deployments, statefulSets, type Workload } from '../../cluster/kinds.ts';
import { isOfCluster } from '../../verdict.ts';
import { knownDrivers, linked } from './drivers.ts';
import { type WorkloadFacts, workloadFactsOf, type WorkloadKind } from './sidecars.ts';
import { isRead, listed, orNothing, type Read, type Source, together, value } from './source.ts';
import type { Workloads } from './facts.ts';

const kinds: readonly WorkloadKind[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
const resources = { Deployment: deployments, StatefulSet: statefulSets, DaemonSet: daemonSets };

export const workloadSource: Source<Workloads> = {
  rights: ['list deployments.apps', 'list statefulsets.apps', 'list daemonsets.apps'],
  async read(gathering) {
    const { get, scope } = gathering;
    const drivers = await knownDrivers(gathering);
    const query = scope.namespace === '' ? {} : { namespace: scope.namespace };
    const reads = kinds.map(async (kind): Promise<Read<readonly WorkloadFacts[]>> => {
      const found: WorkloadFacts[] = [];
      const keep = (workload: Workload): undefined => {
        const facts = workloadFactsOf(kind, workload);
        if (facts !== undefined && isOfDriver(facts, drivers)) found.push(facts);
      };
      const read = await listed(gathering, resources[kind], {
        ...query,
        keep,
        notKnown: 'which sidecars are installed',
      });
      return isRead(read) ? value(found, read.cut) : read;
    });
    const all = together(await Promise.all(reads));
    if (!isRead(all)) return all;
    const held = orNothing(await get('leading')).flatMap(({ driver, leases }) =>
      driver === undefined ? [] : leases.map((lease) => ({ driver, lease })),
    );
    return value(linked(all.value.flat(), drivers, held), all.cut);
  },
};

function isOfDriver({ sidecars, registrar, spec }: WorkloadFacts, drivers: readonly string[]): boolean {
  return sidecars.length > 0 || registrar !== undefined || drivers.some((driver) => namesDriver(spec, driver));
}

export const podSource: Source<readonly Pod[]> = {
  rights: ['list pods'],
  async read(gathering) {
    const workloads = await gathering.get('workloads');
    if (!isRead(workloads)) return workloads;
    const reads = namespacesOf(workloads.value, gathering.scope.driver).map((namespace) =>
      listed(gathering, pods, { namespace, keep: withSidecars, notKnown: 'how the pods of sidecars do' }),
    );
    const all = together(await Promise.all(reads));
    return isRead(all) ? value(all.value.flat(), all.cut) : all;
  },
};

/** Where the driver runs, and the programs of the cluster; without a driver where any does. */
export function namespacesOf(workloads: Workloads, driver: string | undefined): readonly string[] {
  const ofCluster = workloads.all.filter(({ sidecars }) => sidecars.some(({ program }) => isOfCluster(program)));
  const wanted = driver === undefined ? workloads.all : [...workloads.of(driver), ...ofCluster];
  return [...new Set(wanted.map(({ object }) => object.namespace))].toSorted();
}

function withSidecars({ metadata = {}, spec, status }: Pod): Pod | undefined {
  if (spec === undefined || !hasSidecar(spec)) return undefined;
  const { managedFields: _, ...kept } = metadata;
  return { metadata: kept, spec, ...(status !== undefined && { status }) };
}

/** The pods of a workload: by the owner of a DaemonSet's and a StatefulSet's, by the name of a Deployment's. */
export function podsOf(all: readonly Pod[], { object }: WorkloadFacts): readonly Pod[] {
  return all.filter(({ metadata }) => {
    if (metadata?.namespace !== object.namespace) return false;
    const owner = controllerOf({ metadata }) ?? metadata.ownerReferences?.[0];
    if (owner === undefined) return metadata?.name?.startsWith(`${object.name}-`) === true;
    if (owner.kind === object.kind) return owner.name === object.name;
    // Of a Deployment: its ReplicaSets are named `NAME-HASH`.
    return (
      object.kind === 'Deployment' && owner.kind === 'ReplicaSet' && owner.name.replace(/-[^-]*$/, '') === object.name
    );
  });
}
