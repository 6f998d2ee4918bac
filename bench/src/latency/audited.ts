// SPDX-License-Identifier: Apache-2.0
import type { PersistentVolume } from '@csi-sidecars/runtime';

export const driver = 'bench.csi.example.com';

export function handleOf(at: number): string {
  return `vol-0123456789abcdef-${at}`;
}

export function volumeOf(at: number): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: `pvc-${at}`,
      uid: `uid-${at}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'pv.kubernetes.io/provisioned-by': driver },
    },
    spec: {
      capacity: { storage: '1Gi' },
      claimRef: { namespace: 'team', name: `data-${at}` },
      csi: { driver, volumeHandle: handleOf(at) },
    },
    status: { phase: 'Bound' },
  };
}
