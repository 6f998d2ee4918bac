// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { isVolumeMount } from '../control-plane.ts';
import { clusterConfiguration, credentialsOf, processesIn, mountsIn } from './cluster.ts';

describe('clusterConfiguration', () => {
  it('given a folder for logs, then kubelet has its own folder under the same path here and there, shared both ways', () => {
    expect(JSON.parse(clusterConfiguration({ podLogs: '/tmp/x/pods' }))).toEqual({
      kind: 'Cluster',
      apiVersion: 'kind.x-k8s.io/v1alpha4',
      networking: { apiServerAddress: '127.0.0.1', apiServerPort: 6443 },
      nodes: [
        {
          role: 'control-plane',
          extraMounts: [
            { hostPath: '/var/lib/kubelet', containerPath: '/var/lib/kubelet', propagation: 'Bidirectional' },
            { hostPath: '/tmp/x/pods', containerPath: '/var/log/pods', propagation: 'Bidirectional' },
            { hostPath: '/dev', containerPath: '/dev' },
          ],
        },
      ],
    });
  });

  it('given an image for the node, then it is used', () => {
    const text = clusterConfiguration({ podLogs: '/tmp', nodeImage: 'kindest/node:v1.30.0' });
    expect(JSON.parse(text)).toMatchObject({ nodes: [{ image: 'kindest/node:v1.30.0' }] });
  });
});

describe('credentialsOf', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const kubeconfig = {
    clusters: [{ cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': base64('ca') } }],
    users: [{ user: { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') } }],
  };

  it('given the kubeconfig of kind, then server and certificates are read', () => {
    const { server, ca, cert, key } = credentialsOf(kubeconfig);
    expect([server, ca.toString(), cert.toString(), key.toString()]).toEqual([
      'https://127.0.0.1:6443',
      'ca',
      'cert',
      'key',
    ]);
  });

  it('given a kubeconfig without a client certificate, then the error names what is missing', () => {
    expect(() => credentialsOf({ ...kubeconfig, users: [] })).toThrow('has no client-certificate-data');
  });
});

it('given control groups of both versions, then the processes of a container are found by its id', () => {
  const cgroups = new Map([
    [1, '0::/init.scope'],
    [2, '0::/kubelet.slice/kubelet-kubepods.slice/cri-containerd-abc.scope'],
    [3, '11:memory:/docker/x/kubepods/pod1/abc\n1:name=systemd:/'],
  ]);
  expect(processesIn(cgroups, 'abc')).toEqual([2, 3]);
});

it("given a mount table, then the mounts below kubelet's folder are found, and which of them are CSI volumes", () => {
  const pod = '/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/pv/mount';
  const driver = '/var/lib/kubelet/plugins/kubernetes.io/csi/d/1/globalmount';
  const line = (path: string): string => `1 2 0:1 / ${path} rw - ext4 /dev/x rw`;
  const token = '/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/t';
  const text = [pod, driver, token, '/proc'].map(line).join('\n');
  expect(mountsIn(text)).toEqual([pod, driver, token]);
  expect(mountsIn(text).filter(isVolumeMount)).toEqual([pod, driver]);
});
