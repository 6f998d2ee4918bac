// SPDX-License-Identifier: Apache-2.0
/** The check of rights over an API server in memory, in virtual time. */
import { createApiClient, type PolicyRule, type Transport } from '@csi-sidecars/runtime';
import {
  type AccessRule,
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  recordingMetrics,
  seededRandom,
  settle,
  type Subject,
} from '@csi-sidecars/runtime/testing';
import { afterEach, expect, it } from 'vitest';
import { reviewLimit } from './ask.ts';
import { createRightsCheck, type RightsCheck } from './check.ts';
import { type NeededRights, wantedRights } from './wanted.ts';

const cluster = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'], without: 'nothing starts' },
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'], without: 'nothing is patched' },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'], without: 'pods wait' },
];
const leaseRule = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], without: 'it never leads' };
const namespaced = [{ namespace: 'csi', name: 'the-lease', rules: [{ ...leaseRule, verbs: ['get', 'create'] }] }];
const everything: NeededRights = { cluster, namespaced };

const grants = (rules: readonly PolicyRule[], namespace?: string): readonly AccessRule[] =>
  rules.map(({ apiGroups, resources, verbs }) => ({
    apiGroups,
    resources,
    verbs,
    ...(namespace !== undefined && { namespace }),
  }));
const all: readonly AccessRule[] = [...grants(cluster), ...grants(namespaced[0]!.rules, 'csi')];
const withoutPatch = all.filter(({ verbs }) => !verbs.includes('patch'));

interface Options {
  readonly rules: readonly AccessRule[];
  readonly reviews?: Subject['reviews'];
  readonly needed?: NeededRights;
  readonly intercept?: (transport: Transport) => Transport;
}

const checks: RightsCheck[] = [];
afterEach(() => {
  for (const check of checks.splice(0)) check[Symbol.dispose]();
});

async function started({ rules, reviews = 'complete', needed = everything, intercept = (all) => all }: Options) {
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
  checks.push(check);
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
    grant: (granted: readonly AccessRule[]) => (subject = { ...subject, rules: granted }),
    isMissing: (verb: string, group: string, resource: string) =>
      metrics.value('csi_sidecars_missing_rights', { controller: 'sample', group, resource, verb }),
    asked: () => server.requests.map(({ resource, body }) => [resource, (body as { readonly spec: object }).spec]),
  };
}

it('given all rights, then two questions are asked and nothing is logged', async () => {
  const { log, asked } = await started({ rules: all });
  expect(log.messages()).toEqual([]);
  expect(asked()).toEqual([
    ['selfsubjectrulesreviews', { namespace: 'csi-sidecars-rights-check' }],
    ['selfsubjectrulesreviews', { namespace: 'csi' }],
  ]);
});

it('given a lease that is granted by its name, then that is enough, but for its creation', async () => {
  const named = { ...leaseRule, namespace: 'csi', resourceNames: ['the-lease'] };
  const { log } = await started({ rules: [...grants(cluster), { ...named, verbs: ['get', 'create'] }] });
  expect(log.messages()).toEqual(['Missing right: create leases.coordination.k8s.io (namespace csi): it never leads']);
});

it('given rights of several resources that are missing, then there is one warning for each resource, with all that follows', async () => {
  const { log, isMissing } = await started({ rules: [] });
  expect(log.lines).toEqual(
    [
      'list, watch, patch persistentvolumes (cluster-wide): nothing starts; nothing is patched',
      'patch volumeattachments.storage.k8s.io/status (cluster-wide): pods wait',
      'get, create leases.coordination.k8s.io (namespace csi): it never leads',
    ].map((text) => ({ kind: 'warn', message: `Missing right: ${text}`, facts: {} })),
  );
  expect([isMissing('patch', '', 'persistentvolumes'), isMissing('get', '', 'persistentvolumes')]).toEqual([
    1,
    undefined,
  ]);
});

it('[explain#126] given a right in one namespace only, then it is missing cluster-wide', async () => {
  const inNamespace = grants(cluster.slice(0, 1), 'csi');
  const { log } = await started({ rules: [...grants(cluster.slice(1)), ...inNamespace, ...all.slice(-1)] });
  expect(log.messages()).toEqual(['Missing right: list, watch persistentvolumes (cluster-wide): nothing starts']);
});

