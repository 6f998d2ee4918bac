// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { debOf } from '../../testing/deb.ts';
import { tarOf } from '../oci/tar.ts';
import { filesOfDeb } from './deb.ts';

/** By `xz -9e` from a tar with one file, usr/lib/x. */
const xz =
  '/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4Av/AGBdADqcyosFXJMiGgA3mVNKeug53vTGNbDFM+AzLWXnbfW4xJjq7DqeFGncTszIQADh80suY8ipe5WopbBUwDcQr0Z8FH+N0QQIb0dUsYtWXve342/guUD4eMhSVfpHLkcPAAAerC2KO5622AABfIAYAAAAhdb+m7HEZ/sCAAAAAARZWg==';
const tar = tarOf([{ kind: 'file', path: 'usr/lib/x', content: Buffer.from('a library') }]);

it('given a package that is compressed by xz, then its files are read without a program of Debian', async () => {
  const entries = await filesOfDeb(debOf({ name: 'data.tar.xz', content: Buffer.from(xz, 'base64') }));
  const [file] = entries.filter(({ kind }) => kind === 'file');
  expect(file?.path).toBe('usr/lib/x');
  expect(file?.kind === 'file' && Buffer.from(file.content).toString()).toBe('a library');
});

it('given a package that is not compressed, then its files are read', async () => {
  const entries = await filesOfDeb(debOf({ name: 'data.tar', content: tar }));
  expect(entries.map(({ path }) => path)).toContain('usr/lib/x');
});

it.each([
  ['something else', Buffer.from('<html>'), 'this is no Debian package'],
  ['another compression', debOf({ name: 'data.tar.zst', content: tar }), 'data.tar.zst, which is not read here'],
  ['a package without files', debOf({ name: 'extra', content: tar }), 'the package has no files'],
  ['a damaged package', debOf({ name: 'data.tar.xz', content: Buffer.from(xz, 'base64').subarray(0, 100) }), ''],
])('given %s, then it is refused', async (_what, content, reason) => {
  await expect(filesOfDeb(content)).rejects.toThrow(reason);
});
