// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { debOf } from '../../testing/deb.ts';
import { tarOf } from '../oci/tar.ts';
import type { Offered } from './apt.ts';
import { addressesOf, debianPackages, type DebianDeps, type DebianPackage } from './debian.ts';
import { readPins, type DebianPin } from './pins.ts';

const debWith = (text: string): Buffer =>
  debOf({ name: 'data.tar', content: tarOf([{ kind: 'file', path: 'x', content: Buffer.from(text) }]) });
const hash = (algorithm: string, content: Buffer): string => createHash(algorithm).update(content).digest('hex');
const [pinned, newer] = [debWith('pinned'), debWith('newer')];
const pin: DebianPin = {
  name: 'libx',
  version: '1:1.0-1',
  folder: 'libx/xsource',
  sha256: { 'linux/amd64': hash('sha256', pinned), 'linux/arm64': 'none' },
  sha1: { 'linux/amd64': hash('sha1', pinned), 'linux/arm64': 'none' },
};
const paths = {
  main: '/debian/pool/main/libx/xsource/libx_1.0-1_amd64.deb',
  security: '/debian-security/pool/updates/main/libx/xsource/libx_1.0-1_amd64.deb',
  snapshot: `/file/${hash('sha1', pinned)}`,
};
const offered: Offered = { version: '1:1.0-2', folder: pin.folder, content: newer };

let served = new Map<string, Buffer>();
const asked: string[] = [];
const server = createServer(({ url = '' }, response) => {
  asked.push(url);
  const content = served.get(url);
  response.writeHead(content === undefined ? 404 : 200).end(content);
});
let address: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.closeAllConnections());
afterAll(() => void server.close());

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'debian-test-'));
  served = new Map();
  asked.length = 0;
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

interface Got {
  readonly package: DebianPackage;
  readonly text: string;
  readonly lines: readonly string[];
}

async function get(over: Partial<DebianDeps> = {}): Promise<Got> {
  const lines: string[] = [];
  const packages = await debianPackages('linux/amd64', {
    env: { CSI_SIDECARS_CACHE: cache },
    pins: { ...readPins(), debian: { release: 'test', packages: [pin] } },
    report: (line) => void lines.push(line),
    pinned: 'required',
    archives: { debian: address, snapshot: address },
    newest: () => Promise.reject(new Error('no apt here')),
    ...over,
  });
  const found = packages.get('libx')!;
  const file = found.entries.find(({ path }) => path === 'x');
  return { package: found, text: file?.kind === 'file' ? Buffer.from(file.content).toString() : '', lines };
}

it.each([
  ['main', [paths.main]],
  ['security', [paths.main, paths.security]],
  ['snapshot', [paths.main, paths.security, paths.snapshot]],
] as const)(
  '[packaging#61] given a pinned package in %s, then it is taken from there, and the next build has it in the cache',
  async (where, expected) => {
    served.set(paths[where], pinned);

    const { text, package: found, lines } = await get();
    expect([text, found.version, found.sha256]).toEqual(['pinned', pin.version, pin.sha256['linux/amd64']]);
    expect(lines).toEqual(['images: downloading libx 1:1.0-1 for linux/amd64']);
    expect(asked).toEqual(expected);

    const again = await get();
    expect([again.text, again.lines, asked.length]).toEqual(['pinned', [], expected.length]);
  },
);

it('[packaging#61] given another content at a place, or in the cache, then it is not used, and the next place is asked', async () => {
  served.set(paths.main, Buffer.from('<html>log in to this network</html>'));
  served.set(paths.snapshot, pinned);
  expect((await get()).text).toBe('pinned');

  const [file = ''] = readdirSync(join(cache, 'images/debian'));
  writeFileSync(join(cache, 'images/debian', file), newer);
  expect((await get()).text).toBe('pinned');
});

it('[packaging#61] given a package that only apt has, then it is taken if it is the pinned one', async () => {
  const newest = (): Promise<Offered> => Promise.resolve({ ...offered, version: pin.version, content: pinned });
  expect((await get({ newest })).text).toBe('pinned');
});

it('[packaging#62] given a pinned package that has vanished, then the newest is used with a warning, in the next build from the cache', async () => {
  const first = await get({ pinned: 'preferred', newest: () => Promise.resolve(offered) });
  expect([first.text, first.package.version]).toEqual(['newer', '1:1.0-2']);
  expect(first.package.sha256).toBe(hash('sha256', newer));
  const warning = [
    'images: WARNING: libx 1:1.0-1, which is pinned, cannot be had any more.',
    'images: WARNING: libx 1:1.0-2 is used instead, so these images are not those of a release.',
  ];
  expect(first.lines.slice(1)).toEqual(warning);

  const requests = asked.length;
  const second = await get({ pinned: 'preferred' });
  expect([second.text, second.package.version, second.lines]).toEqual(['newer', '1:1.0-2', warning]);
  expect(asked).toHaveLength(requests);
});

it('[packaging#62] given a release, then what stands in for a pinned package is not used, not from the cache either', async () => {
  await get({ pinned: 'preferred', newest: () => Promise.resolve(offered) });
  const error = await get({ newest: () => Promise.resolve(offered) }).catch((thrown: unknown) => thrown);
  expect((error as Error).message).toBe(
    [
      'libx 1:1.0-1 for linux/amd64 could not be downloaded:',
      `  ${address}${paths.main}: 404`,
      `  ${address}${paths.security}: 404`,
      `  ${address}${paths.snapshot}: 404`,
      `  apt: it offers 1:1.0-2 with the checksum ${hash('sha256', newer)}`,
      'If Debian has replaced it, `npm run images -- --update-pins` on a Debian machine renews the pins.',
    ].join('\n'),
  );
});

it('[packaging#62] given the pinned version with another content, then it is not used', async () => {
  const newest = (): Promise<Offered> => Promise.resolve({ ...offered, version: pin.version });
  await expect(get({ pinned: 'preferred', newest })).rejects.toThrow(`apt: it offers 1:1.0-1 with the checksum`);
});

it('[packaging#62] given no network and no apt, then the error has the reason of each place', async () => {
  const archives = { debian: 'http://127.0.0.1:1', snapshot: 'http://127.0.0.1:1' };
  await expect(get({ pinned: 'preferred', archives })).rejects.toThrow(/bad port|ECONNREFUSED[^]*apt: no apt here/);
});

it('given the pins, then each package is looked for where Debian has it', () => {
  const [libc] = readPins().debian.packages;
  expect(addressesOf(libc!, 'linux/arm64')).toEqual([
    `https://deb.debian.org/debian/pool/main/g/glibc/libc6_${libc!.version}_arm64.deb`,
    `https://deb.debian.org/debian-security/pool/updates/main/g/glibc/libc6_${libc!.version}_arm64.deb`,
    `https://snapshot.debian.org/file/${libc!.sha1['linux/arm64']}`,
  ]);
});
