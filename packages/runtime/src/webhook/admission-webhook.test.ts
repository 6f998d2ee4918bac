// SPDX-License-Identifier: Apache-2.0
/** Handlers and their answers, without a server. */
import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { anAdmissionRequest, recordingLogger } from '../../testing/index.ts';
import { stringifyJson } from '../api/json.ts';
import { type ConfigMap, configMaps, deployments } from '../api/common-resources.ts';
import { whenAborted } from '../clock/deadline.ts';
import { mutatingWebhook, validatingWebhook, type ValidatingSpec } from './admission-webhook.ts';
import type { AdmissionResponse, Operation } from './reviews.ts';
import { allowed, changed, denied, type Mutation, type Verdict } from './verdict.ts';
import type { ReviewPorts } from './webhook.ts';

const name = 'maps.example.com';
const object: ConfigMap = { metadata: { name: 'a', namespace: 'n' }, data: { key: 'value' } };
const creation = anAdmissionRequest(configMaps, { object });
const every = ['CREATE', 'UPDATE', 'DELETE'] as const;

const validating = (validate: ValidatingSpec<ConfigMap, Operation>['validate']) =>
  validatingWebhook({ name, resource: configMaps, operations: every, validate });
const mutating = (mutate: (given: ConfigMap) => Mutation<ConfigMap>) =>
  mutatingWebhook({ name, resource: configMaps, operations: ['CREATE'], mutate: ({ object: given }) => mutate(given) });

function ports() {
  const logger = recordingLogger();
  return { logger, signal: new AbortController().signal };
}

describe('a verdict', () => {
  it.each<{ readonly verdict: Verdict; readonly response: Omit<AdmissionResponse, 'uid'> }>([
    { verdict: allowed, response: { allowed: true } },
    { verdict: { allowed: true, warnings: ['old'] }, response: { allowed: true, warnings: ['old'] } },
    {
      verdict: denied('no'),
      response: { allowed: false, status: { code: 403, message: 'no', reason: 'Forbidden' } },
    },
    { verdict: denied('no', { code: 422 }), response: { allowed: false, status: { code: 422, message: 'no' } } },
    {
      verdict: denied('no', { code: 422, reason: 'Invalid', warnings: ['w'], auditAnnotations: { why: 'x' } }),
      response: {
        allowed: false,
        status: { code: 422, message: 'no', reason: 'Invalid' },
        warnings: ['w'],
        auditAnnotations: { why: 'x' },
      },
    },
  ])('[runtime#230] given $verdict, then the response has it, and the UID of the request', async (row) => {
    expect(await validating(() => row.verdict).respond(creation)).toEqual({ uid: 'review-1', ...row.response });
    expect(await validating(async () => row.verdict).respond(creation)).toEqual({ uid: 'review-1', ...row.response });
  });

  it('[runtime#230] given a dry run of a user, then the handler learns of both', async () => {
    const seen: unknown[] = [];
    const userInfo = { username: 'eve', groups: ['g'], extra: { scopes: ['a'] } };
    const webhook = validating(({ dryRun, userInfo: user, operation }) => {
      seen.push(dryRun, user, operation);
      return allowed;
    });
    await webhook.respond(anAdmissionRequest(configMaps, { oldObject: object, dryRun: true, userInfo }));
    expect(seen).toEqual([true, userInfo, 'DELETE']);
  });

  it.each([undefined, null, 'allowed', [], {}, { allowed: 'yes' }, { allowed: 1 }])(
    '[runtime#231] given a handler in JavaScript that returns %j, then the answer is 500, and that is logged',
    async (verdict) => {
      const { logger, signal } = ports();
      const response = await validating(() => verdict as unknown as Verdict).respond(creation, { logger, signal });
      const message = 'the webhook returned no verdict';
      expect(response).toEqual({ uid: 'review-1', allowed: false, status: { code: 500, message } });
      expect(logger.messages()).toEqual(['Webhook failed']);
    },
  );

  it.each([
    { thrown: new Error('no disk'), message: 'no disk' },
    { thrown: 'a text', message: 'a text' },
  ])(
    '[runtime#231] given a handler that throws $thrown, then the answer is 500 and the text, which is logged',
    async (row) => {
      const failing: readonly ((given: ReviewPorts) => Promise<AdmissionResponse>)[] = [
        (given) => validating(() => Promise.reject(row.thrown)).respond(creation, given),
        (given) =>
          mutating(() => {
            throw row.thrown;
          }).respond(creation, given),
      ];
      for (const respond of failing) {
        const { logger, signal } = ports();
        expect(await respond({ logger, signal })).toEqual({
          uid: 'review-1',
          allowed: false,
          status: { code: 500, message: row.message },
        });
        const facts = { webhook: name, uid: 'review-1' };
        expect(logger.lines).toEqual([{ kind: 'error', error: row.thrown, message: 'Webhook failed', facts }]);
      }
    },
  );
});

