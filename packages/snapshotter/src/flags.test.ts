// SPDX-License-Identifier: Apache-2.0
import { parseFlags, resolveGates, usageText } from '@csi-sidecars/sidecar';
import { realArgumentLists } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { snapshotterProgram } from './flags.ts';

it('given the real argument lists of csi-snapshotter, then each is accepted but for a flag that upstream removed', () => {
  const lists = realArgumentLists('csi-snapshotter');
  expect(lists.length).toBeGreaterThan(0);
  const refused = lists.flatMap((list): readonly string[] => {
    const result = parseFlags(snapshotterProgram.flags, snapshotterProgram.syntax, list.args);
    if (result.kind !== 'parsed') return [result.kind === 'invalid' ? result.message : result.kind];
    const gates = resolveGates(snapshotterProgram.gates, result.values['feature-gates']);
    return gates.kind === 'resolved' ? result.positionals : [gates.message];
  });
  expect(refused).toEqual(['flag provided but not defined: -enable-volume-group-snapshots']);
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
