// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { compatibleTagOf, imageSet, tagOf } from './set.ts';

describe('imageSet', () => {
  it("given upstream's images, then ours have the same names, with one more that has all programs", () => {
    expect(imageSet.map(({ name, entrypoint }) => [name, entrypoint])).toEqual([
      ['csi-provisioner', '/csi-provisioner'],
      ['csi-attacher', '/csi-attacher'],
      ['csi-resizer', '/csi-resizer'],
      ['csi-snapshotter', '/csi-snapshotter'],
      ['csi-external-health-monitor-controller', '/csi-external-health-monitor-controller'],
      ['snapshot-controller', '/snapshot-controller'],
      ['csi-snapshot-metadata', '/csi-snapshot-metadata'],
      ['volume-data-source-validator', '/volume-data-source-validator'],
      ['snapshot-conversion-webhook', '/snapshot-conversion-webhook'],
      ['csi-node-driver-registrar', '/csi-node-driver-registrar'],
      ['livenessprobe', '/livenessprobe'],
      ['csi-sidecars', '/csi-sidecars'],
    ]);
    expect(imageSet.at(-1)?.programs).toEqual(imageSet.map(({ name }) => name));
  });

  it('[packaging#14] given a registry with a port, when a script splits at the last colon and the last slash, then it finds name and tag', () => {
    for (const { name } of imageSet) {
      const reference = `host:5000/${name}:${tagOf('0.1.0')}`;
      const colon = reference.lastIndexOf(':');
      const slash = reference.lastIndexOf('/');
      expect([reference.slice(slash + 1, colon), reference.slice(colon + 1)]).toEqual([name, 'v0.1.0']);
    }
  });

  it("given an image with a counterpart upstream, then its further tag begins with upstream's and is never upstream's own", () => {
    expect(imageSet.map((spec) => compatibleTagOf(spec, '0.1.0'))).toEqual([
      'v6.4.0-0.1.0',
      'v4.13.0-0.1.0',
      'v2.3.0-0.1.0',
      'v8.7.0-0.1.0',
      'v0.19.0-0.1.0',
      'v8.7.0-0.1.0',
      'v1.1.0-0.1.0',
      'v1.7.0-0.1.0',
      'v8.7.0-0.1.0',
      'v2.18.0-0.1.0',
      'v2.20.0-0.1.0',
      undefined,
    ]);
  });
});
