// SPDX-License-Identifier: Apache-2.0
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseListenAddress, toListenOptions } from './listen-address.ts';

const resolved: string[] = [];
beforeEach(() => {
  vi.spyOn(dns, 'lookup').mockImplementation(async (host: string, options?: { readonly order?: string }) => {
    resolved.push(host);
    const isIPv4First = options?.order === 'ipv4first';
    return { address: isIPv4First ? '192.0.2.7' : '2001:db8::7', family: isIPv4First ? 4 : 6 };
  });
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  resolved.length = 0;
});

it.each([
  [':8080', { port: 8080 }],
  ['0.0.0.0:8080', { host: '0.0.0.0', port: 8080 }],
  ['[::]:8080', { host: '::', port: 8080 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['localhost:8080', { host: '127.0.0.1', port: 8080 }],
  ['127.0.0.1:9', { host: '127.0.0.1', port: 9 }],
  [':http', { port: 80 }],
  [':65535', { port: 65_535 }],
  ['127.0.0.1:HTTPS', { host: '127.0.0.1', port: 443 }],
])('given %s, then Node.js listens on %o, and no name is resolved', async (address, options) => {
  expect(await toListenOptions(parseListenAddress(address))).toEqual(options);
  expect(resolved).toEqual([]);
});

it('given a name of a host, then it is resolved, to an IPv4 address where it has one', async () => {
  expect(await toListenOptions(parseListenAddress('a.example:1'))).toEqual({ host: '192.0.2.7', port: 1 });
  expect(resolved).toEqual(['a.example']);
});

it('given the name of a service that Go knows, then it stands for its port', () => {
  const mail = [':smtp=25', ':submission=587', ':pop3=110', ':pop3s=995', ':imap2=143', ':imap3=220', ':imaps=993'];
  const others = [
    ':domain=53',
    ':ftp=21',
    ':ftps=990',
    ':gopher=70',
    ':http=80',
    ':https=443',
    ':ssh=22',
    ':telnet=23',
  ];
  for (const line of [...mail, ...others]) {
    const [address = ''] = line.split('=');
    expect(`${address}=${parseListenAddress(address).port}`).toBe(line);
  }
});

it.each(['8080', 'localhost', '::8080', '[::]', 'host:port', ':constructor', ':65536', ':70000', ''])(
  'given %j, then it is refused as an address',
  (address) => {
    expect(() => parseListenAddress(address)).toThrow(`listen tcp: address ${address}: expected host:port`);
  },
);
