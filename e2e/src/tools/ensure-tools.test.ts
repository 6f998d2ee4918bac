// SPDX-License-Identifier: Apache-2.0
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { catalogue, kubernetesReleases, toolOf, versionOf } from './catalogue.ts';
import { ensureTools, withoutAddresses, type ToolDeps } from './ensure-tools.ts';
import { locate } from './locate.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tools-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function deps(overrides: Partial<ToolDeps> = {}): ToolDeps & { readonly built: string[]; readonly lines: string[] } {
  const built: string[] = [];
  const lines: string[] = [];
  return {
    built,
    lines,
    env: { CSI_SIDECARS_CACHE: folder },
    clock: new FakeClock(),
    kubernetes: 'current',
    report: (line) => void lines.push(line),
    build: (tool, output) => {
      built.push(tool.name);
      writeFileSync(output, tool.name);
      return Promise.resolve();
    },
    ...overrides,
  };
}

describe('ensureTools', () => {
  it('given an empty cache, when asked twice, then each tool is built once and nothing else is left in the folder', async () => {
    const world = deps();

    const first = await ensureTools(['etcd', 'kubectl'], world);
    const second = await ensureTools(['etcd', 'kubectl'], world);

    expect(second).toEqual(first);
    expect(world.built).toEqual(['etcd', 'kubectl']);
    expect(readdirSync(dirname(first.etcd))).toEqual(['etcd']);
    expect(first.etcd.startsWith(join(folder, 'tools', 'etcd-'))).toBe(true);
  });

  it('given a build that fails half-way, then the error is passed on and neither a program nor a lock remains', async () => {
    const world = deps({
      build: (_, output) => {
        writeFileSync(output, 'half');
        return Promise.reject(new Error('no space'));
      },
    });

    await expect(ensureTools(['etcd'], world)).rejects.toThrow('no space');

    expect(readdirSync(join(folder, 'tools', readdirSync(join(folder, 'tools'))[0]!))).toEqual([]);
  });

  it('given a lock of a process that is gone, then the build goes ahead', async () => {
    const world = deps();
    const lock = lockOf('etcd');
    writeFileSync(lock, '999999999');

    await ensureTools(['etcd'], world);

    expect(world.built).toEqual(['etcd']);
    expect(existsSync(lock)).toBe(false);
  });

  it('given another process that builds, then it waits for the result and builds nothing', async () => {
    const clock = new FakeClock();
    const world = deps({ clock });
    const lock = lockOf('etcd');
    writeFileSync(lock, String(process.pid));

    const waiting = ensureTools(['etcd'], world);
    await clock.advance(1000);
    writeFileSync(join(dirname(lock), 'etcd'), 'by the other one');
    rmSync(lock);
    await clock.advance(1000);
    await waiting;

    expect(world.built).toEqual([]);
    expect(world.lines).toEqual([`tools: waiting for process ${process.pid}, which builds etcd`]);
  });

  function lockOf(name: 'etcd'): string {
    const { path } = locate(catalogue[name], { CSI_SIDECARS_CACHE: folder });
    mkdirSync(dirname(path), { recursive: true });
    return join(dirname(path), '.lock');
  }
});

describe('locate', () => {
  it('given TEST_ASSET_KUBE_APISERVER and KUBEBUILDER_ASSETS, then the more specific one wins', () => {
    const path = join(folder, 'my-apiserver');
    writeFileSync(path, '');
    writeFileSync(join(folder, 'kube-apiserver'), '');
    const env = { TEST_ASSET_KUBE_APISERVER: path, KUBEBUILDER_ASSETS: folder };

    expect(locate(catalogue['kube-apiserver'], env)).toMatchObject({ kind: 'given', path });
    delete (env as Record<string, string>)['TEST_ASSET_KUBE_APISERVER'];
    expect(locate(catalogue['kube-apiserver'], env)).toMatchObject({ path: join(folder, 'kube-apiserver') });
  });

  it('given a TEST_ASSET_* that does not exist, then that is an error, not a silent build', () => {
    expect(() => locate(catalogue.etcd, { TEST_ASSET_ETCD: join(folder, 'none') })).toThrow('TEST_ASSET_ETCD');
  });

  it('given KUBEBUILDER_ASSETS, then it is used for what such bundles hold and for nothing else', () => {
    for (const name of ['etcd', 'kubectl', 'kube-scheduler']) writeFileSync(join(folder, name), '');
    const env = { KUBEBUILDER_ASSETS: folder, XDG_CACHE_HOME: '/cache' };
    const kinds = (['etcd', 'kubectl', 'kube-apiserver', 'kube-scheduler'] as const).map(
      (name) => locate(catalogue[name], env).kind,
    );
    expect(kinds).toEqual(['given', 'given', 'cached', 'cached']);
  });

  it('given no variable of ours, then the cache follows XDG', () => {
    expect(locate(catalogue.etcd, { XDG_CACHE_HOME: '/cache' }).path).toMatch(
      /^\/cache\/csi-sidecars\/tools\/etcd-[0-9a-f]{16}\/etcd$/,
    );
  });
});

describe('catalogue', () => {
  it('given the modules, then each names one version, and Kubernetes is stamped with it', () => {
    const versions = new Set(Object.values(catalogue).map((tool) => versionOf(tool.family)));
    for (const version of versions) expect(version).toMatch(/^v\d+\.\d+\.\d+(?:\+incompatible)?$/);
    expect(catalogue.kubectl.family.ldflags('v1.37.2')).toContain('gitVersion=v1.37.2');
    expect(catalogue.kubectl.family.ldflags('v1.37.2')).toContain('gitMinor=37');
  });
});

it('given an older release, then the programs of Kubernetes are those of another module, and all others are the same', () => {
  const tools = kubernetesReleases.map((release) => toolOf('kube-apiserver', release));
  const minors = tools.map(({ family }) => Number(versionOf(family).split('.')[1]));
  expect(minors[1]).toBe(minors[0]! - 1);
  expect(minors[2]).toBeLessThan(minors[1]!);
  expect(new Set(tools.map((tool) => locate(tool, {}).path)).size).toBe(3);
  for (const release of kubernetesReleases) expect(toolOf('etcd', release)).toBe(toolOf('etcd', 'current'));
});

it('given a download error of the compiler, then the address in it is not shown', () => {
  expect(withoutAddresses('go: x@v1: Get "https://user:secret@proxy.example/x": EOF')).toBe(
    'go: x@v1: Get "<address>": EOF',
  );
});
