// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createComponent } from '../local/component.ts';
import { kubeletPlan } from './kubelet.ts';

let work: string;
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'kubelet-test-'));
});
afterEach(() => rmSync(work, { recursive: true, force: true }));

const plan = () =>
  kubeletPlan({
    work,
    nodeName: 'node-1',
    kubeconfig: '/kubeconfig',
    caFile: '/ca.crt',
    cgroup: '/group',
    ports: { kubelet: 1, kubeletHealth: 1 },
  });

it('[packaging#52] given a machine with control groups of version 1, when kubelet is configured, then it is asked to run all the same', () => {
  const [file = ''] = plan().args.flatMap((arg) => /^--config=(.*)$/.exec(arg)?.[1] ?? []);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ kind: 'KubeletConfiguration', failCgroupV1: false });
});

it('[packaging#52] given a kubelet that refuses the control groups of the machine, when it is started, then the run ends with its words', async () => {
  const words = 'kubelet is configured to not run on a host using cgroup v1';
  const kubelet = createComponent(
    { ...plan(), args: ['-c', `echo "${words}" >&2; exit 1`] },
    { clock: systemClock(), command: 'sh', logFile: join(work, 'kubelet.log') },
  );
  await expect(kubelet.start()).rejects.toThrow(new RegExp(`^kubelet ended \\(exit code 1 .*\\n${words}$`, 's'));
});
