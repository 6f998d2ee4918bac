// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createFakeApiServer, FakeClock, seededRandom } from '../../testing/index.ts';
import { silentLogger } from '../log/logger.ts';
import { createApiClient } from './create-client.ts';
import { readSecret } from './read-secret.ts';

const metadata = { namespace: 'ns', name: 's' };

const read = (data?: Readonly<Record<string, string>>, options: Parameters<typeof readSecret>[2] = {}) => {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  server.seed({ apiVersion: 'v1', kind: 'Secret', metadata, ...(data !== undefined && { data }) });
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { userAgent: 'test', qps: -1, burst: 0 },
  );
  return readSecret(client, metadata, options);
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

it('given a secret, then its values are returned as text, to the last character', async () => {
  const values = { user: 'Jürgen\n', key: '\uFEFFx', empty: '' };
  expect(await read({ user: base64(values.user), key: base64(values.key), empty: '' })).toEqual(values);
  expect(await read()).toEqual({});
});

it('given a value that is no text, then the error does not quote it', async () => {
  await expect(read({ good: base64('x'), bad: '/w==' })).rejects.toThrow(/^a value is not valid UTF-8$/);
});

it('given a caller that cancels, then the error says so', async () => {
  await expect(read({}, { signal: AbortSignal.abort('stop') })).rejects.toMatchObject({ failure: 'aborted' });
});
