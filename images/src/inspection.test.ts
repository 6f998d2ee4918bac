// SPDX-License-Identifier: Apache-2.0
/**
 * The images as they are released, looked at from outside: files, configuration, platforms, sizes, documents, and that a second build
 * has the same digests. Needs `npm run build`, and downloads Node.js and Debian's libraries for each platform once.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildImages, remembered, type BuiltImages } from './build.ts';
import type { BuildFacts } from './facts.ts';
import { gzip, layoutOf, type Compression, type Layout } from './oci/layout.ts';
import { inspect, type Inspected } from '../testing/inspect.ts';
import { repositoryRoot } from './repository.ts';
import { imageSet } from './set.ts';
import { platformNames, readPins, type PlatformName } from './sources/pins.ts';

const facts: BuildFacts = {
  version: '1.2.3',
  created: '2026-11-23T04:05:06Z',
  revision: 'c0ffee'.padEnd(40, '0'),
  source: 'https://example.com/csi-sidecars',
};
const minutes = 60_000;

/** The files of every image, for Node.js on x86-64. */
const runtimeFiles = (folder: string, loader: string): readonly string[] => [
  'etc/group',
  'etc/nsswitch.conf',
  'etc/passwd',
  'etc/ssl/certs/ca-certificates.crt',
  loader,
  ...['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libstdc++.so.6'].map(
    (name) => `${folder}/${name}`,
  ),
  'nodejs/bin/node',
  'tmp/',
  'usr/share/doc/libc6/copyright',
  'usr/share/doc/libgcc-s1/copyright',
  'usr/share/doc/libstdc++6/copyright',
  'usr/share/doc/node/LICENSE',
  'usr/share/doc/node/sbom.spdx.json',
];
const runtime: Readonly<Record<PlatformName, readonly string[]>> = {
  'linux/amd64': runtimeFiles('lib/x86_64-linux-gnu', 'lib64/ld-linux-x86-64.so.2'),
  'linux/arm64': runtimeFiles('lib/aarch64-linux-gnu', 'lib/ld-linux-aarch64.so.1'),
};
/** As Node.js calls the processor of the build. */
const builtOn = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
/** The program that combines the others has one for nodes as well, and one for the commands of people. */
const bundlesOf = (name: string): readonly string[] =>
  name === 'csi-sidecars' ? [name, `${name}-node`, `${name}-commands`] : [name];
/** Programs with controllers have a bundle for traces, which is loaded so seldom that it has no cache. */
const hasTraces = (name: string): boolean => !/registrar|livenessprobe|webhook|snapshot-metadata/.test(name);
const programFiles = (name: string, architecture: string): readonly string[] => [
  name,
  ...bundlesOf(name).flatMap((bundle) => [
    `${bundle}.js`,
    ...(architecture === builtOn ? [`${bundle}.${process.arch}.cache`] : []),
  ]),
  ...(hasTraces(name) ? [`${name}-tracing.js`] : []),
  ...['LICENSE', 'THIRD-PARTY-NOTICES', 'sbom.spdx.json'].map((file) => `usr/share/doc/${name}/${file}`),
];

