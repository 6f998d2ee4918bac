// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { tagOf } from './programs.ts';

it.each([
  ['csi-attacher:v6.1.0', 'v6.1.0'],
  ['registry.example.com:5000/a/csi-attacher:v6.1.0', 'v6.1.0'],
  ['csi-attacher:v6.1.0@sha256:0123', 'v6.1.0'],
  ['registry.example.com:5000/csi-attacher', undefined],
  ['csi-attacher@sha256:0123', undefined],
  ['', undefined],
])('given the image %s, then its tag is %s', (image, tag) => {
  expect(tagOf({ name: 'c', image })).toBe(tag);
});
