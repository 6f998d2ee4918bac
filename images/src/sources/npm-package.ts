// SPDX-License-Identifier: Apache-2.0
/** A package of npm as its files; npm itself checks what it downloads against the registry's list. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { entriesOf } from '../oci/tar.ts';

/** Path in the package -> content, of those that `wanted` accepts. */
export async function npmPackage(
  specifier: string,
  wanted: (path: string) => boolean,
): Promise<ReadonlyMap<string, Buffer>> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-npm-'));
  try {
    const args = ['pack', specifier, '--prefer-offline', '--ignore-scripts', '--silent', '--pack-destination', folder];
    await promisify(execFile)('npm', args, { cwd: folder });
    const [archive] = readdirSync(folder);
    if (archive === undefined) throw new Error(`npm pack ${specifier} left no file`);
    const entries = entriesOf(gunzipSync(readFileSync(join(folder, archive))));
    return new Map(
      entries.flatMap((entry) => {
        const path = entry.path.replace(/^package\//, '');
        return entry.kind === 'file' && wanted(path) ? [[path, Buffer.from(entry.content)] as const] : [];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
