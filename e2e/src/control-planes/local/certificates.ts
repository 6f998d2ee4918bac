// SPDX-License-Identifier: Apache-2.0
/**
 * The certificates of one control plane: a CA of its own, a certificate per identity, and the key pair that signs
 * ServiceAccount tokens. Written by the `openssl` program (version 3), which every machine that runs etcd has at hand; they
 * live as long as the run.
 */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Certificates {
  readonly ca: KeyPair;
  /** A certificate for a server on loopback. */
  issueServer(file: string): Promise<KeyPair>;
  /** A certificate under which somebody talks to the API server. */
  issueClient(identity: Identity): Promise<KeyPair>;
  readonly serviceAccounts: { readonly publicKeyFile: string; readonly privateKeyFile: string };
}

export interface Identity {
  /** Base name of its files. */
  readonly file: string;
  readonly commonName: string;
  readonly organization?: string;
}

const run = promisify(execFile);
const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export async function createCertificates(folder: string): Promise<Certificates> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A configuration of our own: the system's would add extensions.
  const config = join(folder, 'openssl.cnf');
  writeFileSync(config, '[req]\ndistinguished_name = dn\n[dn]\n');
  const pairOf = (file: string): KeyPair => ({
    certFile: join(folder, `${file}.crt`),
    keyFile: join(folder, `${file}.key`),
  });
  const ca = pairOf('ca');

  const write = async (pair: KeyPair, subject: string, options: readonly string[]): Promise<KeyPair> => {
    const created = ['-days', '30', '-subj', subject, '-out', pair.certFile, '-keyout', pair.keyFile];
    await run('openssl', ['req', '-x509', '-config', config, ...ecKey, ...created, ...options]);
    return pair;
  };
  const leaf = (usage: readonly string[]): readonly string[] => [
    '-CA',
    ca.certFile,
    '-CAkey',
    ca.keyFile,
    ...extensions('basicConstraints=critical,CA:FALSE', ...usage),
  ];
  await write(
    ca,
    '/CN=csi-sidecars-e2e-ca',
    extensions('basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'),
  );

  return {
    ca,
    issueServer: (file) =>
      write(
        pairOf(file),
        `/CN=${file}`,
        leaf(['extendedKeyUsage=serverAuth', 'subjectAltName=DNS:localhost,IP:127.0.0.1']),
      ),
    issueClient: ({ file, commonName, organization }) =>
      write(
        pairOf(file),
        `${organization === undefined ? '' : `/O=${organization}`}/CN=${commonName}`,
        leaf(['extendedKeyUsage=clientAuth']),
      ),
    serviceAccounts: writeServiceAccountKeys(folder),
  };
}

function extensions(...values: readonly string[]): readonly string[] {
  return values.flatMap((value) => ['-addext', value]);
}

function writeServiceAccountKeys(folder: string): Certificates['serviceAccounts'] {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const files = {
    publicKeyFile: join(folder, 'service-accounts.pub'),
    privateKeyFile: join(folder, 'service-accounts.key'),
  };
  writeFileSync(files.publicKeyFile, keys.publicKey);
  writeFileSync(files.privateKeyFile, keys.privateKey, { mode: 0o600 });
  return files;
}
