// SPDX-License-Identifier: Apache-2.0
/** The certificates of one control plane as files: a CA of its own, a pair for the server, one per identity. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestAuthority, type CertificateSubject } from '@csi-sidecars/runtime/testing';

export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Certificates {
  readonly caFile: string;
  /** `file` is the base name of the two files. */
  issue(file: string, subject: CertificateSubject): KeyPair;
}

export const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1'];

/** `authority`: its name, by which OpenSSL finds the issuer of a certificate. */
export function createCertificates(folder: string, authority = 'csi-sidecars-e2e'): Certificates {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { ca, issue } = createTestAuthority(authority);
  const save = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  return {
    caFile: save('ca.crt', ca),
    issue: (file, subject) => {
      const { cert, key } = issue(subject);
      return { certFile: save(`${file}.crt`, cert), keyFile: save(`${file}.key`, key) };
    },
  };
}
