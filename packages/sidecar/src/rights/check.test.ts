// SPDX-License-Identifier: Apache-2.0
/** When the check of rights looks, and what it reports. */
import type { Transport } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import {
  all,
  cluster,
  grants,
  leaseRule,
  many,
  namespaced,
  started,
  withoutPatch,
} from '../../testing/rights-fixture.ts';

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

it('given a run that begins while it looks for an earlier one, then it looks for both', async () => {
  const { log, begin, clock } = await started({ rules: [], reviews: 'incomplete', needed: many(3) });
  begin({ cluster: cluster.slice(0, 1) });
  await clock.advance(60_000);
  expect(log.messages()).toEqual([
    ...[0, 1, 2].map((index) => `Missing right: get kind-${index} (cluster-wide): x`),
    'Missing right: list, watch persistentvolumes (cluster-wide): nothing starts',
  ]);
});

it('given the end of the program while it asks, then it asks no more, leaves no timer and logs nothing', async () => {
  const { log, clock, check, stopping, server } = await started({ rules: [], reviews: 'incomplete' });
  check.refused();
  stopping.abort(new Error('stop'));
  await settle();
  expect(clock.pending).toBe(0);
  check.refused();
  await clock.advance(3_600_000);
  expect([server.requests.length, log.messages(), clock.pending]).toEqual([2, [], 0]);
});
