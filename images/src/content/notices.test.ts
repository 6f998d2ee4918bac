// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { noticesOf, type Library } from './notices.ts';

const libraries: readonly Library[] = [
  { name: '@scope/one', version: '1.2.3', license: 'MIT', licenseText: 'One may do as one likes.\n' },
  { name: 'two', version: '2.0.0', license: '(MIT OR Apache-2.0)', licenseText: '' },
];

it('given libraries, then people find each with its licence', () => {
  const text = noticesOf(libraries);
  expect(text).toMatch(/^@scope\/one@1\.2\.3\nMIT\n\nOne may do as one likes\.\n\n-{80}\n\ntwo@2\.0\.0\n/);
});
