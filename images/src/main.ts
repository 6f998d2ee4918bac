// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run images`: writes all images as one OCI layout, their SPDX documents, and a list of what was written, to dist/images. No
 * container engine is needed. `--push=<registry>` pushes them besides. `--trees=<folder>` writes each layer as a folder instead, for images/Dockerfile; `--update-pins` renews
 * pins.json, `--fetch` only fills the cache, `--only-pinned` takes no other package of Debian than the pinned one, and `--check-node=<file>` compares an official binary with the pins.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setGlobalProxyFromEnv } from 'node:http';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildImages, layerEntries, remembered } from './build.ts';
import { runtimeContent } from './content/runtime-layer.ts';
import { factsOf } from './facts.ts';
import { archiveOf, blobPath, digestOf, gzip, layoutOf, zstd, type Compression, type Layout } from './oci/layout.ts';
import { writeTree } from './oci/tree.ts';
import { createClient } from './registry/client.ts';
import { credentialsFor } from './registry/credentials.ts';
import { nextSteps } from './registry/next-steps.ts';
import { checkRegistry, pushImages, type PushDeps, type PushedImage } from './registry/push.ts';
import { parseTarget, type Target } from './registry/target.ts';
import { repositoryRoot } from './repository.ts';
import { compatibleTagOf, imageSet, tagOf } from './set.ts';
import type { DebianDeps } from './sources/debian.ts';
import { platformNames, readPins, type PlatformName } from './sources/pins.ts';
import { updatePins } from './sources/update-pins.ts';

