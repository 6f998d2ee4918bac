// SPDX-License-Identifier: Apache-2.0
/** Until when the certificates are valid by which the API server or a client knows a server. */
import { X509Certificate } from 'node:crypto';
import type { AuthorityFacts } from './facts.ts';

/** `caBundle`: PEM in base64, as objects of the API have it. */
export function authorityOf(caBundle: string): AuthorityFacts {
  if (caBundle === '') return { kind: 'none' };
  const pem = Buffer.from(caBundle, 'base64').toString();
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    const ends = certificates.map((text) => new X509Certificate(text).validToDate.getTime());
    // A bundle may hold an old authority beside a new one.
    return ends.length === 0 ? { kind: 'unreadable' } : { kind: 'valid', untilMs: Math.max(...ends) };
  } catch {
    return { kind: 'unreadable' };
  }
}