describe.runIf(existsSync(join(repositoryRoot, 'dist/bin/csi-attacher')))('the images', () => {
  let built: BuiltImages;
  let layout: Layout;
  let all: readonly Inspected[];
  const build = async (compression: Compression): Promise<BuiltImages> =>
    await buildImages({
      facts,
      platforms: platformNames,
      debian: { env: process.env, pins: readPins(), pinned: 'preferred', report: () => undefined },
      compression,
    });
  const of = (name: string): readonly Inspected[] => all.filter((each) => each.name === name);

  beforeAll(async () => {
    built = await build(remembered(gzip, process.env));
    layout = layoutOf(built.images);
    all = inspect(layout);
  }, 10 * minutes);

  it(
    'given a second build that compresses everything again, then every digest is the same',
    async () => {
      const again = layoutOf((await build(gzip)).images);
      expect([...again.digests]).toEqual([...layout.digests]);
      expect([...again.files.keys()].toSorted()).toEqual([...layout.files.keys()].toSorted());
      expect(again.digests.size).toBe(imageSet.length);
    },
    10 * minutes,
  );

  it('[packaging#15] given an index, when a node of amd64, arm64 or Windows resolves it, then the first two find an image', () => {
    for (const { name } of imageSet) {
      expect(of(name).map(({ platform }) => platform)).toEqual([
        { os: 'linux', architecture: 'amd64' },
        { os: 'linux', architecture: 'arm64', variant: 'v8' },
      ]);
    }
  });

  it.each(platformNames)(
    'given the images for %s, then the first layer is the same in all, and it is the runtime',
    (platform) => {
      const first = all.filter((each) => each.platformName === platform).map(({ layers }) => layers[0]!);
      expect(first).toHaveLength(imageSet.length);
      expect(new Set(first.map(({ digest }) => digest)).size).toBe(1);
      expect(
        first[0]!.entries
          .map(({ path, kind }) => `${path}${kind === 'folder' ? '/' : ''}`)
          .filter(isLeaf)
          .toSorted(),
      ).toEqual(runtime[platform].toSorted());
    },
  );

  it.each(imageSet)(
    'given $name, then above the runtime are the programs with their documents, and nothing else',
    ({ name, programs }) => {
      for (const { layers, platform } of of(name)) {
        const paths = layers
          .slice(1)
          .flatMap(({ entries }) => entries.filter(({ kind }) => kind !== 'folder').map(({ path }) => path));
        const inPath = name === 'csi-sidecars' ? ['usr/bin/csi-sidecars'] : [];
        expect(paths.toSorted()).toEqual(
          [...programs.flatMap((program) => programFiles(program, platform.architecture)), ...inPath].toSorted(),
        );
      }
    },
  );

  it.each(imageSet)(
    'given $name, then its program layers are the same on all platforms, but for the code cache of the one that they were built on',
    ({ name }) => {
      const [amd64, arm64] = of(name).map(({ layers }) =>
        layers.slice(1).map(({ entries }) => entries.filter(({ path }) => !path.endsWith('.cache'))),
      );
      expect(amd64).toEqual(arm64);
    },
  );

  it('given the combined image, then it shares the layer of each program with the image of that program', () => {
    const shared = imageSet.slice(0, -1).map(({ name }) => of(name)[0]!.layers[1]!.digest);
    const combined = of('csi-sidecars')[0]!.layers.map(({ digest }) => digest);
    expect(combined.slice(1, -1)).toEqual(shared);
  });

  it.each(imageSet)(
    'given $name, then its configuration has the exact entrypoint, no command, no user, and the heap flag',
    ({ name, entrypoint }) => {
      for (const { config } of of(name)) {
        expect(config).toEqual({
          Entrypoint: [entrypoint],
          Env: [
            'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
            'NODE_OPTIONS=--max-old-space-size-percentage=75',
          ],
          WorkingDir: '/',
          Labels: config.Labels,
        });
      }
    },
  );

  it('given csi-attacher, then labels and annotations say what it is, from which commit, and what it stands in for', () => {
    const annotations = {
      'org.opencontainers.image.title': 'csi-attacher',
      'org.opencontainers.image.description': 'CSI sidecar that attaches volumes to nodes and detaches them',
      'org.opencontainers.image.version': 'v1.2.3',
      'org.opencontainers.image.revision': facts.revision,
      'org.opencontainers.image.source': 'https://example.com/csi-sidecars',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.created': '2026-11-23T04:05:06Z',
      'org.opencontainers.image.vendor': 'csi-sidecars',
    };
    for (const image of of('csi-attacher')) {
      expect(image.annotations).toEqual(annotations);
      expect(image.indexAnnotations).toEqual(annotations);
      expect(image.created).toBe('2026-11-23T04:05:06Z');
      expect(image.config.Labels).toEqual({
        ...annotations,
        revision: facts.revision,
        description: annotations['org.opencontainers.image.description'],
        maintainers: 'The csi-sidecars authors',
        'io.csi-sidecars.upstream.name': 'external-attacher',
        'io.csi-sidecars.upstream.version': 'v4.13.0',
      });
    }
  });

  it('given all entries, then none may be written by others but /tmp, and none has a set-user-id bit', () => {
    const entries = all.flatMap(({ layers }) => layers.flatMap((layer) => layer.entries));
    const modeOf = (entry: (typeof entries)[number]): number => (entry.kind === 'link' ? 0 : (entry.mode ?? 0));
    expect([...new Set(entries.filter((entry) => (modeOf(entry) & 0o022) !== 0).map(({ path }) => path))]).toEqual([
      'tmp',
    ]);
    expect(entries.filter((entry) => (modeOf(entry) & 0o6000) !== 0)).toEqual([]);
    const programs = entries.filter(({ path }) => imageSet.some(({ entrypoint }) => entrypoint === `/${path}`));
    expect(new Set(programs.map(modeOf))).toEqual(new Set([0o755]));
  });

  it('given a program, then the kernel finds its interpreter in the image, and no path of the build is in it', () => {
    for (const { name } of imageSet.slice(0, -1)) {
      const [program] = of(name)[0]!.layers[1]!.entries.filter(({ path }) => path === name);
      const text = Buffer.from((program as { readonly content: Uint8Array }).content).toString();
      expect(text.slice(0, text.indexOf('\n'))).toBe('#!/nodejs/bin/node');
      expect(text).not.toContain(repositoryRoot);
      expect(text).not.toContain('sourceMappingURL');
    }
  });

  it('given the budgets, then an image has at most 55 MB, its runtime 52 MB and a program 2 MB', () => {
    for (const { layers } of all) {
      const [first, ...programs] = layers.map(({ size }) => size / 1e6);
      expect(first).toBeLessThan(52);
      expect(Math.max(...programs)).toBeLessThan(2);
      expect(first! + programs.reduce((sum, size) => sum + size, 0)).toBeLessThan(55);
    }
  });

  it.each(platformNames)(
    'given an image for %s, then its SPDX document names Node.js, the libraries with their files, and what npm brought',
    (platform) => {
      const document = JSON.parse(built.documents.get(`csi-attacher-${platform.replace('/', '-')}`)!) as {
        readonly packages: readonly { readonly name: string; readonly versionInfo?: string }[];
        readonly files: readonly { readonly fileName: string }[];
      };
      const names = document.packages.map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(['node', 'libc6', 'libgcc-s1', 'libstdc++6', 'csi-attacher', '@grpc/grpc-js']),
      );
      expect(document.packages.find(({ name }) => name === 'node')?.versionInfo).toBe(readPins().node.version);
      const runtimeBinaries = runtime[platform].filter((path) => /^(?:lib|nodejs)/.test(path));
      expect(document.files.map(({ fileName }) => fileName).toSorted()).toEqual(
        runtimeBinaries.map((path) => `./${path}`).toSorted(),
      );
    },
  );
});

/** Files, links, and folders that are not there only because of what is in them. */
function isLeaf(path: string): boolean {
  return !path.endsWith('/') || path === 'tmp/';
}
