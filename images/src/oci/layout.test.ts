// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { inspect } from '../../testing/inspect.ts';
import { archiveOf, layerOf, layoutOf, zstd, type Image, type Layer } from './layout.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'layout-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const shared = layerOf('an empty /tmp', [{ kind: 'folder', path: 'tmp', mode: 0o1777 }]);
const own = layerOf('a program', [{ kind: 'file', path: 'program', content: Buffer.from('#!'), mode: 0o755 }]);

function anImage(reference: string, layers: readonly Layer[], entrypoint: readonly string[] = []): Image {
  const only = {
    platform: { os: 'linux', architecture: 'amd64' },
    layers,
    entrypoint,
    env: ['A=b'],
    labels: { c: 'd' },
  } as const;
  return { reference, created: '2026-01-02T03:04:05Z', annotations: { title: reference }, platforms: [only] };
}

it('given two images that share a layer, then it is in the layout once, and both are complete', () => {
  const layout = layoutOf([anImage('a:1', [shared, own], ['/program']), anImage('b:1', [shared])]);

  const [a, b] = inspect(layout);

  expect([...layout.files.keys()].filter((path) => path.startsWith('blobs/'))).toHaveLength(2 + 2 * 3);
  expect(a!.layers[0]).toBe(b!.layers[0]);
  expect(a!.layers.flatMap(({ entries }) => entries.map(({ path }) => path))).toEqual(['tmp', 'program']);
  expect(a).toMatchObject({ name: 'a', annotations: { title: 'a:1' }, created: '2026-01-02T03:04:05Z' });
  expect(a!.config).toEqual({ Entrypoint: ['/program'], Env: ['A=b'], WorkingDir: '/', Labels: { c: 'd' } });
  expect(b!.config).toEqual({ Env: ['A=b'], WorkingDir: '/', Labels: { c: 'd' } });
});

it('given a layout as one file, then tar unpacks it, and runtimes find the images by their references', () => {
  const archive = archiveOf(layoutOf([anImage('example.com/a:1', [own])]));
  execFileSync('tar', ['-x', '-C', folder], { input: archive });

  const read = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'));

  expect(read('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' });
  expect(read('index.json')).toMatchObject({
    manifests: [{ annotations: { 'io.containerd.image.name': 'example.com/a:1' } }],
  });
});

it('[packaging#65] given layers that are compressed by zstd, then their media type says so, their digests of the tar are the same, and they are read back', () => {
  const entries = [{ kind: 'file', path: 'program', content: Buffer.from('#!'), mode: 0o755 }] as const;
  const packed = layerOf('a program', entries, zstd);
  const layout = layoutOf([anImage('a:1', [packed])]);

  const types = [...layout.files.values()].flatMap(
    (content) =>
      Buffer.from(content)
        .toString()
        .match(/application\/vnd\.oci\.image\.layer[\w.+]*/g) ?? [],
  );
  expect(types).toEqual(['application/vnd.oci.image.layer.v1.tar+zstd']);
  expect(packed.diffId).toBe(own.diffId);
  expect(inspect(layout)[0]!.layers[0]!.entries.map(({ path }) => path)).toEqual(['program']);
});

it.each([
  ['a:1', 'docker.io/library/a:1'],
  ['b/a:1', 'docker.io/b/a:1'],
  ['localhost/b/a:1', 'localhost/b/a:1'],
  ['b:5000/a:1', 'b:5000/a:1'],
])('given the reference %s, then containerd finds the image where kubelet looks for it, as %s', (reference, name) => {
  const index = layoutOf([anImage(reference, [own])]).files.get('index.json')!;
  expect(JSON.parse(Buffer.from(index).toString())).toMatchObject({
    manifests: [
      {
        annotations: { 'org.opencontainers.image.ref.name': reference, 'io.containerd.image.name': name },
      },
    ],
  });
});

it('given the same images again, then the bytes are the same', () => {
  const once = (): Buffer => archiveOf(layoutOf([anImage('a:1', [shared, own])]));
  expect(once().equals(once())).toBe(true);
});

it('given two images with one reference, then that is an error', () => {
  expect(() => layoutOf([anImage('a:1', [own]), anImage('a:1', [shared])])).toThrow('the same reference');
});
