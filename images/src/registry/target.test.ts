// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { parseTarget } from './target.ts';

const secure = { insecure: false };

it.each([
  ['ghcr.io/owner', { name: 'ghcr.io/owner', host: 'ghcr.io', path: 'owner/', url: 'https://ghcr.io' }],
  [
    'registry.example.com:5000/a/b/',
    {
      name: 'registry.example.com:5000/a/b',
      host: 'registry.example.com:5000',
      path: 'a/b/',
      url: 'https://registry.example.com:5000',
    },
  ],
  ['registry:5000', { name: 'registry:5000', host: 'registry:5000', path: '', url: 'https://registry:5000' }],
  [
    'docker.io/owner',
    { name: 'docker.io/owner', host: 'docker.io', path: 'owner/', url: 'https://registry-1.docker.io' },
  ],
])('given %s, then it is a registry with TLS', (text, expected) => {
  expect(parseTarget(text, secure)).toEqual(expected);
});

it.each(['localhost:5000', 'localhost', '127.0.0.1:5000/a', '[::1]:5000'])(
  '[packaging#58] given %s, which is this machine, then there is no TLS',
  (text) => {
    expect(parseTarget(text, secure).url).toBe(`http://${text.replace('/a', '')}`);
  },
);

it('[packaging#58] given --insecure, then another registry is used without TLS', () => {
  expect(parseTarget('registry.example.com/a', { insecure: true }).url).toBe('http://registry.example.com');
});

it.each([
  ['https://ghcr.io/owner', 'without a scheme'],
  ['ghcr.io/Owner', 'small letters only'],
  ['owner', '"owner" is no host'],
  ['owner/images', '"owner" is no host'],
  ['', '"" is no host'],
  ['ghcr.io/owner:v1', '"owner:v1" is no part of a repository'],
  ['ghcr.io//a', '"" is no part of a repository'],
  ['ghcr.io/../a', '".." is no part of a repository'],
  ['user@ghcr.io/a', '"user@ghcr.io" is no host'],
])('[packaging#60] given %s, then it is refused with the reason', (text, reason) => {
  expect(() => parseTarget(text, secure)).toThrow(reason);
});
