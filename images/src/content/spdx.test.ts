// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { purlOfDebian, purlOfNpm, spdxOf, type SpdxPackage } from './spdx.ts';

const packages: readonly SpdxPackage[] = [
  { name: '@scope/one', version: '1.2.3', license: 'MIT', purl: purlOfNpm({ name: '@scope/one', version: '1.2.3' }) },
  {
    name: 'libstdc++6',
    version: '12.2.0-14+deb12u1',
    license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
    purl: purlOfDebian({
      name: 'libstdc++6',
      version: '12.2.0-14+deb12u1',
      platform: 'linux/arm64',
      release: 'bookworm',
    }),
    sha256: 'ab'.repeat(32),
    files: [{ path: 'lib/libstdc++.so.6', sha1: 'cd'.repeat(20), sha256: 'ef'.repeat(32) }],
  },
];

interface Document {
  readonly documentNamespace: string;
  readonly packages: readonly {
    readonly SPDXID: string;
    readonly name: string;
    readonly externalRefs?: readonly { readonly referenceLocator: string }[];
  }[];
  readonly files: readonly { readonly SPDXID: string }[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relationshipType: string;
    readonly relatedSpdxElement: string;
  }[];
}

const documentOf = (content: readonly SpdxPackage[]): Document =>
  JSON.parse(spdxOf({ name: 'csi-example v1.0.0 linux/arm64', packages: content })) as Document;

it('given packages, then the document is SPDX 2.3 and names each by its package URL', () => {
  const document = documentOf(packages);
  expect(document).toMatchObject({ spdxVersion: 'SPDX-2.3', dataLicense: 'CC0-1.0', SPDXID: 'SPDXRef-DOCUMENT' });
  expect(
    document.packages.flatMap(({ externalRefs = [] }) => externalRefs.map((each) => each.referenceLocator)),
  ).toEqual([
    'pkg:npm/%40scope/one@1.2.3',
    'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=arm64&distro=bookworm',
  ]);
});

it('given a package with files, then every relationship names elements of the document, and the package contains the file', () => {
  const { packages: all, files, relationships } = documentOf(packages);
  const ids = ['SPDXRef-DOCUMENT', ...all.map(({ SPDXID }) => SPDXID), ...files.map(({ SPDXID }) => SPDXID)];

  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/.test(id))).toEqual([]);
  expect(
    relationships.flatMap((each) => [each.spdxElementId, each.relatedSpdxElement]).filter((id) => !ids.includes(id)),
  ).toEqual([]);
  expect(relationships.at(-1)).toEqual({
    spdxElementId: 'SPDXRef-Package-1-libstdc-6',
    relationshipType: 'CONTAINS',
    relatedSpdxElement: 'SPDXRef-File-lib-libstdc-.so.6',
  });
});

it('given other contents, then the document has another namespace, and the same contents have the same bytes', () => {
  expect(documentOf(packages.slice(1)).documentNamespace).not.toBe(documentOf(packages).documentNamespace);
  expect(spdxOf({ name: 'a', packages })).toBe(spdxOf({ name: 'a', packages }));
});
