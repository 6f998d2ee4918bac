// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { secrets } from '../src/api/resource.ts';
import { ask } from '../src/loop/attempt.ts';
import { FakeClock, learnedAtStop, silentApi } from './index.ts';

describe('what a step has learned when its signal has aborted', () => {
  it('given a step that passes its signal on, then its request is cancelled, and the failure is learned', async () => {
    const clock = new FakeClock();
    const { client, requests } = silentApi(clock);
    const ref = { namespace: 'team', name: 'login' };
    const learned = await learnedAtStop((signal) => ask(() => client.get(secrets, ref, { signal })), clock);
    expect(learned).toEqual({ failure: expect.objectContaining({ failure: 'aborted' }) });
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v1/namespaces/team/secrets/login',
    ]);
  });

  it('given a step that does not look at its signal, then it has learned nothing', async () => {
    expect(await learnedAtStop(() => new Promise<object>(() => undefined), new FakeClock())).toBeUndefined();
  });

  it('given a step that ends before it has to, then the error names what it has learned', async () => {
    await expect(learnedAtStop(() => ({ saved: 'done' }), new FakeClock())).rejects.toThrow(
      'learned without an answer: saved',
    );
  });

  it('given a step that fails before it has to, then that is the error', async () => {
    const failing = (): Promise<object> => Promise.reject(new Error('a defect'));
    await expect(learnedAtStop(failing, new FakeClock())).rejects.toThrow('a defect');
  });
});