it('[explain#127] given an account that may not ask, then one line says so, however often it is looked', async () => {
  const { log, check, clock, isMissing, server } = await started({ rules: all, reviews: 'forbidden' });
  check.refused();
  await clock.advance(60_000);
  expect(server.requests).toHaveLength(4);
  expect(log.lines).toEqual([
    {
      kind: 'info',
      level: 0,
      message: expect.stringMatching(
        /^Rights could not be checked: selfsubjectrulesreviews.* is forbidden: User "program"/,
      ),
      facts: {},
    },
  ]);
  expect(isMissing('list', '', 'persistentvolumes')).toBe(undefined);
});

const many = (count: number): NeededRights => ({
  cluster: Array.from({ length: count }, (_, index) => ({
    apiGroups: [''],
    resources: [`kind-${index}`],
    verbs: ['get'],
    without: 'x',
  })),
});

it('[explain#128] given an authorizer that cannot list rules, then the rights are asked for one by one, two in a second', async () => {
  const { log, clock, server } = await started({ rules: withoutPatch, reviews: 'incomplete' });
  expect(server.requests).toHaveLength(2);
  await clock.advance(1_000);
  expect(server.requests).toHaveLength(4);
  await clock.advance(60_000);
  expect(server.requests).toHaveLength(2 + 6);
  expect(log.messages()).toEqual([
    'Missing right: patch persistentvolumes (cluster-wide): nothing is patched',
    'Missing right: patch volumeattachments.storage.k8s.io/status (cluster-wide): pods wait',
  ]);
  expect(server.requests.at(-2)?.body).toMatchObject({
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        verb: 'get',
        group: 'coordination.k8s.io',
        resource: 'leases',
        namespace: 'csi',
        name: 'the-lease',
      },
    },
  });
});

it('[explain#128] given more rights than may be asked for one by one, then 45 are asked for, and one line says so', async () => {
  const { log, clock, server } = await started({ rules: [], reviews: 'incomplete', needed: many(50) });
  await clock.advance(120_000);
  expect(server.requests).toHaveLength(1 + 45);
  expect(log.messages().filter((line) => line.startsWith('Missing right'))).toHaveLength(45);
  expect(log.messages().at(-1)).toBe(
    'Rights could not be checked: the authorizer lists no rules, and no more than 45 rights are asked for one by one',
  );
});

it('given rights in many places, then there are 47 requests at most', async () => {
  const { rules } = namespaced[0]!;
  const needed = { ...many(50), namespaced: ['a', 'b'].map((namespace) => ({ namespace, rules })) };
  const { clock, server } = await started({ rules: [], reviews: 'incomplete', needed });
  await clock.advance(120_000);
  expect(server.requests).toHaveLength(47);
});

it('[explain#129] given a right that is granted later, then the look after the next refusal finds it: the metric goes, and one line says so', async () => {
  const { log, check, clock, grant, isMissing, server } = await started({ rules: withoutPatch });
  const warned = log.messages();
  expect(isMissing('patch', '', 'persistentvolumes')).toBe(1);
  check.refused();
  await clock.advance(59_999);
  expect(server.requests).toHaveLength(2);
  await clock.advance(1);
  expect(server.requests).toHaveLength(4);
  check.refused();
  await clock.advance(4 * 60_000);
  grant(all);
  await clock.advance(6 * 60_000 - 1);
  expect([server.requests.length, log.messages()]).toEqual([4, warned]);
  await clock.advance(1);
  expect(log.lines.slice(warned.length)).toEqual(
    ['patch persistentvolumes (cluster-wide)', 'patch volumeattachments.storage.k8s.io/status (cluster-wide)'].map(
      (text) => ({ kind: 'info', level: 0, message: `Right granted: ${text}`, facts: {} }),
    ),
  );
  expect(isMissing('patch', '', 'persistentvolumes')).toBe(undefined);
});

it('given no refusal, then it is looked once', async () => {
  const { clock, server } = await started({ rules: withoutPatch });
  await clock.advance(24 * 3_600_000);
  expect([server.requests.length, clock.pending]).toEqual([2, 0]);
});

it('given refusals by the hundred, then it is looked once in ten minutes', async () => {
  const { check, clock, server } = await started({ rules: withoutPatch });
  for (let second = 0; second < 3_600; second += 1) {
    check.refused();
    await clock.advance(1_000);
  }
  expect(server.requests.length).toBe(2 + 2 * 6);
});

