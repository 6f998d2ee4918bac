// SPDX-License-Identifier: Apache-2.0
import { aVolume } from './scripted-informer.ts';

/** `count` PersistentVolumes as events of a watch, a thousand per text; created again each time, as by a server. */
export function* manyVolumes(count: number): Iterable<string> {
  for (let from = 0; from < count; from += 1000) {
    const lines = Array.from({ length: Math.min(1000, count - from) }, (_, i) => {
      const n = from + i;
      const volume = aVolume(`pvc-0b7c1e2a-1111-4222-8333-${n}`, `${n + 1}`, {
        creationTimestamp: '2026-01-01T00:00:00Z',
        finalizers: ['kubernetes.io/pv-protection', 'external-attacher/disk-csi-example-com'],
        managedFields: [{ manager: 'csi-provisioner', operation: 'Update', fieldsV1: { 'f:spec': {} } }],
      });
      const csi = { driver: 'disk.csi.example.com', volumeHandle: `vol-0123456789abcdef-${n}`, fsType: 'ext4' };
      const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'team', name: `data-${n}`, uid: `0b7c1e2a-${n}` };
      return `${JSON.stringify({ type: 'ADDED', object: { ...volume, spec: { ...volume.spec, csi, claimRef } } })}\n`;
    });
    yield lines.join('');
  }
}
