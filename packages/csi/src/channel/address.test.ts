// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { parseAddress, targetOf } from './address.ts';

describe('parseAddress', () => {
  it.each([
    ['/run/csi/socket', 'unix:///run/csi/socket', true, 'an absolute path is a unix socket'],
    ['unix:///run/csi/socket', 'unix:///run/csi/socket', true, 'the form upstream documents'],
    ['unix:////run/csi/socket', 'unix:////run/csi/socket', true, 'extra slashes are harmless'],
    ['unix://C:\\csi\\csi.sock', 'unix:C:\\csi\\csi.sock', true, 'the Windows form is no URL'],
    ['unix:/run/csi/socket', 'unix:///run/csi/socket', false, 'the loss of this form is not seen upstream either'],
    ['unix:csi.sock', 'unix:csi.sock', false, 'relative to the working directory'],
    ['localhost:9000', 'dns:localhost:9000', false, 'TCP'],
    ['dns:///localhost:9000', 'dns:localhost:9000', false, 'TCP with a scheme'],
    ['passthrough:///localhost:9000', 'dns:localhost:9000', false, 'TCP with a scheme grpc-js does not know'],
    ['[::1]:9000', 'dns:[::1]:9000', false, 'TCP over IPv6'],
    ['csi.sock', 'dns:csi.sock:443', false, 'a relative path is taken for a host, as upstream does'],
  ])('given %s, then the target is %s', (...row) => {
    const [text, target, lossIsVisible, because] = row;
    const address = parseAddress(text);
    expect(targetOf(address), because).toBe(target);
    expect(address.lossIsVisible, because).toBe(lossIsVisible);
  });

  it.each([
    ['unix://', 'invalid address "unix://": no path of a socket'],
    ['unix:', 'invalid address "unix:": no path of a socket'],
    ['localhost:65536', 'invalid address "localhost:65536": no port 65536'],
    ['dns:///host:99999', 'invalid address "dns:///host:99999": no port 99999'],
    ['[::1]:123456789012345678901', 'invalid address "[::1]:123456789012345678901": no port 123456789012345678901'],
  ])('given %s, which can never work, then it is refused in one clear line', (text, reason) => {
    expect(() => parseAddress(text)).toThrow(reason);
  });

  it.each([
    {
      text: 'localhost:9000',
      address: { kind: 'tcp', text: 'localhost:9000', host: 'localhost', port: 9000, lossIsVisible: false },
    },
    {
      text: 'two\nlines',
      address: { kind: 'tcp', text: 'two\nlines', host: 'two\nlines', port: 443, lossIsVisible: false },
    },
    { text: '/csi.sock', address: { kind: 'unix', text: '/csi.sock', path: '/csi.sock', lossIsVisible: true } },
    { text: 'unix:csi.sock', address: { kind: 'unix', text: 'unix:csi.sock', path: 'csi.sock', lossIsVisible: false } },
  ])('given $text, then its parts are $address', ({ text, address }) => {
    expect(parseAddress(text)).toEqual(address);
  });

  it('given the largest port, then it is accepted', () => {
    expect(targetOf(parseAddress('host:65535'))).toBe('dns:host:65535');
  });

  it('given a relative path behind unix://, then it is refused at once', () => {
    expect(() => parseAddress('unix://rel/path.sock')).toThrow('invalid (non-empty) authority: rel');
  });
});
