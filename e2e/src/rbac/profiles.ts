// SPDX-License-Identifier: Apache-2.0
/**
 * The rights under which programs are tested: `stock` is what upstream's manifests grant, `minimal` what our programs use.
 * The files are written for namespace `default`, as upstream's are; here they are moved to the namespace of a scenario, and
 * what is cluster-wide and binds an account gets a name of its own, so that scenarios do not meet.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { type KubeObject, type ObjectMeta, type PolicyRule } from '@csi-sidecars/runtime';
import { leaseName } from '@csi-sidecars/runtime/internal';
import type { ServiceAccountRef } from '../control-planes/control-plane.ts';

export type RbacProfile = 'stock' | 'minimal';
/** Those with a lease. */
export type ElectedSubject =
  | 'external-provisioner'
  | 'external-attacher'
  | 'external-resizer'
  | 'external-snapshotter'
  | 'external-health-monitor-controller'
  | 'snapshot-controller'
  | 'volume-data-source-validator';
export type RbacSubject = ElectedSubject | 'external-snapshot-metadata';

export interface RbacObject extends KubeObject {
  readonly kind: string;
  readonly metadata: ObjectMeta & { readonly name: string };
  readonly rules?: readonly PolicyRule[];
  readonly roleRef?: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
}

export interface Placement {
  readonly namespace: string;
  readonly driverName: string;
}

const folder = join(import.meta.dirname, '..', '..', 'rbac');

export interface RbacSource {
  readonly profile: RbacProfile;
  readonly subject: RbacSubject;
}

export function rbacObjects(
  { profile, subject }: RbacSource,
  { namespace, driverName }: Placement,
): readonly RbacObject[] {
  const text = readFileSync(join(folder, profile, `${subject}.yaml`), 'utf8');
  const named =
    subject === 'external-snapshot-metadata'
      ? text
      : text.replaceAll('$(LEASE_NAME)', leaseNameOf(subject, driverName));
  return placed(loadAll(named) as RbacObject[], namespace);
}

const locks: Readonly<Record<ElectedSubject, (driverName: string) => string>> = {
  'external-provisioner': (driver) => driver,
  'external-attacher': (driver) => `external-attacher-leader-${driver}`,
  'external-resizer': (driver) => `external-resizer-${driver}`,
  'external-snapshotter': (driver) => `external-snapshotter-leader-${driver}`,
  'external-health-monitor-controller': (driver) => `external-health-monitor-leader-${driver}`,
  'snapshot-controller': () => 'snapshot-controller-leader',
  'volume-data-source-validator': () => 'data-source-validator-leader',
};

export function leaseNameOf(subject: ElectedSubject, driverName: string): string {
  return leaseName(locks[subject](driverName));
}

/** One account with the rights of several programs, for the process that runs them. What binds it has names of its own. */
export function combinedRbac(
  profile: RbacProfile,
  combined: { readonly account: string; readonly of: readonly RbacSubject[] },
  placement: Placement,
): readonly RbacObject[] {
  const { account, of } = combined;
  const objects = of
    .flatMap((subject) => rbacObjects({ profile, subject }, placement))
    .filter(({ kind }) => kind !== 'ServiceAccount')
    .map((object) => {
      if (object.subjects === undefined) return object;
      const name = `${object.metadata.name}-${account}`;
      const subjects = object.subjects.map((subject) => ({ ...subject, name: account }));
      return { ...object, metadata: { ...object.metadata, name }, subjects };
    });
  const metadata = { name: account, namespace: placement.namespace };
  return [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata }, ...objects];
}

export function rulesOf(objects: readonly RbacObject[]): readonly PolicyRule[] {
  return objects.flatMap((object) => object.rules ?? []);
}

export function accountOf(objects: readonly RbacObject[]): ServiceAccountRef {
  const account = objects.find((object) => object.kind === 'ServiceAccount');
  if (account?.metadata.namespace === undefined) throw new Error('no ServiceAccount among the objects');
  return { namespace: account.metadata.namespace, name: account.metadata.name };
}

/** Rights beyond the profile, for what upstream's file leaves commented out. Named by what needs them. */
export function extraRules(
  account: ServiceAccountRef,
  need: string,
  rules: readonly PolicyRule[],
): readonly RbacObject[] {
  const name = `${account.namespace}-${account.name}-${need}`;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  return [
    { apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
}

/** Moved to the namespace of a scenario. */
export function placed(objects: readonly RbacObject[], namespace: string): readonly RbacObject[] {
  return objects.map((object) => place(object, namespace));
}

function place(object: RbacObject, namespace: string): RbacObject {
  const { metadata, subjects } = object;
  const moved = metadata.namespace === undefined ? metadata : { ...metadata, namespace };
  const own = object.kind === 'ClusterRoleBinding' ? { ...moved, name: `${moved.name}-${namespace}` } : moved;
  return {
    ...object,
    metadata: own,
    ...(subjects !== undefined && { subjects: subjects.map((subject) => ({ ...subject, namespace })) }),
  };
}
