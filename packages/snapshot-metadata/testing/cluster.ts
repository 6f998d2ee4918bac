// SPDX-License-Identifier: Apache-2.0
/** An API server in memory that answers the reviews of tokens and of accesses from a list of users. */
import { type ApiClient, createApiClient, type KubeObject, silentLogger, type Transport } from '@csi-sidecars/runtime';
import {
  type Extension,
  type ExtensionRequest,
  createFakeApiServer,
  type FakeApiServer,
  type FakeClock,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import type { Clients } from '../src/serve/service.ts';
import { allObjects, audience, namespace, types } from './objects.ts';

export interface Account {
  readonly audiences?: readonly string[];
  readonly username?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** Where it may get VolumeSnapshots. Default: in `team`. */
  readonly namespaces?: readonly string[];
}

export interface ClusterOptions {
  readonly clock: FakeClock;
  /** By token. Default: `good`, with everything that a request needs. */
  readonly accounts?: Readonly<Record<string, Account>>;
  /** Instead of those of one snapshot. */
  readonly objects?: readonly KubeObject[];
  /** Answers instead of the server. */
  readonly extension?: Extension;
  readonly intercept?: (transport: Transport) => Transport;
  /** Default: no limit. */
  readonly qps?: number;
}

export interface Cluster {
  readonly server: FakeApiServer;
  readonly clients: Clients;
  /** `verb resource name`, in order. */
  readonly asked: () => readonly string[];
  /** The bodies of the reviews. */
  readonly reviews: (plural: string) => readonly unknown[];
}

export const goodAccount: Account = {
  username: 'system:serviceaccount:team:backup',
  groups: ['system:serviceaccounts'],
  extra: { 'authentication.kubernetes.io/pod-name': ['backup-0'] },
};

export function aCluster(options: ClusterOptions): Cluster {
  const { clock, accounts = { good: goodAccount }, objects = allObjects(), qps = -1 } = options;
  const answerReview: Extension = (request) => reviewAnswer(accounts, request);
  const server = createFakeApiServer({
    clock,
    random: seededRandom(1),
    types,
    extensions: [...(options.extension === undefined ? [] : [options.extension]), answerReview],
  });
  for (const object of objects) server.seed(object);
  const transport = options.intercept?.(server.transport) ?? server.transport;
  const client = (): ApiClient =>
    createApiClient({ transport, clock, logger: silentLogger }, { qps, burst: 10, userAgent: 'test' });
  return {
    server,
    clients: { tokens: client(), core: client(), snapshots: client(), services: client() },
    asked: () =>
      server.requests.map(({ verb, resource, name }) =>
        [verb, resource, name].filter((part) => part !== undefined).join(' '),
      ),
    reviews: (plural) => server.requests.filter(({ resource }) => resource === plural).map(({ body }) => body),
  };
}

interface TokenReviewBody {
  readonly spec: { readonly token: string; readonly audiences: readonly string[] };
}
interface AccessReviewBody {
  readonly spec: { readonly user?: string; readonly resourceAttributes: { readonly namespace: string } };
}

function reviewAnswer(accounts: Readonly<Record<string, Account>>, { route, body }: ExtensionRequest) {
  if (route.resource === 'tokenreviews') {
    const { spec } = body as TokenReviewBody;
    const account = accounts[spec.token];
    if (account === undefined) {
      return { code: 201, body: { spec, status: { authenticated: false, error: 'the token has expired' } } };
    }
    const { audiences = [audience], username = 'user', groups, extra } = account;
    const user = { username, uid: `uid-of-${username}`, groups, extra };
    return { code: 201, body: { spec, status: { authenticated: true, user, audiences } } };
  }
  if (route.resource === 'subjectaccessreviews') {
    const { spec } = body as AccessReviewBody;
    const account = Object.values(accounts).find(({ username = 'user' }) => username === spec.user);
    const allowed = (account?.namespaces ?? [namespace]).includes(spec.resourceAttributes.namespace);
    return { code: 201, body: { spec, status: { allowed, ...(!allowed && { reason: 'no role' }) } } };
  }
  return undefined;
}
