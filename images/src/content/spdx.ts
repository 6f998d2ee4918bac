// SPDX-License-Identifier: Apache-2.0
/**
 * What an image or a layer is made of, as an SPDX 2.3 document. It says nothing about the time of the build: it is part of layers, and
 * equal contents must have equal digests.
 */
import { createHash } from 'node:crypto';
import type { Digests } from './digests.ts';

export interface SpdxFile extends Digests {
  readonly path: string;
}

export interface SpdxPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  readonly purl: string;
  /** The checksum of the package file that it came in. */
  readonly sha256?: string;
  readonly files?: readonly SpdxFile[];
}

export interface SpdxContent {
  /** For example `csi-attacher v1.2.3 linux/amd64`. */
  readonly name: string;
  readonly packages: readonly SpdxPackage[];
}

const unknown = 'NOASSERTION';
const document = 'SPDXRef-DOCUMENT';

export function spdxOf({ name, packages }: SpdxContent): string {
  const parts = packages.map((each, index) => ({ ...each, id: `SPDXRef-Package-${index}-${idPart(each.name)}` }));
  const files = parts.flatMap(({ id: owner, files: own = [] }) =>
    own.map((file) => ({ ...file, owner, id: `SPDXRef-File-${idPart(file.path)}` })),
  );
  const root = 'SPDXRef-Root';
  const content = {
    packages: [
      { name, SPDXID: root, ...nothingKnown },
      ...parts.map(({ id, name: partName, version, license, purl, sha256 }) => ({
        name: partName,
        SPDXID: id,
        versionInfo: version,
        ...nothingKnown,
        licenseDeclared: license,
        externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
        ...(sha256 !== undefined && { checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }] }),
      })),
    ],
    files: files.map(({ id, path, sha1, sha256 }) => ({
      fileName: `./${path}`,
      SPDXID: id,
      checksums: [
        { algorithm: 'SHA1', checksumValue: sha1 },
        { algorithm: 'SHA256', checksumValue: sha256 },
      ],
      licenseConcluded: unknown,
      copyrightText: unknown,
    })),
    relationships: [
      relationship(document, 'DESCRIBES', root),
      ...parts.map(({ id }) => relationship(root, 'CONTAINS', id)),
      ...files.map(({ owner, id }) => relationship(owner, 'CONTAINS', id)),
    ],
  };
  const fingerprint = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
  const head = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: document,
    name,
    // Unique by content, as the specification asks; it is a name and not an address.
    documentNamespace: `https://spdx.org/spdxdocs/csi-sidecars-${idPart(name)}-${fingerprint}`,
    creationInfo: { created: '1970-01-01T00:00:00Z', creators: ['Tool: csi-sidecars-images'] },
  };
  return `${JSON.stringify({ ...head, ...content }, undefined, 1)}\n`;
}

export function purlOfNpm({ name, version }: { readonly name: string; readonly version: string }): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

export interface DebianName {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly release: string;
}

export function purlOfDebian({ name, version, platform, release }: DebianName): string {
  const architecture = platform.slice(platform.indexOf('/') + 1);
  return `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${release}`;
}

const nothingKnown = {
  downloadLocation: unknown,
  filesAnalyzed: false,
  licenseConcluded: unknown,
  licenseDeclared: unknown,
  copyrightText: unknown,
};

function relationship(spdxElementId: string, relationshipType: string, relatedSpdxElement: string): object {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}

/** Identifiers have letters, digits, dots and dashes. */
function idPart(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9.]+/g, '-').replace(/^-/, '');
}
