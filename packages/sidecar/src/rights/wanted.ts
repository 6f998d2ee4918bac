// SPDX-License-Identifier: Apache-2.0
/** What a program has to be permitted, right by right, from the rules of its `rbac.ts`. */
import { type CheckedRule, leaseRules, neededRules } from '@csi-sidecars/runtime';
import { leaseName, namespaceOfLease } from '@csi-sidecars/runtime/internal';
import type { ElectionValues } from '../process/election.ts';
import type { ProgramHost } from '../process/host.ts';

export interface WantedRight {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  /** With its sub-resource: `persistentvolumeclaims/status`. */
  readonly resource: string;
  /** Undefined: in every namespace, and for kinds without one. */
  readonly namespace: string | undefined;
  /** The right for the object of this name is enough. Undefined: it has to hold for all. */
  readonly name: string | undefined;
  /** What happens without it. */
  readonly without: string;
}

/** The rules whose conditions hold, by where they have to hold. */
export interface NeededRights {
  /** In every namespace: those of a ClusterRole. */
  readonly cluster: readonly CheckedRule[];
  /** Those of Roles. */
  readonly namespaced?: readonly NamespacedRules[];
}

export interface NamespacedRules {
  readonly namespace: string;
  readonly rules: readonly CheckedRule[];
  /** For objects of this name only. Default: for all. */
  readonly name?: string;
}

/** In the order of the rules. No right is named twice. */
export function wantedRights({ cluster, namespaced = [] }: NeededRights): readonly WantedRight[] {
  const wanted = new Map<string, WantedRight>();
  const add = (rules: readonly CheckedRule[], namespace?: string, name?: string): void => {
    for (const { apiGroups, resources, verbs, without } of rules)
      for (const group of apiGroups)
        for (const resource of resources)
          for (const verb of verbs) {
            // An object that does not exist yet has no name that a rule could be about.
            const right = { verb, group, resource, namespace, name: verb === 'create' ? undefined : name, without };
            const key = keyOf(right);
            if (!wanted.has(key)) wanted.set(key, right);
          }
  };
  add(cluster);
  for (const { namespace, rules, name } of namespaced) add(rules, namespace, name);
  return [...wanted.values()];
}

export interface ProgramRights {
  readonly values: ElectionValues;
  /** Upstream's lock names, from which the names of the Leases are made. */
  readonly lockNames: readonly string[];
  readonly rights: NeededRights;
}

/** The rights of a program, with those of its election. */
export async function rightsOfProgram(
  host: Pick<ProgramHost, 'env' | 'files'>,
  { values, lockNames, rights: { cluster, namespaced = [] } }: ProgramRights,
): Promise<readonly WantedRight[]> {
  if (!values['leader-election']) return wantedRights({ cluster, namespaced });
  const namespace = await namespaceOfLease(host, values['leader-election-namespace']);
  const rules = neededRules(leaseRules, { leaderElection: true });
  const leases = lockNames.map((lockName) => ({ namespace, rules, name: leaseName(lockName) }));
  return wantedRights({ cluster, namespaced: [...leases, ...namespaced] });
}

/** One right has one key. */
export function keyOf(right: WantedRight): string {
  return `${right.verb} ${resourceKey(right)} ${right.name ?? ''}`;
}

/** The rights of one resource in one place have the same key. */
export function resourceKey({ group, resource, namespace = '' }: WantedRight): string {
  return `${group} ${resource} ${namespace}`;
}
