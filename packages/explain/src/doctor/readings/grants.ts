// SPDX-License-Identifier: Apache-2.0
/** Which roles are bound to an account: for an API server that does not answer what others may do, and to name the role that lacks a rule. */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
import { type Account, groupsOf, userOf } from '../../actors/rights.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  type Role,
  type RoleBinding,
  roleBindings,
  roles,
} from '../../cluster/kinds.ts';
import { nameOf } from '../../facts/objects.ts';
import { namespacesOf } from './workloads.ts';
import { electionNamespace, elects } from './sidecars.ts';
import {
  eachOf,
  type Gathering,
  isRead,
  listed,
  orNothing,
  type Read,
  rightOf,
  type Source,
  together,
  value,
} from './source.ts';
import type { Bound, Grants } from './facts.ts';

export const grantSource: Source<Grants> = {
  rights: [clusterRoles, clusterRoleBindings, roles, roleBindings].map((resource) => rightOf('list', resource)),
  async read(gathering) {
    const { get, scope } = gathering;
    const workloads = await get('workloads');
    if (!isRead(workloads)) return workloads;
    const ofElections = workloads.value.all
      .filter((workload) => scope.driver === undefined || workloads.value.of(scope.driver).includes(workload))
      .flatMap((workload) => workload.sidecars.filter(elects).map((sidecar) => electionNamespace(sidecar, workload)));
    const ofSecrets = orNothing(await get('secrets')).flatMap(({ fixed }) => fixed?.namespace ?? []);
    const namespaces = [...new Set([...namespacesOf(workloads.value, scope.driver), ...ofElections, ...ofSecrets])];
    const [allRoles, allBindings] = await Promise.all([
      inAll(gathering, namespaces, { ofCluster: clusterRoles, ofNamespace: roles }),
      inAll(gathering, namespaces, { ofCluster: clusterRoleBindings, ofNamespace: roleBindings }),
    ]);
    if (!isRead(allRoles)) return allRoles;
    if (!isRead(allBindings)) return allBindings;
    return value(grantsOf(allRoles.value, allBindings.value), [...allRoles.cut, ...allBindings.cut]);
  },
};

interface Kinds<T extends KubeObject> {
  readonly ofCluster: Resource<T>;
  readonly ofNamespace: Resource<T>;
}

async function inAll<T extends KubeObject>(
  gathering: Gathering,
  namespaces: readonly string[],
  { ofCluster, ofNamespace }: Kinds<T>,
): Promise<Read<readonly T[]>> {
  const notKnown = 'which roles the accounts have';
  const reads = together([
    await listed(gathering, ofCluster, { notKnown }),
    ...(await eachOf(namespaces, (namespace) => listed(gathering, ofNamespace, { namespace, notKnown }))),
  ]);
  return isRead(reads) ? value(reads.value.flat(), reads.cut) : reads;
}

export function grantsOf(all: readonly Role[], bindings: readonly RoleBinding[]): Grants {
  const found = new Map(all.map((role) => [keyOf(role.metadata?.namespace, nameOf(role)), role]));
  return {
    of: (account) => bindings.filter((binding) => isOf(binding, account)).map((binding) => boundBy(binding, found)),
  };
}

function boundBy({ metadata, roleRef }: RoleBinding, found: ReadonlyMap<string, Role>): Bound {
  const { kind = '', name = '' } = roleRef ?? {};
  const namespace = metadata?.namespace;
  const role = { kind, namespace: kind === 'Role' ? namespace : undefined, name };
  // A role that is gone grants nothing.
  const { rules } = found.get(keyOf(role.namespace, name)) ?? {};
  return { role, namespace, rules: Array.isArray(rules) ? rules : [] };
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

function isOf({ subjects }: RoleBinding, account: Account): boolean {
  const groups = groupsOf(account);
  return (subjects ?? []).some(({ kind, name = '', namespace }) => {
    if (kind === 'ServiceAccount') return name === account.name && namespace === account.namespace;
    if (kind === 'Group') return groups.includes(name);
    return kind === 'User' && name === userOf(account);
  });
}

/** The rules of roles that hold there; undefined: those that hold everywhere. */
export function rulesIn(bound: readonly Bound[], namespace: string | undefined): readonly unknown[] {
  return bound
    .filter((each) => each.namespace === undefined || each.namespace === namespace)
    .flatMap(({ rules }) => rules);
}
