// SPDX-License-Identifier: Apache-2.0
/**
 * Certificates for tests of real TLS connections, made in memory: just enough DER for one authority and what it issues.
 * They are valid from 2020 to 2049, whatever the clock says.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface TestCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority {
  /** PEM of the authority's own certificate. */
  readonly ca: string;
  readonly issue: (subject: CertificateSubject) => TestCertificate;
}

export interface CertificateSubject {
  readonly commonName: string;
  /** Kubernetes uses it as a group. */
  readonly organization?: string;
  /** For a server: the names and IPv4 addresses it answers to. */
  readonly hosts?: readonly string[];
}

export function createTestAuthority(commonName = 'test authority'): TestAuthority {
  const issuer = newKey();
  const isAuthority = extension('2.5.29.19', sequence(tlv(0x01, Buffer.from([0xff]))));
  const ca = certificate({
    issuer,
    issuerName: commonName,
    subject: { commonName },
    key: issuer,
    extensions: [isAuthority],
  });
  return {
    ca,
    issue: (subject) => {
      const key = newKey();
      const extensions = (subject.hosts ?? []).length === 0 ? [] : [alternativeNames(subject.hosts ?? [])];
      const cert = certificate({ issuer, issuerName: commonName, subject, key, extensions });
      return { cert, key: key.export({ type: 'pkcs8', format: 'pem' }) as string };
    },
  };
}

interface CertificateContent {
  readonly issuer: KeyObject;
  readonly issuerName: string;
  readonly subject: CertificateSubject;
  readonly key: KeyObject;
  readonly extensions: readonly Buffer[];
}

/** RFC 5280, 4.1. */
function certificate(facts: CertificateContent): string {
  const algorithm = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
  const publicKey = createPublicKey(facts.key).export({ type: 'spki', format: 'der' });
  const toBeSigned = sequence(
    tlv(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    algorithm,
    name({ commonName: facts.issuerName }),
    sequence(utcTime('200101000000Z'), utcTime('491231000000Z')),
    name(facts.subject),
    publicKey,
    ...(facts.extensions.length > 0 ? [tlv(0xa3, sequence(...facts.extensions))] : []),
  );
  const signature = sign('sha256', toBeSigned, facts.issuer);
  const der = sequence(toBeSigned, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function name({ commonName, organization }: CertificateSubject): Buffer {
  const attribute = (type: string, value: string): Buffer =>
    tlv(0x31, sequence(objectIdentifier(type), tlv(0x0c, Buffer.from(value))));
  const organizations = organization === undefined ? [] : [attribute('2.5.4.10', organization)];
  return sequence(...organizations, attribute('2.5.4.3', commonName));
}

function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host) ? tlv(0x87, Buffer.from(host.split('.').map(Number))) : tlv(0x82, Buffer.from(host)),
  );
  return extension('2.5.29.17', sequence(...names));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(objectIdentifier(id), tlv(0x04, value));
}

function utcTime(text: string): Buffer {
  return tlv(0x17, Buffer.from(text));
}

function integer(bytes: Buffer): Buffer {
  return tlv(0x02, bytes);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function objectIdentifier(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return tlv(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}
