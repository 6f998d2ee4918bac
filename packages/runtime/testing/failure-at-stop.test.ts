// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { secrets } from '../src/api/resource.ts';
import { failureAtStop, FakeClock, silentApi } from './index.ts';

describe('how a step ends when its signal aborts', () => {
  it('given a step that passes its signal on, then its request is cancelled, and that is the failure', async () => {
    const clock = new FakeClock();
    const { client, requests } = silentApi(clock);
    const ref = { namespace: 'team', name: 'login' };
    const failure = await failureAtStop((signal) => client.get(secrets, ref, { signal }), clock);
    expect(failure).toMatchObject({ failure: 'aborted' });
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v1/namespaces/team/secrets/login',
    ]);
  });

  it('given a step that does not look at its signal, then it waits on', async () => {
    expect(await failureAtStop(() => new Promise(() => undefined), new FakeClock())).toBeUndefined();
  });

  it('given a step that ends before it has to, then that is an error', async () => {
    await expect(failureAtStop(() => 'done', new FakeClock())).rejects.toThrow('the step ends without an answer');
  });

  it('given a step that fails before it has to, then that is the error', async () => {
    const failing = (): Promise<object> => Promise.reject(new Error('a defect'));
    await expect(failureAtStop(failing, new FakeClock())).rejects.toThrow('a defect');
  });
});
