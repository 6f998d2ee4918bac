// SPDX-License-Identifier: Apache-2.0
/**
 * The layer of one program: an executable file at the root whose first line names the image's Node.js, and its documents. The same
 * on every platform.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramName } from '../../../scripts/manifests.ts';
import type { TarEntry } from '../oci/tar.ts';
import { repositoryRoot } from '../repository.ts';
import { librariesOf, noticesOf } from './notices.ts';
import { nodePath } from './runtime-layer.ts';
import { purlOfNpm, spdxOf, type SpdxPackage } from './spdx.ts';

export interface ProgramContent {
  readonly entries: readonly TarEntry[];
  readonly packages: readonly SpdxPackage[];
}

/** From `dist/bin`, where `npm run build` has left it. `version`: ours, with a leading v. */
export function programContent(name: ProgramName, version: string): ProgramContent {
  const bundle = readFileSync(join(repositoryRoot, 'dist', 'bin', name), 'utf8');
  const libraries = librariesOf(name);
  const packages: readonly SpdxPackage[] = [
    { name, version, license: 'Apache-2.0', purl: `pkg:generic/csi-sidecars/${name}@${version}` },
    ...libraries.map((library) => ({ ...library, purl: purlOfNpm(library) })),
  ];
  const documents = `usr/share/doc/${name}`;
  return {
    packages,
    entries: [
      { kind: 'file', path: name, content: Buffer.from(forImages(bundle)), mode: 0o755 },
      { kind: 'file', path: `${documents}/LICENSE`, content: readFileSync(join(repositoryRoot, 'LICENSE')) },
      { kind: 'file', path: `${documents}/THIRD-PARTY-NOTICES`, content: Buffer.from(noticesOf(libraries)) },
      {
        kind: 'file',
        path: `${documents}/sbom.spdx.json`,
        content: Buffer.from(spdxOf({ name: `${name} ${version}`, packages })),
      },
      // Manifests of the combined program that name it without a path.
      ...(name === 'csi-sidecars' ? [{ kind: 'link', path: `usr/bin/${name}`, to: `/${name}` } as const] : []),
    ],
  };
}

/** The interpreter is not looked up in PATH, and the source map stays outside. */
export function forImages(bundle: string): string {
  return bundle.replace(/^#!.*\n/, `#!${nodePath}\n`).replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
}
