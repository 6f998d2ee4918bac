// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { mountAt, originIn, parseMountInfo } from './mount-table.ts';

const table = parseMountInfo(
  [
    '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
    '40 27 254:1 / /state\\040dir rw - xfs /dev/vdb rw',
    '41 27 254:1 /drv/volumes/volume-1/data /pods/a ro,relatime shared:1 master:2 - xfs /dev/vdb rw',
    '42 27 254:1 /drv/volumes/volume-2/data//deleted /pods/b rw - xfs /dev/vdb rw',
    '43 27 254:0 /drv/volumes/volume-3/data /pods/c rw - ext4 /dev/vda rw',
    '44 27 254:1 /drv /pods/d rw - xfs /dev/vdb rw',
    '45 27 254:1 /other /pods/d rw - xfs /dev/vdb rw',
  ].join('\n') + '\n',
);

it('given escapes and optional fields, when parsed, then path and options are right', () => {
  expect(table[1]).toEqual({
    device: '254:1',
    root: '/',
    path: '/state dir',
    options: ['rw'],
    fsType: 'xfs',
    source: '/dev/vdb',
  });
  expect(mountAt(table, '/pods/a')?.options).toEqual(['ro', 'relatime']);
  expect(mountAt(table, '/pods/a')?.fsType).toBe('xfs');
});

it('given two mounts on one path, then the upper one is returned', () => {
  expect(mountAt(table, '/pods/d')?.root).toBe('/other');
  expect(mountAt(table, '/pods')).toBeUndefined();
});

it('given a folder on a file system of its own, when asked which mounts are ours, then bind mounts below it, also deleted ones, and nothing of the same name elsewhere', async () => {
  const origins = ['/pods/a', '/pods/b', '/pods/c', '/pods/d', '/state dir'].map(
    async (path) => await originIn('/state dir/drv', table, mountAt(table, path)!),
  );
  expect(await Promise.all(origins)).toEqual([
    'volumes/volume-1/data',
    'volumes/volume-2/data',
    undefined,
    undefined,
    undefined,
  ]);
});