it('[runtime#236] given a handler that fails because its signal aborts, then that is not logged', async () => {
  const logger = recordingLogger();
  const gone = new AbortController();
  const webhook = validating(async (_, { signal }) => {
    await whenAborted(signal);
    throw signal.reason;
  });
  const response = webhook.respond(creation, { logger, signal: gone.signal });
  gone.abort(new Error('the client is gone'));
  expect([await response, logger.lines]).toMatchObject([{ allowed: false, status: { code: 500 } }, []]);
});

describe('a request', () => {
  it.each([
    {
      given: 'another resource',
      request: anAdmissionRequest(deployments, { object: {} }),
      message: 'the webhook knows configmaps in v1, and not deployments in apps/v1',
    },
    {
      given: 'another version',
      request: anAdmissionRequest({ ...configMaps, version: 'v2' }, { object }),
      message: 'the webhook knows configmaps in v1, and not configmaps in v2',
    },
    {
      given: 'a subresource',
      request: { ...creation, subResource: 'status' },
      message: 'the webhook knows configmaps in v1, and not configmaps/status in v1',
    },
    {
      given: 'another operation',
      request: { ...creation, operation: 'CONNECT' },
      message: 'the webhook knows no operation CONNECT',
    },
    { given: 'no object', request: { ...creation, object: null }, message: 'the request has no object' },
    {
      given: 'no old object',
      request: { ...creation, operation: 'UPDATE' },
      message: 'the request has no old object',
    },
    {
      given: 'no object to delete',
      request: { ...creation, operation: 'DELETE', object: null, oldObject: null },
      message: 'the request has no old object',
    },
  ])(
    '[runtime#232] given $given, then it is denied with 400, and the handler is not called',
    async ({ request, message }) => {
      const validate = vi.fn(() => allowed);
      expect(await validating(validate).respond(request as typeof creation)).toEqual({
        uid: 'review-1',
        allowed: false,
        status: { code: 400, message },
      });
      expect(validate).not.toHaveBeenCalled();
    },
  );

  it('[runtime#232] given a webhook for one operation of a subresource, then its requests reach it, and no others', async () => {
    const spec = { name, resource: configMaps, subresource: 'scale', operations: ['UPDATE'] } as const;
    const webhook = validatingWebhook({ ...spec, validate: () => allowed });
    const update = anAdmissionRequest(configMaps, { object, oldObject: object });
    expect((await webhook.respond({ ...update, subResource: 'scale' })).allowed).toBe(true);
    expect((await webhook.respond(update)).allowed).toBe(false);
    expect((await webhook.respond({ ...creation, subResource: 'scale' })).allowed).toBe(false);
  });

  it('given the operations, then the types of a request have the objects that these have', () => {
    validatingWebhook({
      name,
      resource: configMaps,
      operations: ['CREATE', 'UPDATE'],
      validate: (request) => {
        expectTypeOf(request.object).toEqualTypeOf<ConfigMap>();
        expectTypeOf(request.oldObject).toEqualTypeOf<ConfigMap | undefined>();
        if (request.operation === 'UPDATE') expectTypeOf(request.oldObject).toEqualTypeOf<ConfigMap>();
        return allowed;
      },
    });
  });
});

