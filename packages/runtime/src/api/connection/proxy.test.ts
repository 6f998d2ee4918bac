// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { authorityOf, parseEndpoint } from './endpoint.ts';
import { type Environment, parseProxyUrl, proxyFromEnvironment } from './proxy.ts';

const proxyFor = (server: string, env: Environment): string | undefined =>
  proxyFromEnvironment(parseEndpoint(server, 'https'), env)?.href;

describe('proxyFromEnvironment', () => {
  const env = { HTTPS_PROXY: 'http://proxy:3128' };
  const used = 'http://proxy:3128/';

  it('[runtime#13] given HTTPS_PROXY and NO_PROXY=10.0.0.0/8, then a server at 10.96.0.1 is reached directly', () => {
    expect(proxyFor('https://10.96.0.1:443', { ...env, NO_PROXY: '10.0.0.0/8' })).toBeUndefined();
    expect(proxyFor('https://11.0.0.1:443', { ...env, NO_PROXY: '10.0.0.0/8' })).toBe(used);
  });

  const rows: readonly { readonly noProxy: string; readonly server: string; readonly direct: 'direct' | 'proxy' }[] = [
    { noProxy: '', server: 'https://kubernetes', direct: 'proxy' },
    { noProxy: '*', server: 'https://kubernetes', direct: 'direct' },
    { noProxy: 'example.com', server: 'https://api.example.com', direct: 'direct' },
    { noProxy: 'example.com', server: 'https://EXAMPLE.com', direct: 'direct' },
    { noProxy: 'example.com', server: 'https://notexample.com', direct: 'proxy' },
    { noProxy: '.example.com', server: 'https://example.com', direct: 'proxy' },
    { noProxy: '*.example.com', server: 'https://a.example.com', direct: 'direct' },
    { noProxy: 'a, example.com:6443 ,b', server: 'https://example.com:6443', direct: 'direct' },
    { noProxy: 'example.com:6443', server: 'https://example.com', direct: 'proxy' },
    { noProxy: '10.96.0.1', server: 'https://10.96.0.1', direct: 'direct' },
    { noProxy: '10.96.0.1:443', server: 'https://10.96.0.1:6443', direct: 'proxy' },
    { noProxy: 'fd00::/8', server: 'https://[fd00::1]:443', direct: 'direct' },
    { noProxy: 'fd00::1', server: 'https://[fd00::0:1]:443', direct: 'direct' },
    { noProxy: '10.0.0.0/40, /8, x/8', server: 'https://10.0.0.1', direct: 'proxy' },
    { noProxy: 'EXAMPLE.com', server: 'https://example.com.', direct: 'direct' },
    { noProxy: '*.example.com', server: 'https://example.com', direct: 'proxy' },
    { noProxy: 'a:443, , [fd00::1]:443', server: 'https://[fd00::1]', direct: 'direct' },
    { noProxy: '[fd00::1]', server: 'https://[fd00::1]', direct: 'direct' },
    { noProxy: 'FD00:0::1', server: 'https://[fd00::1]', direct: 'direct' },
    { noProxy: 'fd00::2, fd00::/129, 10.0.0.0/8', server: 'https://[fd00::1]', direct: 'proxy' },
    { noProxy: '10.0.0.2, 10.0.0.0/33, 10.0.0.0/x, fd00::/8', server: 'https://10.0.0.1', direct: 'proxy' },
    { noProxy: 'x/8, 10.0.0.0/8', server: 'https://kubernetes', direct: 'proxy' },
    { noProxy: '', server: 'https://127.example.com', direct: 'proxy' },
    { noProxy: '', server: 'https://127.0.0.2', direct: 'direct' },
    { noProxy: '', server: 'https://localhost', direct: 'direct' },
    { noProxy: '', server: 'https://[::1]:443', direct: 'direct' },
  ];
  it.each(rows)('given NO_PROXY=$noProxy and $server, then $direct', ({ noProxy, server, direct }) => {
    expect(proxyFor(server, { ...env, NO_PROXY: noProxy })).toBe(direct === 'direct' ? undefined : used);
  });

  it('given the variable of the other scheme, or none, then the connection is direct', () => {
    expect(proxyFor('http://kubernetes', env)).toBeUndefined();
    expect(proxyFor('http://kubernetes', { HTTP_PROXY: 'proxy:3128' })).toBe(used);
    expect(proxyFor('https://kubernetes', {})).toBeUndefined();
  });

  it('given variables in lower case, then they are used where the upper case ones are absent', () => {
    expect(proxyFor('https://kubernetes', { https_proxy: 'proxy:3128' })).toBe(used);
    expect(proxyFor('https://kubernetes', { ...env, https_proxy: 'other:3128' })).toBe(used);
    expect(proxyFor('https://kubernetes', { ...env, no_proxy: 'kubernetes' })).toBeUndefined();
  });
});

describe('parseProxyUrl', () => {
  it('given a proxy with TLS, then it is used', () => {
    expect(parseProxyUrl('https://proxy').href).toBe('https://proxy/');
  });

  it('given a proxy URL that cannot be used, then the error does not quote it', () => {
    expect(() => parseProxyUrl('ftp://user:secret@proxy')).toThrow(new Error('proxies of type ftp are not supported'));
    expect(() => parseProxyUrl('http://user:secret@')).toThrow(new Error('invalid proxy address'));
    expect(() => parseProxyUrl('socks5://proxy')).toThrow(new Error('proxies of type socks5 are not supported'));
  });
});

describe('parseEndpoint', () => {
  it.each([
    ['https://10.0.0.1', { scheme: 'https', host: '10.0.0.1', port: 443, basePath: '' }],
    ['http://localhost:8080/', { scheme: 'http', host: 'localhost', port: 8080, basePath: '' }],
    ['https://[fd00::1]:6443/a/b/', { scheme: 'https', host: 'fd00::1', port: 6443, basePath: '/a/b' }],
    ['kubernetes:6443', { scheme: 'https', host: 'kubernetes', port: 6443, basePath: '' }],
    ['10.0.0.1', { scheme: 'https', host: '10.0.0.1', port: 443, basePath: '' }],
  ])('given %s, then %o', (server, endpoint) => {
    expect(parseEndpoint(server, 'https')).toEqual(endpoint);
  });

  it.each([
    ['https://api', 'api'],
    ['https://api:80', 'api:80'],
    ['http://api:80', 'api'],
    ['http://api:443', 'api:443'],
    ['https://[fd00::1]:6443', '[fd00::1]:6443'],
  ])('given %s, then its authority is %s', (server, authority) => {
    expect(authorityOf(parseEndpoint(server, 'https'))).toBe(authority);
  });

  it('given any other text, then it is refused as an endpoint', () => {
    expect(() => parseEndpoint('', 'https')).toThrow('host must be a URL or a host:port pair: ""');
  });
});
