// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto';
import type { Pem } from './cluster-config.ts';
import { type Files, readText } from './files.ts';

export async function readPem(files: Files, pem: Pem): Promise<string> {
  return pem.kind === 'file' ? readText(files, pem.path) : pem.text();
}

/** Throws unless the text holds certificates, all of them readable. */
export function checkCertificates(text: string): void {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (blocks === null) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  for (const block of blocks) void new X509Certificate(block);
}
