// SPDX-License-Identifier: Apache-2.0
import type { Transport } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { meteredTransport } from './layer.ts';

type Request = Parameters<Transport>[0];
const nobody = { user: '', group: '' };
const clock = { nowMs: () => 1_000_000 };

function recorded(date?: string) {
  const requests: Request[] = [];
  const transport: Transport = async (request) => {
    requests.push(request);
    const body = (async function* () {
      yield Buffer.from('abc');
      yield Buffer.from('de');
    })();
    return { status: 200, headers: date === undefined ? {} : { date }, body };
  };
  return { requests, transport };
}

const request = (method: Request['method'], path: string): Request => ({
  method,
  path,
  headers: { accept: 'application/json' },
  signal: new AbortController().signal,
});

describe('the transport of a command', () => {
  it.each(['PUT', 'PATCH', 'DELETE', 'POST'] as const)(
    'given %s, when sent, then it is refused before it leaves',
    async (method) => {
      const { requests, transport } = recorded();
      const { layer, meter } = meteredTransport(clock, nobody);
      await expect(layer(transport)(request(method, '/api/v1/pods'))).rejects.toThrow('a command that only reads sent');
      expect([requests, meter.requests()]).toEqual([[], 0]);
    },
  );

  it.each(['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'])(
    'given a review of access, %s, when sent, then it passes',
    async (plural) => {
      const { requests, transport } = recorded();
      await meteredTransport(clock, nobody).layer(transport)(
        request('POST', `/apis/authorization.k8s.io/v1/${plural}`),
      );
      expect(requests).toHaveLength(1);
    },
  );

  it.each([
    '/apis/authorization.k8s.io/v1/subjectaccessreviews/x',
    '/apis/x/apis/authorization.k8s.io/v1/subjectaccessreviews',
  ])('given a POST to %s, when sent, then it is refused', async (path) => {
    const { transport } = recorded();
    await expect(meteredTransport(clock, nobody).layer(transport)(request('POST', path))).rejects.toThrow('only reads');
  });

  it('given a user and a group to impersonate, when sent, then each request names them; without them none does', async () => {
    const { requests, transport } = recorded();
    await meteredTransport(clock, { user: 'jane', group: 'dev' }).layer(transport)(request('GET', '/version'));
    await meteredTransport(clock, nobody).layer(transport)(request('GET', '/version'));
    expect(requests[0]?.headers).toMatchObject({ 'impersonate-user': 'jane', 'impersonate-group': 'dev' });
    expect(Object.keys(requests[1]?.headers ?? {})).toEqual(['accept']);
  });

  it.each(['/api/v1/namespaces/a/secrets/s', '/api/v1/secrets', '/api/v1/secrets?limit=1'])(
    'given the secrets of %s, when sent, then only metadata are asked for',
    async (path) => {
      const { requests, transport } = recorded();
      await meteredTransport(clock, nobody).layer(transport)(request('GET', path));
      expect(requests[0]?.headers['accept']).toBe('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
    },
  );

  it('given a claim whose name contains the word, when sent, then all of it is asked for', async () => {
    const { requests, transport } = recorded();
    await meteredTransport(clock, nobody).layer(transport)(
      request('GET', '/api/v1/namespaces/a/persistentvolumeclaims/secretsauce'),
    );
    expect(requests[0]?.headers['accept']).toBe('application/json');
  });

  it('given answers, when read, then requests and bytes are counted', async () => {
    const { transport } = recorded();
    const { layer, meter } = meteredTransport(clock, nobody);
    const answer = await layer(transport)(request('GET', '/version'));
    for await (const _ of answer.body);
    expect([meter.requests(), meter.bytes()]).toEqual([1, 5]);
  });

  it.each([
    ['none', undefined, 0],
    ['no date', 'yesterday', 0],
    ['a second ahead', new Date(1_001_000).toUTCString(), 0],
    ['two seconds ahead', new Date(1_002_000).toUTCString(), 2_000],
    ['a minute behind', new Date(940_000).toUTCString(), -60_000],
  ])(
    'given a Date header that is %s, when read, then the clock of the server is known by it',
    async (_what, date, aheadMs) => {
      const { transport } = recorded(date);
      const { layer, meter } = meteredTransport(clock, nobody);
      await layer(transport)(request('GET', '/version'));
      expect(meter.serverAheadMs()).toBe(aheadMs);
    },
  );
});
