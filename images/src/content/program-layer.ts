// SPDX-License-Identifier: Apache-2.0
/**
 * The layer of one program: an executable file at the root whose first line names the image's Node.js, the bundles that it runs, and their
 * documents. The same on every platform but for V8's code cache, which is there for the platform that the
 * programs were built on.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramName } from '../../../scripts/manifests.ts';
import type { TarEntry } from '../oci/tar.ts';
import { repositoryRoot } from '../repository.ts';
import type { PlatformName } from '../sources/pins.ts';
import { librariesOf, noticesOf } from './notices.ts';
import { nodePath } from './runtime-layer.ts';
import { purlOfNpm, spdxOf, type SpdxPackage } from './spdx.ts';

export interface ProgramContent {
  readonly entries: readonly TarEntry[];
  readonly packages: readonly SpdxPackage[];
}

/** From `dist/bin`, where `npm run build` has left it. `version`: ours, with a leading v. */
export function programContent(name: ProgramName, version: string, platform: PlatformName): ProgramContent {
  const program = readFileSync(join(built, name), 'utf8');
  const libraries = librariesOf(name);
  const packages: readonly SpdxPackage[] = [
    { name, version, license: 'Apache-2.0', purl: `pkg:generic/csi-sidecars/${name}@${version}` },
    ...libraries.map((library) => ({ ...library, purl: purlOfNpm(library) })),
  ];
  const documents = `usr/share/doc/${name}`;
  return {
    packages,
    entries: [
      { kind: 'file', path: name, content: Buffer.from(withInterpreter(program)), mode: 0o755 },
      ...bundlesOf(name, platform).map(
        (path) => ({ kind: 'file', path, content: readFileSync(join(built, path)) }) as const,
      ),
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

const built = join(repositoryRoot, 'dist', 'bin');

/** The text of each bundle, and V8's code cache of it if it was made on such a platform. */
function bundlesOf(name: ProgramName, platform: PlatformName): readonly string[] {
  const endings = ['.js', `.${nodeArchitectures[platform]}.cache`];
  const files = [name, `${name}-node`, `${name}-commands`, `${name}-tracing`].flatMap((bundle) =>
    endings.map((ending) => `${bundle}${ending}`),
  );
  return files.filter((file) => existsSync(join(built, file)));
}

const nodeArchitectures: Readonly<Record<PlatformName, string>> = { 'linux/amd64': 'x64', 'linux/arm64': 'arm64' };

/** The interpreter is not looked up in PATH. */
function withInterpreter(program: string): string {
  return program.replace(/^#!.*\n/, `#!${nodePath}\n`);
}
