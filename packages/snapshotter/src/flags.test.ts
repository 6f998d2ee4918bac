// SPDX-License-Identifier: Apache-2.0
import { parseFlags, usageText } from '@csi-sidecars/sidecar';
import { realArgumentLists, refusedOf } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { snapshotterProgram } from './flags.ts';

it('given the real argument lists of csi-snapshotter, then each is accepted but for a flag that upstream removed', () => {
  const lists = realArgumentLists('csi-snapshotter');
  expect(lists.length).toBeGreaterThan(0);
  const message = 'flag provided but not defined: -enable-volume-group-snapshots';
  expect(refusedOf(snapshotterProgram, lists)).toEqual([message]);
});

it("given what deployments leave out, then the built-in values are upstream's", async () => {
  expect(parseFlags(snapshotterProgram.flags, snapshotterProgram.syntax, [])).toMatchObject({
    kind: 'parsed',
    values: {
      'csi-address': '/run/csi/socket',
      'kube-api-qps': 5,
      'kube-api-burst': 10,
      'resync-period': 900_000,
      'snapshot-name-prefix': 'snapshot',
      'snapshot-name-uuid-length': -1,
      'groupsnapshot-name-prefix': 'groupsnapshot',
      'groupsnapshot-name-uuid-length': -1,
      'worker-threads': 10,
      timeout: 60_000,
      'extra-create-metadata': false,
      'retry-interval-start': 1_000,
      'retry-interval-max': 300_000,
      'node-deployment': false,
    },
  });
  const text = await usageText(snapshotterProgram.name, snapshotterProgram.flags);
  for (const name of Object.keys(snapshotterProgram.flags)) expect(text).toMatch(new RegExp(`-${name}\\b`));
});
