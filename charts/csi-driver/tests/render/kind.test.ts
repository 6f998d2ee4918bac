// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { driverValues, imageRegistry, snapshotControllerValues } from '../../../../e2e/src/kind/objects.ts';
import { hasHelm, render } from '../../../testing/helm.ts';

describe.skipIf(!hasHelm)('the charts with the values of npm run kind', () => {
  it('[packaging#64] given both charts, then every image is one that was loaded, and none is pulled', async () => {
    const objects = [
      ...(await render({
        chart: 'csi-driver',
        values: driverValues('demo'),
        apiVersions: ['snapshot.storage.k8s.io/v1'],
        withTests: true,
      })),
      ...(await render({ chart: 'snapshot-controller', values: snapshotControllerValues('demo') })),
    ];
    const text = JSON.stringify(objects);
    const images = new Set([...text.matchAll(/"image":"([^"]+)"/g)].map((match) => match[1]!));
    expect([...images].toSorted()).toEqual(
      [
        'csi-attacher',
        'csi-node-driver-registrar',
        'csi-provisioner',
        'csi-resizer',
        'csi-sidecars',
        'csi-snapshotter',
        'livenessprobe',
        'snapshot-controller',
        'test-driver',
      ].map((name) => `${imageRegistry}/${name}:demo`),
    );
    expect(new Set([...text.matchAll(/"imagePullPolicy":"(\w+)"/g)].map((match) => match[1]))).toEqual(
      new Set(['Never']),
    );
  });
});
