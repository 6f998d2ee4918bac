// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { leaderHealthRoute } from './serve-diagnostics.ts';
import { leaseRules } from '../lease/lease-client.ts';

it('given the health of an election, then its route answers any method with the texts of upstream', () => {
  const request = { method: 'GET', path: '', query: new URLSearchParams(), signal: new AbortController().signal };
  const answers = [true, false].map((isHealthy) => leaderHealthRoute(() => isHealthy).handler(request));
  const { path, methods } = leaderHealthRoute(() => true);
  expect([path, methods, ...answers]).toEqual([
    '/healthz/leader-election',
    'any',
    { status: 200, body: 'ok' },
    { status: 500, body: 'internal server error: failed election to renew leadership on lease \n' },
  ]);
});

it('given the rules of an election, then they cover the requests for the Lease and its events, and no more', () => {
  expect(leaseRules.map(({ apiGroups, resources, verbs, when }) => [apiGroups, resources, verbs, when?.text])).toEqual([
    [['coordination.k8s.io'], ['leases'], ['get', 'create', 'update'], '--leader-election'],
    [['coordination.k8s.io'], ['leases'], ['watch'], '--leader-election'],
    [[''], ['events'], ['create', 'patch'], 'events about the election are wanted'],
  ]);
});
