// SPDX-License-Identifier: Apache-2.0
/** The charts as the release workflow packages them. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imageSet, tagOf } from '../../../../images/src/set.ts';
import { runCommand } from '../../../testing/command.ts';
import { chartsFolder, hasHelm, helmPath, render } from '../../../testing/helm.ts';
import { containersOf, isWorkload, podOf } from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';

const root = join(chartsFolder, '..');
const registry = 'ghcr.io/owner';
const digests: Readonly<Record<string, string>> = Object.fromEntries(
  imageSet.map(({ name }, index) => [name, `sha256:${String(index).padStart(64, '0')}`]),
);
const pinned = (name: string): string => `${registry}/${name}@${digests[name]}`;

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

function packaging(): string {
  const { jobs } = load(readFileSync(join(root, '.github', 'workflows', 'release.yml'), 'utf8')) as Workflow;
  const commands = jobs['charts']!.steps.map(({ run = '' }) => run).join('\n');
  return /echo "\$IMAGES"[\s\S]*?\ndone\n/.exec(commands)![0];
}

describe.skipIf(!hasHelm)('charts of a release', () => {
  let folder: string;
  const packed = (chart: string): string => join(folder, 'charts-packed', 'charts', `${chart}-1.2.3.tgz`);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'chart-release-'));
    for (const name of ['package.json', 'scripts', 'node_modules']) symlinkSync(join(root, name), join(folder, name));
    for (const chart of ['csi-driver', 'snapshot-controller']) {
      cpSync(join(chartsFolder, chart), join(folder, 'charts', chart), { recursive: true });
    }
    const env = {
      PATH: [dirname(helmPath), process.env['PATH']].join(delimiter),
      HOME: folder,
      GITHUB_REF_NAME: 'v1.2.3',
      REGISTRY: 'ghcr.io/Owner',
      RUNNER_TEMP: join(folder, 'charts-packed'),
      IMAGES: JSON.stringify(Object.entries(digests).map(([name, digest]) => ({ name, digest }))),
    };
    const script = `cd '${folder}'\nmkdir "$RUNNER_TEMP"\n${packaging()}`;
    const { code, stderr } = await runCommand('bash', ['-e', '-c', script], { env });
    expect([code, stderr]).toEqual([0, expect.any(String)]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function imagesOf(chart: string, values: object = {}): Promise<ReadonlySet<string>> {
    const files = valuesFiles(chart).filter(({ name }) => name === 'minimal');
    const objects = await render({ chart: packed(chart), files: files.map(({ path }) => path), values });
    return new Set(
      objects.filter(isWorkload).flatMap((object) => containersOf(podOf(object)).map(({ image }) => image)),
    );
  }
  const oursOf = async (chart: string, values?: object): Promise<readonly string[]> =>
    [...(await imagesOf(chart, values))].filter((image) => imageSet.some(({ name }) => image.includes(`/${name}`)));

  it.each(['csi-driver', 'snapshot-controller'])(
    'given a tag, when the workflow packages %s, then the package has neither tests nor their values, since all of it is also in the Secret of every release',
    async (chart) => {
      const { stdout } = await runCommand('tar', ['--list', '--gzip', '--file', packed(chart)]);
      const paths = stdout.split('\n');
      expect(paths).toContain(`${chart}/files/released-images.yaml`);
      expect(paths.filter((path) => /\/(tests|ci)\//.test(path))).toEqual([]);
    },
  );

  it('given a released chart with no value about images, then every image of ours is pinned by the digest that was pushed', async () => {
    expect(new Set(await oursOf('csi-driver'))).toEqual(
      new Set(
        ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'livenessprobe', 'csi-node-driver-registrar'].map(pinned),
      ),
    );
    expect(await oursOf('snapshot-controller', { webhook: { enabled: true } })).toEqual(
      expect.arrayContaining(['snapshot-controller', 'snapshot-conversion-webhook'].map(pinned)),
    );
    expect(await oursOf('csi-driver', { sidecars: { combined: { enabled: true } } })).toContain(pinned('csi-sidecars'));
  });

  it('given a mirror in front of all registries, then the digests stay, since a mirror that is pulled through serves the same content', async () => {
    const global = { imageRegistry: 'mirror.example.com' };
    expect(await oursOf('csi-driver', { global })).toContain(`mirror.example.com/${pinned('csi-provisioner')}`);
    expect(await oursOf('snapshot-controller', { global })).toEqual([
      `mirror.example.com/${pinned('snapshot-controller')}`,
    ]);
  });

  it.each([
    ['a registry', { registry: 'registry.example.com' }, `registry.example.com/csi-provisioner:${tagOf('1.2.3')}`],
    ['a tag', { tag: 'v9' }, `${registry}/csi-provisioner:v9`],
  ])(
    'given a released chart and %s for all sidecars, then no digest of the release overrules it',
    async (_, image, wanted) => {
      const images = await oursOf('csi-driver', { sidecars: { image } });
      expect(images).toContain(wanted);
      expect(images.filter((name) => name.includes('@'))).toEqual([]);
    },
  );

  it.each([
    ['a registry', { registry: 'registry.example.com' }, `registry.example.com/csi-provisioner:${tagOf('1.2.3')}`],
    ['a tag', { tag: 'v9' }, `${registry}/csi-provisioner:v9`],
    ['a repository', { repository: 'mine/csi-provisioner' }, `mine/csi-provisioner:${tagOf('1.2.3')}`],
    ['a digest', { digest: `sha256:${'f'.repeat(64)}` }, `${registry}/csi-provisioner@sha256:${'f'.repeat(64)}`],
  ])(
    'given a released chart and %s for one sidecar, then it is used, and the others stay pinned',
    async (_, image, wanted) => {
      const images = await oursOf('csi-driver', { sidecars: { provisioner: { image } } });
      expect(images).toContain(wanted);
      expect(images).toContain(pinned('csi-attacher'));
    },
  );

  it.each([
    ['its registry', { image: { registry: 'registry.k8s.io/sig-storage' } }, 'registry.k8s.io/sig-storage/'],
    ['a value that names nothing else', { implementation: 'upstream' }, 'registry.k8s.io/sig-storage/'],
  ])(
    "given a released chart and upstream's images by %s, then the release's registry and digests are not theirs",
    async (_, sidecars, prefix) => {
      const images = await imagesOf('csi-driver', { sidecars });
      expect(images).toContain(`${prefix}csi-provisioner:v6.4.0`);
      expect([...images].filter((image) => image.startsWith(registry))).toEqual([]);
    },
  );
});
