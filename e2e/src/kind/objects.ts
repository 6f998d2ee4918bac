// SPDX-License-Identifier: Apache-2.0
/** What `npm run kind` deploys and creates: values of the charts, and the objects of a user. */
import type { Values } from '../deployment/values.ts';
import { aClaim, aSnapshot } from '../scenarios/objects.ts';
import { fromSnapshot } from '../scenarios/snapshots/steps.ts';
import { untilEnded } from '../workload/user-pods.ts';

/** In front of the names of images that were never pushed. */
export const imageRegistry = 'localhost/csi-sidecars';
const driverRepository = `${imageRegistry}/test-driver`;
const driverTag = 'demo';
export const driverReference: string = `${driverRepository}:${driverTag}`;
export const driverName = 'demo.csi-sidecars.example.com';
const className = 'demo';
const pullPolicy = 'Never';

/** The driver's storage is a folder of the node, which goes with the cluster; the controller's pod hands calls on to the node's driver. */
export function driverValues(tag: string): Values {
  return {
    driver: {
      name: driverName,
      image: { repository: driverRepository, tag: driverTag, pullPolicy },
      node: {
        args: ['--endpoint=$(CSI_ENDPOINT)', '--nodeid=$(NODE_ID)', `--drivername=${driverName}`],
        volumeMounts: [{ name: 'data', mountPath: '/csi-data-dir' }],
      },
      controller: {
        command: ['node', '/relay.mjs'],
        args: ['/csi/csi.sock', '/node/csi.sock'],
        volumeMounts: [{ name: 'node-socket', mountPath: '/node' }],
      },
    },
    csiDriver: { fsGroupPolicy: 'File' },
    sidecars: { image: { registry: imageRegistry, tag, pullPolicy }, implementation: 'csi-sidecars' },
    controller: { replicas: 1, extraVolumes: [hostPath('node-socket', `/var/lib/kubelet/plugins/${driverName}`)] },
    node: { extraVolumes: [hostPath('data', '/var/lib/csi-demo-data')] },
    storageClasses: [{ name: className, allowVolumeExpansion: true }],
    volumeSnapshotClasses: [{ name: className, deletionPolicy: 'Delete' }],
    test: { storageClass: className },
  };
}

export function snapshotControllerValues(tag: string): Values {
  return { image: { registry: imageRegistry, tag, pullPolicy }, controller: { replicas: 1 } };
}

function hostPath(name: string, path: string): object {
  return { name, hostPath: { path, type: 'DirectoryOrCreate' } };
}

export function claim(name: string, storage: string, snapshot?: string): object {
  const resources = { requests: { storage } };
  return aClaim(name, className, { resources, ...(snapshot !== undefined && fromSnapshot(snapshot)) });
}

export function snapshotOf(name: string, claimName: string): object {
  const source = { persistentVolumeClaimName: claimName };
  return aSnapshot(name, { volumeSnapshotClassName: className, source });
}

export const writeScript = 'dd if=/dev/urandom of=/data/file bs=1M count=16 conv=fsync status=none';

/** Ready when its script is through and it has said the checksum of /data/file; then it waits to be ended. */
export function pod(name: string, claimName: string, script?: string): object {
  const lines = [...(script === undefined ? [] : [script]), 'sha256sum /data/file', 'touch /tmp/done'];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 2,
      containers: [
        {
          name: 'main',
          image: driverReference,
          imagePullPolicy: pullPolicy,
          command: untilEnded(lines),
          readinessProbe: { exec: { command: ['test', '-e', '/tmp/done'] }, periodSeconds: 1 },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    },
  };
}
