// SPDX-License-Identifier: Apache-2.0
/** The charts as the release workflow packages them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';
import { tagOf } from '../../../../images/src/set.ts';
import { runCommand } from '../../../testing/command.ts';
import { chartsFolder, hasHelm, helmPath, render } from '../../../testing/helm.ts';
import { containersOf, isWorkload, podOf } from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';

const root = join(chartsFolder, '..');

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

function packaging(): string {
  const { jobs } = load(readFileSync(join(root, '.github', 'workflows', 'release.yml'), 'utf8')) as Workflow;
  const commands = jobs['charts']!.steps.map(({ run = '' }) => run).join('\n');
  return /for chart in[\s\S]*?\ndone\n/.exec(commands)![0];
}

it.skipIf(!hasHelm)(
  'given a tag, when the workflow packages the charts, then their images have the tag that the workflow has given to the images',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chart-release-'));
    try {
      const env = {
        PATH: [dirname(helmPath), process.env['PATH']].join(delimiter),
        HOME: folder,
        GITHUB_REF_NAME: 'v1.2.3',
        RUNNER_TEMP: folder,
      };
      const { code, stderr } = await runCommand('bash', ['-c', `cd '${root}'\n${packaging()}`], { env });
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      for (const chart of ['csi-driver', 'snapshot-controller']) {
        const packed = await runCommand('tar', [
          '--list',
          '--gzip',
          '--file',
          join(folder, 'charts', `${chart}-1.2.3.tgz`),
        ]);
        // All that is packed is also in the Secret of every release.
        expect(packed.stdout.split('\n').filter((path) => /\/(tests|ci)\//.test(path))).toEqual([]);
        const files = valuesFiles(chart).filter(({ name }) => name === 'minimal');
        const objects = await render({
          chart: join(folder, 'charts', `${chart}-1.2.3.tgz`),
          files: files.map(({ path }) => path),
        });
        const images = objects
          .filter(isWorkload)
          .flatMap((each) => containersOf(podOf(each)).map(({ image }) => image));
        const ours = images.filter((image) => !image.includes('/'));
        expect(ours.length).toBeGreaterThan(0);
        expect(ours.filter((image) => !image.endsWith(`:${tagOf('1.2.3')}`))).toEqual([]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
