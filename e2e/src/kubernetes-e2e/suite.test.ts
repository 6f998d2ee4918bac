// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../processes/program.ts';
import { filters, leftOut } from './suite.ts';

const page = readFileSync(join(repositoryRoot, 'docs', 'reference', 'kubernetes-e2e.md'), 'utf8');
const metadataTest =
  'External.Storage [Driver: d] [Testpattern: SnapshotMetadata (block volmode)] snapshotmetadata [Feature:snapshotmetadata] should verify GetMetadataDelta';

it('given the tests that are left out, then the page names each of them, and no other', () => {
  const [, table = ''] = page.split('These tests are left out:');
  const rows = table.split('\n').flatMap((line) => /^\| (`.*`) \|/.exec(line)?.[1]?.split(', ') ?? []);
  const named = rows.map((text) => text.replaceAll('`', ''));
  expect(named).toEqual(leftOut.map((pattern) => pattern.replaceAll('\\', '')));
});

it.each(['base', 'slow'] as const)(
  'given the %s set, then what is left out is skipped, and the slow tests run in their own set only',
  (set) => {
    const skip = new RegExp(filters({ kind: 'set', set, only: '' })[1]!.replace('--skip=', ''));
    for (const name of [metadataTest, 'External.Storage a [Serial] b', 'External.Storage a [Disruptive]']) {
      expect(skip.test(name)).toBe(true);
    }
    expect(skip.test('External.Storage a should work')).toBe(false);
    expect(skip.test('External.Storage a [Slow] should work')).toBe(set === 'base');
  },
);
