// SPDX-License-Identifier: Apache-2.0
/** The key pair with which the API server signs ServiceAccount tokens. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ServiceAccountKeys {
  readonly publicKeyFile: string;
  readonly privateKeyFile: string;
}

export function writeServiceAccountKeys(folder: string): ServiceAccountKeys {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const publicKeyFile = join(folder, 'service-accounts.pub');
  const privateKeyFile = join(folder, 'service-accounts.key');
  writeFileSync(publicKeyFile, keys.publicKey);
  writeFileSync(privateKeyFile, keys.privateKey, { mode: 0o600 });
  return { publicKeyFile, privateKeyFile };
}
