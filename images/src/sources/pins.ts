// SPDX-License-Identifier: Apache-2.0
/** What images are made of besides our programs: versions and checksums, in pins.json. `npm run images -- --update-pins` writes it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type PlatformName = 'linux/amd64' | 'linux/arm64';

export interface Pins {
  readonly node: {
    readonly version: string;
    /** The npm package with the official binary, and the checksum of that binary as Node.js publishes it, before it is stripped. */
    readonly platforms: Readonly<Record<PlatformName, { readonly package: string; readonly sha256: string }>>;
  };
  readonly debian: {
    readonly release: string;
    readonly packages: readonly DebianPin[];
  };
}

export interface DebianPin {
  readonly name: string;
  readonly version: string;
  /** Where it is below the pool of Debian's archive. */
  readonly folder: string;
  /** The checksum of the package file. */
  readonly sha256: Readonly<Record<PlatformName, string>>;
  /** Its name in snapshot.debian.org. Nothing is trusted because of it. */
  readonly sha1: Readonly<Record<PlatformName, string>>;
}

export const platformNames: readonly PlatformName[] = ['linux/amd64', 'linux/arm64'];

const path = join(import.meta.dirname, '..', '..', 'pins.json');

export function readPins(): Pins {
  return JSON.parse(readFileSync(path, 'utf8')) as Pins;
}

export function writePins(pins: Pins): void {
  writeFileSync(path, `${JSON.stringify(pins, undefined, 2)}\n`);
}
