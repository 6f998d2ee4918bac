// SPDX-License-Identifier: Apache-2.0
/** Odd answers to the check of rights. */
import type { Transport } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { started, withoutPatch } from '../../testing/rights-fixture.ts';

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

it('given a review of a single right that is refused, then no other one is asked for', async () => {
  let asked = 0;
  const refusing =
    (transport: Transport): Transport =>
    (request) => {
      if (!request.path.endsWith('selfsubjectaccessreviews')) return transport(request);
      asked += 1;
      return transport({ ...request, path: '/apis/authorization.k8s.io/v1/nothing' });
    };
  const { log, clock } = await started({ rules: [], reviews: 'incomplete', intercept: refusing });
  await clock.advance(60_000);
  expect([asked, log.messages()]).toEqual([1, [expect.stringMatching(/^Rights could not be checked: .*forbidden/)]]);
});
