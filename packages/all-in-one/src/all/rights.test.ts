// SPDX-License-Identifier: Apache-2.0
/** The rights of controllers that run in one process, under one account. */
import { serveCsi } from '@csi-sidecars/csi/testing';
import type { AccessRule } from '@csi-sidecars/runtime/testing';
import { freePort, settle, until } from '@csi-sidecars/runtime/testing';
import type { DrivenProgram } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { ask } from '../../testing/ask.ts';
import { healthy, runCombined } from '../../testing/run-all.ts';

/** Everything but the right to list and watch VolumeAttachments, which csi-attacher and csi-provisioner need. */
const everythingElse: readonly AccessRule[] = [
  { apiGroups: ['', 'snapshot.storage.k8s.io', 'coordination.k8s.io'], resources: ['*'], verbs: ['*'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses', 'csinodes', 'volumeattributesclasses'], verbs: ['*'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['*'] },
];
const both = ['--controllers=attacher,provisioner'];

const linesOf = ({ host }: DrivenProgram, wanted: string): readonly string[] =>
  host
    .logged()
    .split('\n')
    .filter((line) => line.includes(wanted));
const reviewsOf = ({ host }: DrivenProgram): number =>
  host.server.requests.filter(({ resource }) => resource === 'selfsubjectrulesreviews').length;

it('given a right that two controllers need and their account lacks, then each reports it with its name, in the log and in the metric', async () => {
  const port = await freePort();
  const args = [...both, `--http-endpoint=127.0.0.1:${port}`];
  await using program = await runCombined({ args, rules: everythingElse });
  await until(() => linesOf(program, 'Missing right').length === 2);
  const lines = linesOf(program, 'Missing right').toSorted();
  expect(lines[1]).toMatch(/list, watch volumeattachments.* nothing is attached or detached" controller="attacher"/);
  expect(lines[0]).toMatch(/list, watch volumeattachments.* no loop starts.*" controller="provisioner"/);
  const page = await ask(port, '/metrics');
  for (const controller of ['attacher', 'provisioner'])
    for (const verb of ['list', 'watch'])
      expect(page).toContain(
        `csi_sidecars_missing_rights{controller="${controller}",group="storage.k8s.io",resource="volumeattachments",verb="${verb}"} 1`,
      );
  expect(page.match(/^csi_sidecars_missing_rights/gm)).toHaveLength(4);
});

it('given a list that the shared caches are refused, then all controllers look again a minute later', async () => {
  await using program = await runCombined({ args: both, rules: everythingElse });
  await until(() => linesOf(program, 'Missing right').length === 2 && linesOf(program, 'Failed to list').length > 0);
  await settle();
  expect(reviewsOf(program)).toBe(2);
  await program.host.clock.advance(61_000);
  await until(() => reviewsOf(program) === 4);
  expect(linesOf(program, 'Missing right')).toHaveLength(2);
});

it('given another run of a controller, then its rights are looked at again, and what is known is not repeated', async () => {
  await using program = await runCombined({ args: ['--controllers=attacher'], rules: everythingElse });
  await until(() => linesOf(program, 'Missing right').length === 1);
  program.driver.stop();
  await until(() => linesOf(program, 'Lost connection').length > 0);
  const again = await serveCsi(healthy, program.driver.path);
  for (let second = 0; second < 30 && reviewsOf(program) < 2; second += 1) {
    await program.host.clock.advance(1_000);
    for (let turn = 0; turn < 10; turn += 1) await settle();
  }
  expect([reviewsOf(program), linesOf(program, 'Missing right').length]).toEqual([2, 1]);
  program.host.stop();
  await program.code;
  again.stop();
});

it('given --check-rights=false, then no controller looks', async () => {
  await using program = await runCombined({ args: [...both, '--check-rights=false'], rules: everythingElse });
  await until(() => linesOf(program, 'Failed to list').length > 0);
  await program.host.clock.advance(120_000);
  expect([reviewsOf(program), linesOf(program, 'Missing right')]).toEqual([0, []]);
});
