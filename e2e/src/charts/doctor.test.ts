// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars doctor` over an installation of both charts. No kubelet runs here, so what only pods show is not looked at. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, inject, it } from 'vitest';
import { chartFolder } from './chart-copy.ts';
import { helm, kubectl, tryHelm } from './commands.ts';
import { createNamespace, emptyCluster, untilEstablished } from './releases.ts';

const main = join(import.meta.dirname, '..', '..', '..', 'packages', 'all-in-one', 'src', 'main.ts');

afterEach(async () => {
  await kubectl(['delete', 'csidriver,storageclass', '--all']);
  await emptyCluster();
});

interface Ended {
  readonly code: number | string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function doctor(...args: readonly string[]): Promise<Ended> {
  const { kubeconfig } = inject('cluster');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, 'doctor', `--kubeconfig=${kubeconfig}`, ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? undefined), stdout, stderr }),
    );
  });
}

const driver = {
  name: 'd.example.com',
  image: { repository: 'registry.example.com/driver', tag: 'v1.0.0' },
  controller: { args: ['--endpoint=$(CSI_ENDPOINT)'] },
  node: { args: ['--endpoint=$(CSI_ENDPOINT)'] },
};
const values = {
  driver,
  storageClasses: [
    {
      name: 'fast',
      default: true,
      allowVolumeExpansion: true,
      parameters: { 'csi.storage.k8s.io/fstype': 'ext4' },
    },
  ],
  volumeSnapshotClasses: [{ name: 'snap', default: true, deletionPolicy: 'Delete' }],
  volumeAttributesClasses: [{ name: 'gold', parameters: { iops: '1000' } }],
};

interface Diagnosis {
  readonly findings: readonly { readonly id: string; readonly severity: string; readonly mend: string }[];
  readonly notRun: readonly { readonly id: string }[];
  readonly cost: { readonly requests: number };
}

it('[explain#89] given both charts, freshly installed, when examined, then nothing is found; given roles that are bound no more, then the rights that are missing', async () => {
  const namespace = await createNamespace('privileged');
  await helm(['install', 'snapshots', chartFolder('snapshot-controller'), `--namespace=${namespace}`]);
  await untilEstablished();
  const input = JSON.stringify(values);
  const flags = [`--namespace=${namespace}`, '--values=-'];
  const installed = await tryHelm(['install', 'my', chartFolder('csi-driver'), ...flags], { input });
  expect(installed).toMatchObject({ code: 0, stderr: '' });
  expect(await doctor()).toEqual({ code: 0, stdout: 'd.example.com  0 error, 0 warn, 0 not run\n', stderr: '' });
  await kubectl(['delete', 'clusterrolebinding', '--selector=app.kubernetes.io/instance=my']);
  const { code, stdout } = await doctor('--output=json', '--only=rights');
  const { findings, notRun } = JSON.parse(stdout) as Diagnosis;
  // A driver that is being installed has warnings in place of errors.
  expect([code, notRun, new Set(findings.map(({ id, severity }) => `${severity} ${id}`))]).toEqual([
    3,
    [],
    new Set([
      'warn rights-1',
      'warn rights-2',
      'warn rights-3',
      'warn rights-4',

      'warn rights-8',
      'info rights-12',
    ]),
  ]);
});
