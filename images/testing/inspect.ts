// SPDX-License-Identifier: Apache-2.0
/** Reads a layout as a container runtime does: from the index to the entries of the layers. */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { blobPath, digestOf, type Descriptor, type Layout, type Platform } from '../src/oci/layout.ts';
import { entriesOf, type TarEntry } from '../src/oci/tar.ts';

export interface InspectedLayer {
  readonly digest: string;
  /** Compressed. */
  readonly size: number;
  readonly entries: readonly TarEntry[];
}

/** One image for one platform. */
export interface Inspected {
  readonly name: string;
  readonly platform: Platform;
  /** `linux/amd64` */
  readonly platformName: string;
  readonly created: string;
  readonly config: {
    readonly Entrypoint?: readonly string[];
    readonly Env: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly annotations: Readonly<Record<string, string>>;
  readonly indexAnnotations: Readonly<Record<string, string>>;
  readonly layers: readonly InspectedLayer[];
}

interface Index {
  readonly manifests: readonly Descriptor[];
  readonly annotations: Readonly<Record<string, string>>;
}
interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly annotations: Readonly<Record<string, string>>;
}
interface Config {
  readonly created: string;
  readonly os: string;
  readonly architecture: string;
  readonly config: Inspected['config'];
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

/** Throws where a digest or a size does not fit its content. */
export function inspect({ files }: Layout): readonly Inspected[] {
  const layers = new Map<string, InspectedLayer>();
  const blob = ({ digest, size }: Descriptor): Uint8Array => {
    const content = files.get(blobPath(digest));
    if (content === undefined) throw new Error(`${digest} is not in the layout`);
    if (digestOf(content) !== digest || content.byteLength !== size) throw new Error(`${digest} has another content`);
    return content;
  };
  const read = (descriptor: Descriptor): unknown => JSON.parse(Buffer.from(blob(descriptor)).toString());
  const layerOf = (descriptor: Descriptor, diffId: string | undefined): InspectedLayer => {
    const known = layers.get(descriptor.digest);
    if (known !== undefined) return known;
    const unpack = descriptor.mediaType.endsWith('+zstd') ? zstdDecompressSync : gunzipSync;
    const tar = unpack(blob(descriptor));
    if (digestOf(tar) !== diffId) throw new Error(`${descriptor.digest} is not the layer ${diffId}`);
    const layer = { digest: descriptor.digest, size: descriptor.size, entries: entriesOf(tar) };
    layers.set(descriptor.digest, layer);
    return layer;
  };
  const { manifests: images } = JSON.parse(Buffer.from(files.get('index.json')!).toString()) as Index;
  return images.flatMap((image) => {
    const { manifests, annotations: indexAnnotations } = read(image) as Index;
    return manifests.map((descriptor): Inspected => {
      const { config: configAt, layers: layersAt, annotations } = read(descriptor) as Manifest;
      const { created, config, os, architecture, rootfs } = read(configAt) as Config;
      return {
        name: image.annotations!['org.opencontainers.image.ref.name']!.replace(/:.*/, ''),
        platform: descriptor.platform!,
        platformName: `${os}/${architecture}`,
        created,
        config,
        annotations,
        indexAnnotations,
        layers: layersAt.map((layer, index) => layerOf(layer, rootfs.diff_ids[index])),
      };
    });
  });
}