describe('a change', () => {
  const patchOf = async (mutate: (given: ConfigMap) => Mutation<ConfigMap>, given: ConfigMap = object) => {
    const { patch, ...response } = await mutating(mutate).respond(anAdmissionRequest(configMaps, { object: given }));
    expect(response).toMatchObject({ uid: 'review-1', allowed: true });
    expect(response.patchType).toBe(patch === undefined ? undefined : 'JSONPatch');
    return patch === undefined ? undefined : Buffer.from(patch, 'base64').toString();
  };

  it('[runtime#233] given a changed object, then the response has the patch', async () => {
    const label = (given: ConfigMap) => changed({ ...given, metadata: { ...given.metadata, labels: { a: 'b' } } });
    expect(await patchOf(label)).toBe('[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]');
  });

  it.each<{ readonly given: string; readonly mutate: (given: ConfigMap) => Mutation<ConfigMap> }>([
    { given: 'allowed', mutate: () => allowed },
    { given: 'the object itself', mutate: (own) => changed(own) },
    { given: 'a copy in another order', mutate: ({ data, ...own }) => changed({ data: data ?? {}, ...own }) },
    {
      given: 'a field that is undefined',
      mutate: (own) => changed({ ...own, binaryData: undefined } as unknown as ConfigMap),
    },
  ])('[runtime#233] given $given, then there is no patch', async ({ mutate }) => {
    expect(await patchOf(mutate)).toBeUndefined();
  });

  it('[runtime#233] given a handler that changes its object in place, then the response has the patch, and the request is unchanged', async () => {
    const spoil = (own: ConfigMap) => {
      Object.assign(own.data as object, { key: 'other' });
      return changed(own);
    };
    expect(await patchOf(spoil)).toBe('[{"op":"replace","path":"/data/key","value":"other"}]');
    expect(object.data).toEqual({ key: 'value' });
  });

  it('[runtime#233] given an integer beyond the exact ones, then the patch has every digit', async () => {
    const add = (own: ConfigMap) => changed({ ...own, size: 2n ** 60n } as unknown as ConfigMap);
    expect(await patchOf(add)).toBe('[{"op":"add","path":"/size","value":1152921504606846976}]');
  });

  it('[runtime#233] given remarks, then the response has them beside the patch', async () => {
    const webhook = mutating((own) => changed({ ...own, data: {} }, { warnings: ['w'], auditAnnotations: { a: 'b' } }));
    expect(await webhook.respond(creation)).toMatchObject({ warnings: ['w'], auditAnnotations: { a: 'b' } });
  });

  it('[runtime#230] given a mutating webhook that denies, then the answer is denied, without a patch', async () => {
    expect(await mutating(() => denied('no')).respond(creation)).toEqual({
      uid: 'review-1',
      allowed: false,
      status: { code: 403, message: 'no', reason: 'Forbidden' },
    });
  });

  it('[runtime#231] given a handler in JavaScript that returns no object, then the answer is 500', async () => {
    const { status } = await mutating(() => changed(undefined as unknown as ConfigMap)).respond(creation);
    expect(status).toEqual({ code: 500, message: 'the webhook returned no object' });
  });
});

describe('an answer', () => {
  const review = (request: unknown, more: object = {}) =>
    stringifyJson({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request, ...more });
  const ask = async (body: string, contentType: string | undefined = 'application/json') =>
    await validating(() => allowed).answer({ contentType, accept: undefined, body: Buffer.from(body) }, ports());

  it('[runtime#230] given a review, then the answer is one, as JSON', async () => {
    const { status, contentType, body } = await ask(review(creation));
    expect([status, contentType, JSON.parse(body)]).toEqual([
      200,
      'application/json',
      {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: 'review-1', allowed: true },
      },
    ]);
  });

  it.each([
    { given: 'no content type', body: review(creation), type: '', text: 'invalid Content-Type header ``' },
    { given: 'YAML', body: 'a: b', type: 'application/yaml', text: 'invalid Content-Type header `application/yaml`' },
    {
      given: 'no JSON',
      body: '{',
      text: 'failed to deserialize body (1 bytes) with error invalid JSON (1 characters)',
    },
    {
      given: 'a review of another version',
      body: review(creation, { apiVersion: 'admission.k8s.io/v1beta1' }),
      text: 'Unsupported group version kind: admission.k8s.io/v1beta1, Kind=AdmissionReview',
    },
    { given: 'no request', body: review(undefined), text: 'the AdmissionReview has no request' },
    { given: 'no UID', body: review({ ...creation, uid: '' }), text: 'the AdmissionReview has no UID' },
    { given: 'a UID that is no text', body: review({ ...creation, uid: 1 }), text: 'the AdmissionReview has no UID' },
  ])('[runtime#234] given $given, then the answer is 400', async ({ body, type, text }) => {
    expect(await ask(body, type)).toEqual({
      status: 400,
      contentType: 'text/plain; charset=utf-8',
      body: `${text}\n`,
    });
  });

  it('[runtime#234] given a body of 7 MiB, or of 350,000 values, then it is not too large', async () => {
    const webhook = validating(() => allowed);
    expect(webhook.maxBodyBytes('application/json')).toBe(7 * 1024 * 1024);
    expect([(await ask(','.repeat(350_000))).status, (await ask(','.repeat(350_001))).status]).toEqual([400, 413]);
  });

  it('[runtime#234] given an object that is nested deeper than the stack, then there is an answer, and a mutating webhook denies it', async () => {
    const depth = 100_000;
    const deep = review({ ...creation, object: { data: '@' } }).replace('"@"', '['.repeat(depth) + ']'.repeat(depth));
    const asked = { contentType: 'application/json', accept: undefined, body: Buffer.from(deep) };
    expect((await ask(deep)).status).toBe(200);
    const { body } = await mutating((own) => changed(own)).answer(asked, ports());
    expect(JSON.parse(body)).toMatchObject({ response: { uid: 'review-1', allowed: false, status: { code: 500 } } });
  });
});

