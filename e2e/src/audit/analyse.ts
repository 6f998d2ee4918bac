// SPDX-License-Identifier: Apache-2.0
/**
 * Questions put to a list of audited requests: what was refused, which rights were used, how many requests a volume cost,
 * which shapes of requests there were. Pure.
 */
import type { PolicyRule } from '@csi-sidecars/runtime';
import type { AuditedRequest } from './read-audit.ts';

/** A right as RBAC writes it: `update persistentvolumeclaims`, `patch volumeattachments/status.storage.k8s.io`. */
export type Right = string;

/** A refusal that is part of a program's normal life. */
export interface AllowedRefusal {
  readonly right: Right;
  readonly because: string;
}

export const allowedRefusals: readonly AllowedRefusal[] = [
  { right: 'create events', because: 'a LeaderElection event on the Lease, without which everything works' },
  { right: 'patch events', because: 'as above, counted up' },
  { right: 'list volumesnapshots.snapshot.storage.k8s.io', because: 'the probe of the snapshot finalizer sweeper' },
];

export function isServiceAccount({ user }: AuditedRequest): boolean {
  return user.startsWith('system:serviceaccount:') && !user.startsWith('system:serviceaccount:kube-system:');
}

export function rightOf({ verb, group, resource, subresource }: AuditedRequest): Right {
  return right(verb, subresource === '' ? resource : `${resource}/${subresource}`, group);
}

/**
 * Requests that were answered 403 and are not in the list of harmless ones. What the same account was allowed in the same
 * namespace at another time does not count: an API server that has just started refuses for a moment what it has not read yet.
 */
export function refused(
  requests: readonly AuditedRequest[],
  allowed: readonly AllowedRefusal[] = allowedRefusals,
): readonly AuditedRequest[] {
  const harmless = new Set(allowed.map((entry) => entry.right));
  const keyOf = (request: AuditedRequest): string => `${request.user} ${rightOf(request)} ${request.namespace}`;
  const everAllowed = new Set(requests.filter(({ code }) => code !== 401 && code !== 403).map(keyOf));
  return requests.filter(
    (request) => request.code === 403 && !harmless.has(rightOf(request)) && !everAllowed.has(keyOf(request)),
  );
}

export function rightsUsed(requests: readonly AuditedRequest[]): ReadonlySet<Right> {
  return new Set(requests.filter(({ resource, code }) => resource !== '' && code !== 403).map(rightOf));
}

export function rightsGranted(rules: readonly PolicyRule[]): ReadonlySet<Right> {
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => right(verb, resource, group)))),
    ),
  );
}

export function rightsUnused(rules: readonly PolicyRule[], requests: readonly AuditedRequest[]): readonly Right[] {
  const used = rightsUsed(requests);
  return [...rightsGranted(rules)].filter((right) => !used.has(right)).sort();
}

/** A verb on secrets other than `get` would show that a program reads more secrets than the configured ones. */
export function secretAccess(requests: readonly AuditedRequest[]): readonly AuditedRequest[] {
  return requests.filter(({ group, resource, verb }) => group === '' && resource === 'secrets' && verb !== 'get');
}

/** How often each kind of request occurred, most frequent first. */
export function tally(
  requests: readonly AuditedRequest[],
  keyOf: (request: AuditedRequest) => string,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const request of requests) counts.set(keyOf(request), (counts.get(keyOf(request)) ?? 0) + 1);
  return new Map([...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}

/** The form of a request without its names: what the API contract suite must have exercised on every control plane. */
export function shapeOf(request: AuditedRequest): string {
  const query = new URLSearchParams(request.uri.split('?')[1] ?? '');
  const parameters = [...query]
    .map(([name, value]) => (freeParameters.has(name) ? name : `${name}=${value}`))
    .sort()
    .join('&');
  const patch = request.patch === undefined ? '' : ` (${request.patch})`;
  return `${rightOf(request)}${patch}${parameters === '' ? '' : ` ?${parameters}`} -> ${request.code}`;
}

export function shapes(requests: readonly AuditedRequest[]): readonly string[] {
  return [...tally(requests, shapeOf).keys()].sort();
}

/** Requests without watches, lists and leases (those do not grow with volumes), divided by volumes. */
export function requestsPerVolume(requests: readonly AuditedRequest[], volumes: number): number {
  const steady = new Set(['watch', 'list']);
  const counted = requests.filter(
    ({ verb, resource }) => !steady.has(verb) && resource !== 'leases' && resource !== '',
  );
  return counted.length / volumes;
}

const freeParameters = new Set([
  'resourceVersion',
  'continue',
  'timeoutSeconds',
  'timeout',
  'fieldSelector',
  'labelSelector',
]);

function right(verb: string, resource: string, group: string): Right {
  return `${verb} ${resource}${group === '' ? '' : `.${group}`}`;
}
