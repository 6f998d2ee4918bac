// SPDX-License-Identifier: Apache-2.0
import { duplexPair } from 'node:stream';
import { connect, type ConnectionOptions, TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createTestAuthority, FakeClock, memoryFiles, recordingLogger } from '../../../testing/index.ts';
import type { Identity } from '../credentials.ts';
import type { Pem, TlsSettings } from './cluster-config.ts';
import { loadTlsSource, systemAuthorities, type TlsSourceDeps } from './tls-source.ts';

const authority = createTestAuthority();
const one = authority.issue({ commonName: 'one', hosts: ['kubernetes'] });
const two = authority.issue({ commonName: 'two' });
const text = { '/ca': authority.ca, '/cert': one.cert, '/key': one.key };
const file = (path: keyof typeof text): Pem => ({ kind: 'file', path });
const inline = (path: keyof typeof text): Pem => ({ kind: 'inline', text: () => text[path] });

const setUp = async (settings: Partial<TlsSettings>, deps: Partial<TlsSourceDeps> = {}) => {
  const [clock, logger, files] = [new FakeClock(), recordingLogger(), memoryFiles(text)];
  const source = await loadTlsSource({ clock, logger, files, ...deps }, { verify: 'server', ...settings });
  return { source, clock, logger, files };
};

/** Whether a client with these options accepts a server with the certificate `one`. */
const handshake = (options: ConnectionOptions): Promise<'accepted' | 'refused'> =>
  new Promise((resolve) => {
    const [near, far] = duplexPair();
    new TLSSocket(far, { isServer: true, ...one }).on('error', () => undefined);
    const client = connect({ ...options, socket: near });
    client.once('secureConnect', () => resolve('accepted')).once('error', () => resolve('refused'));
  });

describe('what a connection is opened with', () => {
  it('given an authority, then its servers are accepted, under the name to verify', async () => {
    const { source } = await setUp({ authorities: inline('/ca'), serverName: 'kubernetes' });
    expect(source.options()).toMatchObject({ rejectUnauthorized: true, servername: 'kubernetes' });
    expect(await handshake(source.options())).toBe('accepted');
    expect(await handshake({ ...source.options(), servername: 'other' })).toBe('refused');
  });

  it('given neither authority nor name, then the authorities of the system are trusted, and the name is that of the endpoint', async () => {
    const { source } = await setUp({}, { listAuthorities: (kind) => (kind === 'system' ? [authority.ca] : []) });
    expect(source.options()).not.toHaveProperty('servername');
    expect(await handshake({ servername: 'kubernetes', ...source.options() })).toBe('accepted');
    const stranger = await setUp({}, { listAuthorities: () => [createTestAuthority().ca] });
    expect(await handshake({ servername: 'kubernetes', ...stranger.source.options() })).toBe('refused');
  });

  it('given a system without authorities, then those of Node.js are trusted', () => {
    expect(systemAuthorities({ listAuthorities: () => [] })).toBeUndefined();
  });

  it('given that nothing is to be verified, then any server is accepted', async () => {
    const { source } = await setUp({ verify: 'nothing' }, { listAuthorities: () => [] });
    expect(source.options().rejectUnauthorized).toBe(false);
    expect(await handshake(source.options())).toBe('accepted');
  });

  it.each([
    ['garbage', 'data does not contain any valid RSA or ECDSA certificates'],
    [`${authority.ca}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`, expect.stringMatching(/asn1|PEM/i)],
  ])('given an authority that cannot be read, then there is no source', async (garbage, message) => {
    const error = await setUp({ authorities: { kind: 'inline', text: () => garbage } }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^unable to load root certificates: ./),
      cause: { message },
    });
  });
});

describe('when the certificates are read again', () => {
  const identity = (certificate: Pem, key: Pem): Partial<TlsSettings> => ({ identity: { certificate, key } });
  it.each<[string, Partial<TlsSettings>, 'same' | undefined]>([
    ['the authority', { authorities: file('/ca') }, 'same'],
    ['the certificate', identity(file('/cert'), inline('/key')), 'same'],
    ['the key', identity(inline('/cert'), file('/key')), 'same'],
    ['nothing', { authorities: inline('/ca') }, undefined],
    [
      'nothing, with an identity',
      { authorities: inline('/ca'), ...identity(inline('/cert'), inline('/key')) },
      undefined,
    ],
  ])(
    'given that %s is in a file, then what is in files is read again after 5 min',
    async (_what, settings, expected) => {
      const { source, clock, files } = await setUp(settings);
      const before = files.reads.length;
      await clock.advance(299_999);
      expect(source.refresh()).toBeUndefined();
      await clock.advance(1);
      expect(await source.refresh()).toBe(expected);
      expect(files.reads).toHaveLength(2 * before);
      expect(source.refresh()).toBeUndefined();
    },
  );

  it('given files that rotate, then the answer says what has changed, and new connections use it', async () => {
    const { source, clock, logger, files } = await setUp({
      authorities: file('/ca'),
      ...identity(file('/cert'), file('/key')),
      serverName: 'kubernetes',
    });
    const first = source.options().secureContext;
    files.write('/ca', createTestAuthority('other').ca);
    await clock.advance(300_000);
    expect(await source.refresh()).toBe('trust');
    expect(await handshake(source.options())).toBe('refused');
    const second = source.options().secureContext;
    files.write('/cert', two.cert);
    await clock.advance(300_000);
    expect(await source.refresh()).toBe('same');
    expect(source.options().secureContext).toBe(second);
    files.write('/key', two.key);
    await clock.advance(300_000);
    expect(await source.refresh()).toBe('identity');
    expect(new Set([first, second, source.options().secureContext]).size).toBe(3);
    expect(logger.messages()).toEqual([
      'Failed to load client certificate',
      'Certificate rotation detected, shutting down client connections to start using new credentials',
    ]);
  });

  it('given a plugin that prints certificates, then its answers rotate at once, and the authority in a file every 5 min', async () => {
    let issued: Identity | undefined;
    const { source, clock, logger, files } = await setUp({ authorities: file('/ca') }, { issued: () => issued });
    expect(source.refresh()).toBeUndefined();
    issued = one;
    expect([source.refresh(), source.refresh(), logger.messages()]).toEqual(['identity', undefined, []]);
    issued = { ...one };
    expect([source.refresh(), source.refresh()]).toEqual(['same', undefined]);
    issued = two;
    expect(source.refresh()).toBe('identity');
    expect(logger.lines).toMatchObject([{ kind: 'info', level: 1 }]);
    issued = { ...two, key: `${two.key}\n` };
    expect(source.refresh()).toBe('identity');
    files.write('/ca', createTestAuthority('other').ca);
    await clock.advance(300_000);
    expect(await source.refresh()).toBe('trust');
  });
});