const usage = `usage: npm run images -- [--platform=linux/amd64]... [--output=folder] [--archive=file] [--compression=gzip|zstd] [--only-pinned]
                         [--push=registry[/path] [--insecure]]
       npm run images -- --platform=linux/amd64 --trees=folder
       npm run images -- --fetch
       npm run images -- --update-pins
       npm run images -- --platform=linux/amd64 --check-node=file
`;
const report = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  await main();
} catch (error) {
  for (let each: unknown = error; each instanceof Error; each = each.cause) process.stderr.write(`${each.message}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      platform: { type: 'string', multiple: true, default: [...platformNames] },
      output: { type: 'string', default: join(repositoryRoot, 'dist', 'images') },
      archive: { type: 'string' },
      push: { type: 'string' },
      insecure: { type: 'boolean', default: false },
      trees: { type: 'string' },
      fetch: { type: 'boolean', default: false },
      compression: { type: 'string', default: 'gzip' },
      'only-pinned': { type: 'boolean', default: false },
      'update-pins': { type: 'boolean', default: false },
      'check-node': { type: 'string' },
    },
  });
  const platforms = values.platform.map(platformNamed);
  useProxies();
  if (values['update-pins']) return await updatePins({ env: process.env, report });
  if (values['check-node'] !== undefined) return checkNode(values['check-node'], platforms);
  const debian: DebianDeps = {
    env: process.env,
    pins: readPins(),
    report,
    pinned: values['only-pinned'] ? 'required' : 'preferred',
  };
  if (values.fetch) return await fetch(platforms, debian);
  if (values.trees !== undefined) return await writeTrees(values.trees, platforms, debian);
  // Before minutes are spent on the build.
  const { push, insecure } = values;
  if (push === undefined && insecure) throw new Error('--insecure belongs to --push');
  const compression = compressionNamed(values.compression);
  const registry = push === undefined ? undefined : await openRegistry(parseTarget(push, { insecure }));
  const { layout, list } = await write({
    platforms,
    debian,
    compression,
    output: values.output,
    archive: values.archive,
  });
  if (registry === undefined) return;
  await pushImages(layout, list, { ...registry, report });
  report(nextSteps(registry.target, list));
}

async function openRegistry(target: Target): Promise<Omit<PushDeps, 'report'>> {
  const credentials = await credentialsFor(target.host, process.env);
  const registry = { target, credentials, client: createClient({ target, credentials }) };
  await checkRegistry(registry);
  return registry;
}

/** Those that the environment names, except for registries on this machine. */
function useProxies(): void {
  const { no_proxy: small, NO_PROXY: capital } = process.env;
  const around = [small ?? capital ?? '', 'localhost', '127.0.0.1', '::1'].filter((part) => part !== '').join(',');
  setGlobalProxyFromEnv({ ...process.env, no_proxy: around, NO_PROXY: around });
}

interface Written {
  readonly layout: Layout;
  readonly list: readonly PushedImage[];
}

interface Output {
  readonly platforms: readonly PlatformName[];
  readonly debian: DebianDeps;
  readonly compression: Compression;
  readonly output: string;
  /** The layout as one tar, besides. */
  readonly archive: string | undefined;
}

async function write({ platforms, debian, compression, output, archive }: Output): Promise<Written> {
  const facts = factsOf(process.env);
  const { images, documents } = await buildImages({
    facts,
    platforms,
    debian,
    compression: remembered(compression, process.env),
  });
  const layout = layoutOf(images);
  rmSync(output, { recursive: true, force: true });
  for (const [path, content] of layout.files) put(join(output, 'layout', path), content);
  for (const [name, text] of documents) put(join(output, 'sbom', `${name}.spdx.json`), Buffer.from(text));
  const list = imageSet.map((spec) => {
    const reference = `${spec.name}:${tagOf(facts.version)}`;
    const digest = layout.digests.get(reference)!;
    const tags = [tagOf(facts.version), compatibleTagOf(spec, facts.version)].filter((tag) => tag !== undefined);
    const found = manifestsOf(digest, layout.files);
    const manifests = Object.fromEntries(platforms.map((platform, index) => [platform, found[index]!.digest]));
    const megabytes = found.map(({ size }) => (size / 1e6).toFixed(1)).join(' and ');
    report(`${reference} ${digest} ${megabytes} MB`);
    return { name: spec.name, reference, tags, digest, manifests };
  });
  put(join(output, 'images.json'), Buffer.from(`${JSON.stringify(list, undefined, 2)}\n`));
  if (archive !== undefined) put(archive, archiveOf(layout));
  return { layout, list };
}

/** The manifests of an image in the order of its platforms, with the size of all layers, which a node without any of them pulls. */
function manifestsOf(
  index: string,
  files: ReadonlyMap<string, Uint8Array>,
): readonly { readonly digest: string; readonly size: number }[] {
  const read = (digest: string): unknown => JSON.parse(Buffer.from(files.get(blobPath(digest))!).toString());
  const { manifests } = read(index) as { readonly manifests: readonly { readonly digest: string }[] };
  return manifests.map(({ digest }) => {
    const { layers } = read(digest) as { readonly layers: readonly { readonly size: number }[] };
    return { digest, size: layers.reduce((sum, { size }) => sum + size, 0) };
  });
}

/** Fills the cache, for a machine that cannot ask Debian: it is done in a container of Debian that shares the folder. */
async function fetch(platforms: readonly PlatformName[], debian: DebianDeps): Promise<void> {
  for (const platform of platforms) await runtimeContent(platform, debian);
}

async function writeTrees(folder: string, platforms: readonly PlatformName[], debian: DebianDeps): Promise<void> {
  const [platform, ...others] = platforms;
  if (platform === undefined || others.length > 0) throw new Error('--trees needs exactly one --platform');
  for (const [name, entries] of await layerEntries(platform, debian)) writeTree(join(folder, name), entries);
}

/** For public CI, which can download the official archive: npm's binary is the official one exactly if this succeeds. */
function checkNode(path: string, platforms: readonly PlatformName[]): void {
  const pins = readPins();
  const found = digestOf(readFileSync(path)).replace('sha256:', '');
  const expected = platforms.map((platform) => pins.node.platforms[platform].sha256);
  if (expected.length !== 1) throw new Error('--check-node needs exactly one --platform');
  if (found !== expected[0]) throw new Error(`${path} has the checksum ${found}, and ${expected[0]} is pinned`);
  report(`${path} is the pinned Node.js ${pins.node.version} for ${platforms[0]}`);
}

function compressionNamed(name: string): Compression {
  if (name === 'gzip') return gzip;
  if (name === 'zstd') return zstd;
  throw new Error(`unknown compression ${name}; known: gzip, zstd\n${usage}`);
}

function platformNamed(name: string): PlatformName {
  const found = platformNames.find((each) => each === name);
  if (found !== undefined) return found;
  throw new Error(`unknown platform ${name}; known: ${platformNames.join(', ')}\n${usage}`);
}

function put(path: string, content: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
