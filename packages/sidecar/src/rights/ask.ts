// SPDX-License-Identifier: Apache-2.0
/**
 * Asks the API server which of the wanted rights this account has. These requests store nothing.
 *
 * One SelfSubjectRulesReview for each place. What it shows for a namespace without RoleBindings holds in every namespace. Some authorizers
 * cannot list rules (a webhook), and a role may be missing: then the rights that were not shown are asked for one by one.
 */
import { type ApiClient, definedOnly, type KubeObject, type Resource, toError } from '@csi-sidecars/runtime';
import type { RateLimit } from '@csi-sidecars/runtime/internal';
import { notGranted } from './granted.ts';
import type { WantedRight } from './wanted.ts';

/** It need not exist. Whoever makes a RoleBinding in it makes this check too lenient, and nothing else. */
export const clusterNamespace = 'csi-sidecars-rights-check';

export interface AskPorts {
  /** With the limit `reviewLimit`. */
  readonly client: Pick<ApiClient, 'create'>;
  readonly signal: AbortSignal;
}

export interface Findings {
  readonly missing: readonly WantedRight[];
  /** Those about which the API server said nothing. */
  readonly unknown: readonly WantedRight[];
  /** Why some are unknown. */
  readonly reason: string | undefined;
}

/** A limit of their own: they take nothing from what the loops and their events may send. */
export const reviewLimit: RateLimit = { qps: 2, burst: 2 };

const mostRequests = 47;
const mostSingleRequests = 45;
const timeoutMs = 30_000;
const longestReason = 300;

/** Rejects only if the signal aborts. */
export async function askRights(ports: AskPorts, wanted: readonly WantedRight[]): Promise<Findings> {
  const missing: WantedRight[] = [];
  const unknown: WantedRight[] = [];
  const doubtful: WantedRight[] = [];
  let reason: string | undefined;
  const lack = (rights: readonly WantedRight[], because: string): void => {
    if (rights.length === 0) return;
    unknown.push(...rights);
    reason ??= because.slice(0, longestReason);
  };
  const places = Map.groupBy(wanted, ({ namespace }) => namespace);
  for (const [namespace = clusterNamespace, rights] of places) {
    try {
      const { rules, isWhole } = await reviewRules(ports, namespace);
      (isWhole ? missing : doubtful).push(...notGranted(rights, rules));
    } catch (error) {
      ports.signal.throwIfAborted();
      lack(rights, toError(error).message);
    }
  }
  const most = Math.min(mostSingleRequests, mostRequests - places.size);
  for (const [index, right] of doubtful.slice(0, most).entries()) {
    try {
      if (!(await reviewAccess(ports, right))) missing.push(right);
    } catch (error) {
      ports.signal.throwIfAborted();
      // The others would fail in the same way.
      lack(doubtful.slice(index, most), toError(error).message);
      break;
    }
  }
  lack(doubtful.slice(most), `the authorizer lists no rules, and no more than ${most} rights are asked for one by one`);
  return { missing, unknown, reason };
}

interface Review extends KubeObject {
  readonly spec: object;
  /** What the server adds. */
  readonly status?: unknown;
}

const group = 'authorization.k8s.io';
const reviewOf = (kind: string): Resource<Review> => ({
  group,
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: false,
});
const rulesReviews = reviewOf('SelfSubjectRulesReview');
const accessReviews = reviewOf('SelfSubjectAccessReview');

/** A refusal of such a request says nothing of the rights that a controller needs. */
export function isReview(resource: Resource): boolean {
  return resource.group === group;
}

interface Shown {
  readonly rules: readonly unknown[];
  /** What is not shown is not granted. */
  readonly isWhole: boolean;
}

async function reviewRules(ports: AskPorts, namespace: string): Promise<Shown> {
  const { resourceRules, incomplete, evaluationError } = await review(ports, rulesReviews, { namespace });
  return {
    // A server in Go sends null for an empty list.
    rules: Array.isArray(resourceRules) ? resourceRules : [],
    isWhole: incomplete === false && !isText(evaluationError),
  };
}

async function reviewAccess(
  ports: AskPorts,
  { verb, group: apiGroup, resource: path, namespace, name }: WantedRight,
): Promise<boolean> {
  const [resource, subresource] = path.split('/', 2);
  const attributes = definedOnly({ verb, group: apiGroup, resource, subresource, namespace, name });
  const status = await review(ports, accessReviews, { resourceAttributes: attributes });
  if (status['allowed'] === true) return true;
  const { evaluationError } = status;
  if (isText(evaluationError)) throw new Error(evaluationError);
  if (status['allowed'] !== false)
    throw new Error('the answer to a SelfSubjectAccessReview does not say what is allowed');
  return false;
}

async function review(
  { client, signal }: AskPorts,
  resource: Resource<Review>,
  spec: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { status } = await client.create(resource, { spec }, { signal, timeoutMs });
  if (typeof status !== 'object' || status === null) throw new Error(`the answer to a ${resource.kind} has no status`);
  return status as Readonly<Record<string, unknown>>;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
