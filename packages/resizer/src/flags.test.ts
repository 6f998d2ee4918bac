// SPDX-License-Identifier: Apache-2.0
import { parseFlags, usageText } from '@csi-sidecars/sidecar';
import { realArgumentLists, refusedOf } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { resizerProgram } from './flags.ts';

it('given the real argument lists of csi-resizer, then each is accepted', () => {
  const lists = realArgumentLists('external-resizer');
  expect(lists.length).toBeGreaterThan(0);
  expect(refusedOf(resizerProgram, lists)).toEqual([]);
});

it("given what deployments leave out, then the built-in values are upstream's, and the usage text lists every flag, P36", async () => {
  expect(parseFlags(resizerProgram.flags, resizerProgram.syntax, [])).toMatchObject({
    kind: 'parsed',
    values: {
      'csi-address': '/run/csi/socket',
      'kube-api-qps': 5,
      'kube-api-burst': 10,
      master: '',
      'resync-period': 600_000,
      workers: 10,
      'extra-modify-metadata': false,
      timeout: 10_000,
      'resize-timeout': 10_000,
      'modify-timeout': 10_000,
      'retry-interval-start': 1_000,
      'retry-interval-max': 300_000,
      'handle-volume-inuse-error': true,
    },
  });
  const text = await usageText(resizerProgram.name, resizerProgram.flags);
  for (const name of Object.keys(resizerProgram.flags)) expect(text).toMatch(new RegExp(`-${name}\\b`));
});

it.each(['--csiTimeout=10s', '--leader-election-type=leases', '--alsologtostderr', '--logtostderr'])(
  'given %s, which upstream removed, then it is refused',
  (arg) => {
    expect(parseFlags(resizerProgram.flags, resizerProgram.syntax, [arg]).kind).toBe('invalid');
  },
);

it('given the gates of csi-resizer, then all of them are on, and each has its own stage', () => {
  expect(resizerProgram.gates).toMatchObject({
    AnnotateFsResize: { stage: 'BETA', defaultValue: true },
    RecoverVolumeExpansionFailure: { stage: 'GA', defaultValue: true },
    VolumeAttributesClass: { stage: 'GA', defaultValue: true },
  });
});
