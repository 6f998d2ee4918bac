// SPDX-License-Identifier: Apache-2.0
import { type CheckedRule, createApiClient, type PolicyRule, type Transport } from '@csi-sidecars/runtime';
import {
  type AccessRule,
  createFakeApiServer,
  type FakeApiServer,
  FakeClock,
  type RecordingLogger,
  recordingLogger,
  recordingMetrics,
  seededRandom,
  settle,
  type Subject,
} from '@csi-sidecars/runtime/testing';
import { reviewLimit } from '../src/rights/ask.ts';
import { createRightsCheck, type RightsCheck } from '../src/rights/check.ts';
import { type NamespacedRules, type NeededRights, wantedRights } from '../src/rights/wanted.ts';

/** What a sample program needs cluster-wide. */
export const cluster: readonly CheckedRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'], without: 'nothing starts' },
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'], without: 'nothing is patched' },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'], without: 'pods wait' },
];
export const leaseRule: Omit<CheckedRule, 'verbs'> = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  without: 'it never leads',
};
/** What it needs of its Lease. */
export const namespaced: readonly NamespacedRules[] = [
  { namespace: 'csi', name: 'the-lease', rules: [{ ...leaseRule, verbs: ['get', 'create'] }] },
];
const everything: NeededRights = { cluster, namespaced };

export const grants = (rules: readonly PolicyRule[], namespace?: string): readonly AccessRule[] =>
  rules.map(({ apiGroups, resources, verbs }) => ({
    apiGroups,
    resources,
    verbs,
    ...(namespace !== undefined && { namespace }),
  }));
/** All that it needs. */
export const all: readonly AccessRule[] = [...grants(cluster), ...grants(namespaced[0]!.rules, 'csi')];
export const withoutPatch: readonly AccessRule[] = all.filter(({ verbs }) => !verbs.includes('patch'));

export interface StartedCheck {
  readonly clock: FakeClock;
  readonly log: RecordingLogger;
  readonly server: FakeApiServer;
  readonly check: RightsCheck;
  /** Another run, which needs these rights. Default: the same as the run before. */
  readonly begin: (rights?: NeededRights) => void;
  readonly stopping: AbortController;
  /** From now on the account has exactly these. */
  readonly grant: (granted: readonly AccessRule[]) => void;
  /** The value of the metric; undefined: it has no series. */
  readonly isMissing: (verb: string, group: string, resource: string) => number | undefined;
  /** The kind and the specification of each request. */
  readonly asked: () => readonly (readonly [string, object])[];
}

interface Options {
  readonly rules: readonly AccessRule[];
  readonly reviews?: Subject['reviews'];
  readonly needed?: NeededRights;
  readonly intercept?: (transport: Transport) => Transport;
}

/** A check that has had its first turn, over an API server in memory, in virtual time. */
export async function started({
  rules,
  reviews = 'complete',
  needed = everything,
  intercept = (all) => all,
}: Options): Promise<StartedCheck> {
  const clock = new FakeClock();
  // Waits for the rate limit are logged above that.
  const log = recordingLogger({ verbosity: 2 });
  const metrics = recordingMetrics();
  const stopping = new AbortController();
  let subject: Subject = { user: 'program', rules, reviews };
  const server = createFakeApiServer({ clock, random: seededRandom(1), authenticate: () => subject });
  const client = createApiClient(
    { transport: intercept(server.transport), clock, logger: log },
    { ...reviewLimit, userAgent: 'p' },
  );
  const check = createRightsCheck({ clock, log, metrics, signal: stopping.signal }, 'sample');
  const begin = (rights = needed): void => check.begin(client, async () => wantedRights(rights));
  begin();
  await settle();
  return {
    clock,
    log,
    server,
    check,
    begin,
    stopping,
    grant: (granted: readonly AccessRule[]) => void (subject = { ...subject, rules: granted }),
    isMissing: (verb: string, group: string, resource: string) =>
      metrics.value('csi_sidecars_missing_rights', { controller: 'sample', group, resource, verb }),
    asked: () => server.requests.map(({ resource, body }) => [resource, (body as { readonly spec: object }).spec]),
  };
}

/** That many rights, each of another kind. */
export const many = (count: number): NeededRights => ({
  cluster: Array.from({ length: count }, (_, index) => ({
    apiGroups: [''],
    resources: [`kind-${index}`],
    verbs: ['get'],
    without: 'x',
  })),
});