it('given a right that stays missing, then it is reported once, and again when another right of its resource goes', async () => {
  const { log, check, clock, grant } = await started({ rules: withoutPatch });
  const warned = log.messages();
  check.refused();
  await clock.advance(60_000);
  expect(log.messages()).toEqual(warned);
  grant(withoutPatch.filter(({ resources }) => !resources.includes('persistentvolumes')));
  check.refused();
  await clock.advance(10 * 60_000);
  expect(log.messages().slice(warned.length)).toEqual([
    'Missing right: list, watch, patch persistentvolumes (cluster-wide): nothing starts; nothing is patched',
  ]);
});

it('given a run that needs less than the run before, then what it does not need is neither missing nor granted', async () => {
  const { log, begin, clock, isMissing } = await started({ rules: withoutPatch });
  const warned = log.messages();
  begin({ cluster: cluster.slice(0, 1) });
  await clock.advance(1_000);
  expect([log.messages(), isMissing('patch', '', 'persistentvolumes')]).toEqual([warned, undefined]);
});

it('given an API server that is silent, then a later look gets its answer, and what was known stays', async () => {
  let isSilent = false;
  const intercept =
    (transport: Transport): Transport =>
    (request) =>
      isSilent
        ? new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(new Error('cut off'))))
        : transport(request);
  const { log, check, clock, isMissing } = await started({ rules: withoutPatch, intercept });
  const warned = log.messages();
  isSilent = true;
  check.refused();
  await clock.advance(10 * 60_000);
  expect(log.messages().slice(warned.length)).toEqual([expect.stringMatching(/^Rights could not be checked: /)]);
  expect(isMissing('patch', '', 'persistentvolumes')).toBe(1);
});

const answering = (status: unknown) => (): Transport => async () => ({
  status: 201,
  headers: { 'content-type': 'application/json' },
  body: (async function* () {
    yield Buffer.from(JSON.stringify({ kind: 'X', status }));
  })(),
});

it.each([
  ['no status', undefined, 'the answer to a SelfSubjectRulesReview has no status'],
  ['a status that is no object', 'fine', 'the answer to a SelfSubjectRulesReview has no status'],
  // Not even whether it is complete.
  ['an empty status', {}, 'the answer to a SelfSubjectAccessReview does not say what is allowed'],
  [
    'rules that are no list',
    { resourceRules: 7 },
    'the answer to a SelfSubjectAccessReview does not say what is allowed',
  ],
  ['an error of the authorizer', { allowed: false, evaluationError: 'no role' }, 'no role'],
  ['a huge text', { incomplete: true, evaluationError: 'x'.repeat(100_000) }, 'x'.repeat(300)],
])('given an answer with %s, then nothing is missing, and one line gives the reason', async (_, status, reason) => {
  const { log, clock } = await started({ rules: [], intercept: answering(status) });
  await clock.advance(60_000);
  expect(log.messages()).toEqual([`Rights could not be checked: ${reason}`]);
});

it('given an error of the authorizer beside rules, then what is not shown is asked for', async () => {
  const dangling =
    (transport: Transport): Transport =>
    async (request) => {
      const response = await transport(request);
      if (!request.path.endsWith('selfsubjectrulesreviews')) return response;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      const answer = JSON.parse(Buffer.concat(chunks).toString()) as { readonly status: object };
      const body = JSON.stringify({
        ...answer,
        status: { ...answer.status, evaluationError: 'clusterroles "gone" not found' },
      });
      return { status: 201, headers: { 'content-type': 'application/json' }, body: answerOf(body) };
    };
  const { log, clock, server } = await started({ rules: withoutPatch, intercept: dangling });
  await clock.advance(60_000);
  expect(server.requests).toHaveLength(2 + 2);
  expect(log.messages()).toEqual([
    'Missing right: patch persistentvolumes (cluster-wide): nothing is patched',
    'Missing right: patch volumeattachments.storage.k8s.io/status (cluster-wide): pods wait',
  ]);
});

async function* answerOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

it('given the end of the program while it asks, then it asks no more, leaves no timer and logs nothing', async () => {
  const { log, clock, check, stopping, server } = await started({ rules: [], reviews: 'incomplete' });
  check.refused();
  stopping.abort(new Error('stop'));
  await settle();
  check.refused();
  await clock.advance(3_600_000);
  expect([server.requests.length, log.messages(), clock.pending]).toEqual([2, [], 0]);
});
