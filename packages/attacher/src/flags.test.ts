// SPDX-License-Identifier: Apache-2.0
import { parseFlags, usageText } from '@csi-sidecars/sidecar';
import { realArgumentLists, refusedOf } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { attacherProgram } from './flags.ts';

it('given the argument lists of real deployments of csi-attacher, then each is accepted', () => {
  const lists = realArgumentLists('external-attacher');
  expect(lists.length).toBeGreaterThan(0);
  expect(refusedOf(attacherProgram, lists)).toEqual([]);
});

it("given no arguments, then the defaults are upstream's, and the usage text names every flag", async () => {
  expect(parseFlags(attacherProgram.flags, attacherProgram.syntax, [])).toMatchObject({
    kind: 'parsed',
    values: {
      'csi-address': '/run/csi/socket',
      'kube-api-qps': 5,
      'kube-api-burst': 10,
      'worker-threads': 10,
      timeout: 15_000,
      resync: 600_000,
      'retry-interval-start': 1_000,
      'retry-interval-max': 300_000,
      'reconcile-sync': 60_000,
      'max-entries': 0,
      'default-fstype': '',
      'max-grpc-log-length': -1,
    },
  });
  const text = await usageText(attacherProgram.name, attacherProgram.flags);
  for (const name of Object.keys(attacherProgram.flags)) expect(text).toMatch(new RegExp(`-${name}\\b`));
});

it.each(['--connection-timeout=1s', '--leader-election-type=leases', '--leader-election-identity=x', '--dummy'])(
  'given %s, which upstream removed, then it is refused',
  (arg) => {
    expect(parseFlags(attacherProgram.flags, attacherProgram.syntax, [arg]).kind).toBe('invalid');
  },
);
