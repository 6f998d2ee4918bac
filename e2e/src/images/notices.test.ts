// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { noticesOf, sbomOf, type Library } from './notices.ts';

const libraries: readonly Library[] = [
  { name: '@scope/one', version: '1.2.3', license: 'MIT', licenseText: 'One may do as one likes.\n' },
  { name: 'two', version: '2.0.0', license: '(MIT OR Apache-2.0)', licenseText: '' },
];

it('given libraries, then people find each with its licence', () => {
  const text = noticesOf(libraries);
  expect(text).toMatch(/^@scope\/one@1\.2\.3\nMIT\n\nOne may do as one likes\.\n\n-{80}\n\ntwo@2\.0\.0\n/);
});

it('given libraries, then tools find each by its package URL, and the platform', () => {
  const sbom = JSON.parse(sbomOf('csi-example', libraries)) as {
    readonly bomFormat: string;
    readonly metadata: object;
    readonly components: readonly { readonly name: string; readonly purl?: string }[];
  };
  expect(sbom.bomFormat).toBe('CycloneDX');
  expect(sbom.metadata).toEqual({ component: { type: 'application', name: 'csi-example' } });
  expect(sbom.components.map(({ name, purl }) => purl ?? name)).toEqual([
    'pkg:npm/%40scope/one@1.2.3',
    'pkg:npm/two@2.0.0',
    'node',
  ]);
});
