// SPDX-License-Identifier: Apache-2.0
/** From the set of images to the layout: layers are made once and shared, labels say what they are. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, type Environment } from '../../scripts/cache-folder.ts';
import type { ProgramName } from '../../scripts/manifests.ts';
import { programContent } from './content/program-layer.ts';
import { runtimeContent } from './content/runtime-layer.ts';
import { spdxOf, type SpdxPackage } from './content/spdx.ts';
import { gzip, layerOf, zstd, type Compression, type Image, type Layer, type Platform } from './oci/layout.ts';
import { type BuildFacts, ownVersion } from './facts.ts';
import type { TarEntry } from './oci/tar.ts';
import type { DebianDeps } from './sources/debian.ts';
import { writeWhole } from './sources/node-release.ts';
import type { PlatformName } from './sources/pins.ts';
import { imageSet, tagOf, type ImageSpec } from './set.ts';

export interface BuildOptions {
  readonly facts: BuildFacts;
  readonly platforms: readonly PlatformName[];
  readonly debian: DebianDeps;
  /** Default: compressed again. */
  readonly compression?: Compression;
}

export interface BuiltImages {
  readonly images: readonly Image[];
  /** `<image>-<os>-<architecture>` -> its SPDX document. */
  readonly documents: ReadonlyMap<string, string>;
}

export const heapLimit = 'NODE_OPTIONS=--max-old-space-size-percentage=75';
export const searchPath = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const platforms: Readonly<Record<PlatformName, Platform>> = {
  'linux/amd64': { architecture: 'amd64', os: 'linux' },
  'linux/arm64': { architecture: 'arm64', os: 'linux', variant: 'v8' },
};

interface Part {
  readonly layer: Layer;
  readonly packages: readonly SpdxPackage[];
}

interface PlatformParts {
  readonly name: PlatformName;
  readonly runtime: Part;
  readonly programs: ReadonlyMap<ProgramName, Part>;
}

export async function buildImages({
  facts,
  platforms: wanted,
  debian,
  compression = gzip,
}: BuildOptions): Promise<BuiltImages> {
  const documents = new Map<string, string>();
  const perPlatform: PlatformParts[] = [];
  for (const name of wanted) {
    const runtime = await runtimePart(name, debian, compression);
    perPlatform.push({ name, runtime, programs: programParts(tagOf(facts.version), name, compression) });
  }
  const images = imageSet.map((spec): Image => {
    const { labels, annotations } = describedAs(spec, facts);
    return {
      reference: `${spec.name}:${tagOf(facts.version)}`,
      created: facts.created,
      annotations,
      platforms: perPlatform.map(({ name, runtime, programs }) => {
        const parts = [runtime, ...spec.programs.map((program) => programs.get(program)!)];
        const title = `${spec.name} ${tagOf(facts.version)} ${name}`;
        const packages = distinct(parts.flatMap((part) => part.packages));
        documents.set(`${spec.name}-${name.replace('/', '-')}`, spdxOf({ name: title, packages }));
        return {
          platform: platforms[name],
          layers: parts.map(({ layer }) => layer),
          entrypoint: [spec.entrypoint],
          env: [searchPath, heapLimit],
          labels,
        };
      }),
    };
  });
  return { images, documents };
}

async function runtimePart(platform: PlatformName, debian: DebianDeps, compression: Compression): Promise<Part> {
  const { entries, packages } = await runtimeContent(platform, debian);
  return { layer: layerOf(`Node.js ${debian.pins.node.version} and its libraries`, entries, compression), packages };
}

/** One layer per program; the combined image has them all, and so shares them with the others. */
function programParts(
  version: string,
  platform: PlatformName,
  compression: Compression,
): ReadonlyMap<ProgramName, Part> {
  return new Map(
    programNames.map((name) => {
      const { entries, packages } = programContent(name, version, platform);
      return [name, { layer: layerOf(`/${name}`, entries, compression), packages }];
    }),
  );
}

const programNames: readonly ProgramName[] = [...new Set(imageSet.flatMap(({ programs }) => programs))];

/** `runtime` and the programs -> the entries of their layers. */
export async function layerEntries(
  platform: PlatformName,
  debian: DebianDeps,
): Promise<ReadonlyMap<string, readonly TarEntry[]>> {
  const runtime = await runtimeContent(platform, debian);
  const version = tagOf(ownVersion());
  const programs = programNames.map((name) => [name, programContent(name, version, platform).entries] as const);
  return new Map<string, readonly TarEntry[]>([['runtime', runtime.entries], ...programs]);
}

/** Layers are compressed once per content and Node.js, in the cache. */
export function remembered(compression: Compression, env: Environment): Compression {
  const isZstd = compression.mediaType === zstd.mediaType;
  const [library, ending] = isZstd
    ? [`zstd-${process.versions['zstd']}`, 'zst']
    : [`zlib-${process.versions.zlib}`, 'gz'];
  return {
    mediaType: compression.mediaType,
    compress: (tar, diffId) => {
      const key = `${diffId.replace('sha256:', '')}-${library}-${process.arch}`;
      const path = join(cacheFolder(env), 'images', 'layers', `${key}.tar.${ending}`);
      if (!existsSync(path)) writeWhole(path, compression.compress(tar, diffId));
      return readFileSync(path);
    },
  };
}

function describedAs(
  { name, description, upstream }: ImageSpec,
  { version, created, revision, source }: BuildFacts,
): { readonly labels: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>> } {
  const oci = 'org.opencontainers.image';
  const annotations = {
    [`${oci}.title`]: name,
    [`${oci}.description`]: description,
    [`${oci}.version`]: tagOf(version),
    [`${oci}.revision`]: revision,
    ...(source !== undefined && { [`${oci}.source`]: source }),
    [`${oci}.licenses`]: 'Apache-2.0',
    [`${oci}.created`]: created,
    [`${oci}.vendor`]: 'csi-sidecars',
  };
  const own = {
    // Upstream's scripts read the first.
    revision,
    description,
    maintainers: 'The csi-sidecars authors',
    ...(upstream !== undefined && {
      'io.csi-sidecars.upstream.name': upstream.name,
      'io.csi-sidecars.upstream.version': upstream.version,
    }),
  };
  return { labels: { ...annotations, ...own }, annotations };
}

/** Programs share libraries. */
function distinct(packages: readonly SpdxPackage[]): readonly SpdxPackage[] {
  return [...new Map(packages.map((each) => [each.purl, each])).values()];
}
