// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { recordingLogger } from '../../testing/index.ts';
import { conversionWebhook } from './conversion-webhook.ts';

const objects = ['a', 'b'].map((name) => ({ apiVersion: 'example.com/v1', kind: 'Site', metadata: { name } }));
const body = Buffer.from(
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: { uid: 'u1', desiredAPIVersion: 'example.com/v2', objects },
  }),
);
const asked = { contentType: 'application/json', accept: undefined, body };

it('given a function from an object and the wanted version to an object, then it is a conversion webhook', () => {
  const webhook = conversionWebhook({ convert: (object, apiVersion) => ({ converted: { ...object, apiVersion } }) });
  const { status, body: text } = webhook.answer(asked);
  expect([webhook.path, webhook.admission, status]).toEqual(['/convert', undefined, 200]);
  expect(JSON.parse(text).response).toEqual({
    uid: 'u1',
    convertedObjects: objects.map((object) => ({ ...object, apiVersion: 'example.com/v2' })),
    result: { metadata: {}, status: 'Success' },
  });
});

it('[runtime#239] given a function that throws for the second object, then its text is the failure of all of them, and is logged', () => {
  const error = new Error('no such version');
  const webhook = conversionWebhook<(typeof objects)[number]>({
    path: '/sites',
    convert: (object) => {
      if (object.metadata.name === 'b') throw error;
      return { converted: object };
    },
  });
  const log = recordingLogger();
  expect(JSON.parse(webhook.answer(asked, { logger: log }).body).response).toEqual({
    uid: 'u1',
    convertedObjects: null,
    result: { metadata: {}, status: 'Failure', message: 'no such version' },
  });
  const facts = { path: '/sites', uid: 'u1' };
  expect(log.lines).toEqual([{ kind: 'error', error, message: 'Webhook failed', facts }]);
});

it('[runtime#239] given a failure that is returned, then it is not logged', () => {
  const log = recordingLogger();
  const webhook = conversionWebhook({ convert: () => ({ failure: 'not this one' }) });
  expect(JSON.parse(webhook.answer(asked, { logger: log }).body).response.result.message).toBe('not this one');
  expect(log.lines).toEqual([]);
});
