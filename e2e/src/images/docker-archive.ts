// SPDX-License-Identifier: Apache-2.0
/**
 * Images without a container engine: a tar as `docker save` writes it, with a manifest, a configuration per image and the
 * layers, those that images share only once. Any runtime imports it.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tarOf, type TarEntry } from './tar.ts';

export interface Image {
  /** For example `example.com/name:tag`. */
  readonly reference: string;
  readonly layers: readonly Layer[];
  /** If empty, the command is given when the image is run. */
  readonly entrypoint: readonly string[];
  readonly env?: readonly string[];
}

export interface Layer {
  readonly digest: string;
  readonly content: Buffer;
}

export function layerOf(entries: readonly TarEntry[]): Layer {
  const content = tarOf(entries);
  return { digest: digestOf(content), content };
}

export function writeDockerArchive(path: string, images: readonly Image[]): void {
  const files = new Map<string, Uint8Array>();
  const manifest = images.map(({ reference, layers, entrypoint, env = [] }) => {
    const config = Buffer.from(
      JSON.stringify({
        os: 'linux',
        architecture: architectures[process.arch] ?? process.arch,
        created: '1970-01-01T00:00:00Z',
        config: { Entrypoint: entrypoint, Env: env, WorkingDir: '/' },
        rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
      }),
    );
    const configName = `${digestOf(config)}.json`;
    files.set(configName, config);
    for (const { digest, content } of layers) files.set(layerName(digest), content);
    return { Config: configName, RepoTags: [reference], Layers: layers.map(({ digest }) => layerName(digest)) };
  });
  files.set('manifest.json', Buffer.from(JSON.stringify(manifest)));
  writeFileSync(path, tarOf([...files].map(([name, content]) => ({ kind: 'file', path: name, content }))));
}

/** Node's names for what images call otherwise. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64' };

function layerName(digest: string): string {
  return `${digest}/layer.tar`;
}

function digestOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
