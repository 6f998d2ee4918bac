// SPDX-License-Identifier: Apache-2.0
/**
 * The name and namespace of a Lease, and the name of its holder: the rules of csi-lib-utils, so that mixed roll-outs share one
 * Lease.
 */

/**
 * Every character outside `[a-zA-Z0-9-]` becomes `-`, and an `X` is appended to a trailing `-`. Case is kept. Upstream makes
 * its finalizers by the same rule.
 */
export function sanitizedName(text: string): string {
  const name = text.replaceAll(/[^a-zA-Z0-9-]/gu, '-');
  return name.endsWith('-') ? `${name}X` : name;
}

/** The API server refuses upper case in names; but another name would be another lease, and two leaders. */
export function leaseName(lockName: string): string {
  return sanitizedName(lockName);
}

/** The holder identity of a replica: its host name, which is the pod's name, by the same rule. */
export function leaseIdentity(hostName: string): string {
  return sanitizedName(hostName);
}

export interface LeaseNamespaceSources {
  /** `--leader-election-namespace`; empty when not given. */
  readonly flag: string;
  /** `POD_NAMESPACE`. */
  readonly podNamespace: string | undefined;
  /** The content of the service account's namespace file; undefined when there is none. */
  readonly serviceAccountNamespace: string | undefined;
}

/** The first that is not empty; `default` if all are. */
export function leaseNamespace(sources: LeaseNamespaceSources): string {
  return sources.flag || sources.podNamespace || sources.serviceAccountNamespace?.trim() || 'default';
}
