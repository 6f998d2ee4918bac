// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { layerOf, writeDockerArchive } from './docker-archive.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('given two images that share a layer, then it is in the archive once and both name it by its digest', () => {
  const shared = layerOf([{ kind: 'folder', path: 'tmp' }]);
  const own = layerOf([{ kind: 'file', path: 'program', content: Buffer.from('#!'), mode: 0o755 }]);
  const archive = join(folder, 'images.tar');

  writeDockerArchive(archive, [
    { reference: 'example.com/a:1', layers: [shared, own], entrypoint: ['/program'], env: ['A=b'] },
    { reference: 'example.com/b:1', layers: [shared], entrypoint: [] },
  ]);
  execFileSync('tar', ['-xf', archive, '-C', folder]);

  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as readonly {
    readonly Config: string;
    readonly RepoTags: readonly string[];
    readonly Layers: readonly string[];
  }[];
  expect(manifest.map(({ RepoTags }) => RepoTags)).toEqual([['example.com/a:1'], ['example.com/b:1']]);
  expect(manifest[0]!.Layers[0]).toBe(manifest[1]!.Layers[0]);
  const config = JSON.parse(readFileSync(join(folder, manifest[0]!.Config), 'utf8')) as object;
  const digests = manifest[0]!.Layers.map(
    (path) =>
      `sha256:${createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex')}`,
  );
  expect(config).toMatchObject({
    os: 'linux',
    config: { Entrypoint: ['/program'], Env: ['A=b'] },
    rootfs: { type: 'layers', diff_ids: digests },
  });
});
