// SPDX-License-Identifier: Apache-2.0
/**
 * Images as an OCI layout: an index with all of them, and every blob once, named by its digest. The files are a value, so that they
 * can be written as a folder (for `skopeo` and `crane`) or as one tar (for containerd), and be compared.
 */
import { createHash } from 'node:crypto';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { tarOf, type TarEntry } from './tar.ts';

export type Digest = `sha256:${string}`;

/** Names as images have them, not as Node.js does. */
export interface Platform {
  readonly os: 'linux';
  readonly architecture: 'amd64' | 'arm64';
  readonly variant?: 'v8';
}

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Layer {
  /** Its content in one phrase, for the image's history. */
  readonly title: string;
  /** Digest of the tar. */
  readonly diffId: Digest;
  readonly mediaType: string;
  /** The tar, compressed. */
  readonly content: Uint8Array;
}

export interface PlatformImage {
  readonly platform: Platform;
  readonly layers: readonly Layer[];
  /** If empty, the command is given when the image is run. */
  readonly entrypoint: readonly string[];
  readonly env: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface Image {
  /** For example `csi-attacher:v1.2.3`, unique in a layout. */
  readonly reference: string;
  /** ISO 8601, in seconds. */
  readonly created: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly platforms: readonly PlatformImage[];
}

export interface Layout {
  /** Path in the layout -> content. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Reference -> digest of the image's index. */
  readonly digests: ReadonlyMap<string, Digest>;
}

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
} as const;

export interface Compression {
  readonly mediaType: string;
  /** A caller may remember results by the digest of the tar. */
  compress(tar: Uint8Array, diffId: Digest): Uint8Array;
}

export const gzip: Compression = {
  mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
  compress: (tar) => gzipSync(tar, { level: 9 }),
};

/** A quarter smaller. Every container runtime of Kubernetes 1.30 and later reads it; not every registry and tool does. */
export const zstd: Compression = {
  mediaType: 'application/vnd.oci.image.layer.v1.tar+zstd',
  compress: (tar) => zstdCompressSync(tar, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
};

export function layerOf(title: string, entries: readonly TarEntry[], compression: Compression = gzip): Layer {
  const tar = tarOf(entries);
  const diffId = digestOf(tar);
  return { title, diffId, mediaType: compression.mediaType, content: compression.compress(tar, diffId) };
}

export function layoutOf(images: readonly Image[]): Layout {
  const files = new Map<string, Uint8Array>([['oci-layout', json({ imageLayoutVersion: '1.0.0' })]]);
  const add = (mediaType: string, content: Uint8Array): Descriptor => {
    const digest = digestOf(content);
    files.set(blobPath(digest), content);
    return { mediaType, digest, size: content.byteLength };
  };
  const indexes = images.map((image) => {
    const manifests = image.platforms.map((each) => ({
      ...add(mediaTypes.manifest, json(manifestOf(image, each, add))),
      platform: each.platform,
    }));
    const content = { schemaVersion: 2, mediaType: mediaTypes.index, manifests, annotations: image.annotations };
    return { reference: image.reference, descriptor: add(mediaTypes.index, json(content)) };
  });
  const references = new Set(indexes.map(({ reference }) => reference));
  if (references.size < images.length) throw new Error('two images of a layout have the same reference');
  const named = indexes.map(({ reference, descriptor }) => ({
    ...descriptor,
    // The first is for tools that follow the specification, the second is what containerd calls the image.
    annotations: {
      'org.opencontainers.image.ref.name': reference,
      'io.containerd.image.name': withRegistry(reference),
    },
  }));
  files.set('index.json', json({ schemaVersion: 2, mediaType: mediaTypes.index, manifests: named }));
  return { files, digests: new Map(indexes.map(({ reference, descriptor }) => [reference, descriptor.digest])) };
}

/** The whole layout as one file, for `ctr images import` and `kind load image-archive`. */
export function archiveOf({ files }: Layout): Buffer {
  return tarOf([...files].map(([path, content]) => ({ kind: 'file', path, content })));
}

/** kubelet asks containerd for `docker.io/library/a:1` where a pod names `a:1`. */
function withRegistry(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  if (rest.length === 0) return `docker.io/library/${reference}`;
  return /[.:]|^localhost$/.test(first) ? reference : `docker.io/${reference}`;
}

export function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

export function digestOf(content: Uint8Array): Digest {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function manifestOf(
  { created, annotations }: Image,
  { platform, layers, entrypoint, env, labels }: PlatformImage,
  add: (mediaType: string, content: Uint8Array) => Descriptor,
): object {
  const config = {
    created,
    ...platform,
    config: {
      ...(entrypoint.length > 0 && { Entrypoint: entrypoint }),
      Env: env,
      WorkingDir: '/',
      Labels: labels,
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ title }) => ({ created, created_by: title })),
  };
  return {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: add(mediaTypes.config, json(config)),
    layers: layers.map(({ mediaType, content }) => add(mediaType, content)),
    annotations,
  };
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
