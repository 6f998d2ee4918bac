// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { imageSet, tagOf } from '../set.ts';
import { nextSteps } from './next-steps.ts';

it('given the images that were pushed, then the values of the charts and a command for each sidecar name the registry', () => {
  const text = nextSteps(
    { name: 'ghcr.io/owner' },
    imageSet.map(({ name }) => ({ name, tags: [tagOf('1.2.3')] })),
  );

  expect(text).toContain('--set sidecars.image.registry=ghcr.io/owner\n');
  expect(text).toContain('--set image.registry=ghcr.io/owner\n');
  expect([...text.matchAll(/set image -n NAMESPACE (.*)$/gm)].map((match) => match[1])).toEqual([
    'deployment/NAME csi-provisioner=ghcr.io/owner/csi-provisioner:v1.2.3',
    'deployment/NAME csi-attacher=ghcr.io/owner/csi-attacher:v1.2.3',
    'deployment/NAME csi-resizer=ghcr.io/owner/csi-resizer:v1.2.3',
    'deployment/NAME csi-snapshotter=ghcr.io/owner/csi-snapshotter:v1.2.3',
    'deployment/NAME csi-external-health-monitor-controller=ghcr.io/owner/csi-external-health-monitor-controller:v1.2.3',
    'deployment/snapshot-controller snapshot-controller=ghcr.io/owner/snapshot-controller:v1.2.3',
    'deployment/NAME csi-snapshot-metadata=ghcr.io/owner/csi-snapshot-metadata:v1.2.3',
    'statefulset/volume-data-source-validator volume-data-source-validator=ghcr.io/owner/volume-data-source-validator:v1.2.3',
    'daemonset/NAME node-driver-registrar=ghcr.io/owner/csi-node-driver-registrar:v1.2.3',
    'daemonset/NAME liveness-probe=ghcr.io/owner/livenessprobe:v1.2.3',
  ]);
});