it('[runtime#230, 234] given any body, then there is an answer, with the UID if it is a review, and none allows what the handler denies', async () => {
  const webhook = validating(() => denied('no'));
  const part = fc.oneof(
    fc.json().map((text): unknown => JSON.parse(text)),
    fc.constant(object),
    fc.constant(undefined),
  );
  const request = fc.record({ object: part, oldObject: part, operation: fc.constantFrom(...every, 'CONNECT', null) });
  const reviews = request.map((parts) =>
    stringifyJson({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { ...creation, ...parts } }),
  );
  const asked = fc.record({
    body: fc.oneof(reviews, fc.json(), fc.string()).map((text) => Buffer.from(text)),
    contentType: fc.constantFrom('application/json', undefined),
    accept: fc.option(fc.string(), { nil: undefined }),
  });
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(asked, async (each) => {
      const { status, body } = await webhook.answer(each, ports());
      statuses.add(status);
      expect([200, 400]).toContain(status);
      if (status === 200) expect(JSON.parse(body)).toMatchObject({ response: { uid: 'review-1', allowed: false } });
    }),
    { seed: 1, numRuns: 1_000 },
  );
  expect(statuses).toEqual(new Set([200, 400]));
});

describe('the declaration of a webhook', () => {
  it('given no more than is needed, then the API server denies while it cannot ask, and there are no side effects', () => {
    const { path, admission } = validating(() => allowed);
    expect(path).toBe('/maps.example.com');
    expect(admission).toEqual({
      kind: 'validating',
      path: '/maps.example.com',
      entry: {
        name,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds: 10,
        rules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            resources: ['configmaps'],
            operations: ['CREATE', 'UPDATE', 'DELETE'],
            scope: 'Namespaced',
          },
        ],
      },
    });
  });

  it('given a path, a subresource of the cluster and a configuration, then the entry has them', () => {
    const { path, admission } = mutatingWebhook({
      name,
      path: '/scale',
      resource: { ...configMaps, namespaced: false },
      subresource: 'scale',
      operations: ['UPDATE'],
      configuration: { failurePolicy: 'Ignore', timeoutSeconds: 3, objectSelector: { matchLabels: { a: 'b' } } },
      mutate: () => allowed,
    });
    expect([path, admission?.kind, admission?.path]).toEqual(['/scale', 'mutating', '/scale']);
    expect(admission?.entry).toMatchObject({
      failurePolicy: 'Ignore',
      timeoutSeconds: 3,
      objectSelector: { matchLabels: { a: 'b' } },
      rules: [{ resources: ['configmaps/scale'], scope: 'Cluster', operations: ['UPDATE'] }],
    });
  });
});

it('given a change that is not to an object of the kind, then it does not compile', () => {
  const spec = { name, resource: configMaps, operations: ['CREATE'] } as const;
  // @ts-expect-error: it is no object.
  const number = mutatingWebhook({ ...spec, mutate: () => changed(42) });
  // @ts-expect-error: it has a field that the kind does not have.
  const field = mutatingWebhook({ ...spec, mutate: () => changed({ dota: {} }) });
  expect([number.path, field.path]).toEqual([`/${name}`, `/${name}`]);
});

it.each(['a', 'a.b', 'a..b.c', 'A.b.c', '-a.b.c', 'a.b.c-', 'a_b.c.d', '', `${'a'.repeat(250)}.b.c`])(
  '[runtime#263] given the name %s, which the API server does not take, then the webhook is refused where it is defined',
  (refused) => {
    const spec = { name: refused, resource: configMaps, operations: ['CREATE'] } as const;
    const message = `webhook name ${refused}: it must have three segments or more`;
    expect(() => validatingWebhook({ ...spec, validate: () => allowed })).toThrow(message);
    expect(() => mutatingWebhook({ ...spec, mutate: () => allowed })).toThrow(message);
  },
);

it('[runtime#263] given a name of three segments, then the webhook has it', () => {
  const longest = `${'a'.repeat(249)}.b.c`;
  const spec = { resource: configMaps, operations: ['CREATE'], validate: () => allowed } as const;
  const names = ['a.b.c', 'a-1.b.c.d', longest];
  expect(names.map((each) => validatingWebhook({ ...spec, name: each }).path)).toEqual(names.map((each) => `/${each}`));
});
