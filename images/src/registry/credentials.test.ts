// SPDX-License-Identifier: Apache-2.0
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialsFor, type Credentials } from './credentials.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const password = (user: string, secret: string): Credentials => ({ kind: 'password', user, password: secret });

function configured(config: object | string): void {
  writeFileSync(join(folder, 'config.json'), typeof config === 'string' ? config : JSON.stringify(config));
}

/** A helper that answers so for `ghcr.io`, and as docker's own helpers do for what it does not know. */
function helper(name: string, answer: string): void {
  const path = join(folder, `docker-credential-${name}`);
  writeFileSync(
    path,
    `#!/bin/sh\nread -r key\nif [ "$1 $key" = "get ghcr.io" ]; then echo '${answer}'; exit 0; fi\necho 'credentials not found in native keychain'; exit 1\n`,
  );
  chmodSync(path, 0o755);
}

const found = (host: string): Promise<Credentials> =>
  credentialsFor(host, { DOCKER_CONFIG: folder, PATH: `${folder}:${process.env['PATH']}` });

describe('[packaging#57] credentials of docker', () => {
  it('given no config.json, then there are none', async () => {
    expect(await found('ghcr.io')).toEqual({ kind: 'none' });
  });

  it.each(['ghcr.io', 'https://ghcr.io', 'https://ghcr.io/v2/'])(
    'given auths with the key %s, then they are of ghcr.io only',
    async (key) => {
      configured({ auths: { [key]: { auth: base64('me:pass:word') } } });
      expect(await found('ghcr.io')).toEqual(password('me', 'pass:word'));
      expect(await found('ghcr.io.example.com')).toEqual({ kind: 'none' });
    },
  );

  it('given the address that docker has for its hub, then it is docker.io, and zeros at the end are not the password', async () => {
    configured({ auths: { 'https://index.docker.io/v1/': { auth: base64('me:secret\0\0') } } });
    expect(await found('docker.io')).toEqual(password('me', 'secret'));
  });

  it('given tokens, then they are not taken for a password', async () => {
    configured({
      auths: {
        a: { auth: base64('00000000-0000-0000-0000-000000000000:'), identitytoken: 'identity' },
        b: { registrytoken: 'bearer' },
      },
    });
    expect(await found('a')).toEqual({ kind: 'identity', token: 'identity' });
    expect(await found('b')).toEqual({ kind: 'bearer', token: 'bearer' });
  });

  it('given a helper for the registry, then it wins over the store and the file', async () => {
    configured({
      auths: { 'ghcr.io': { auth: base64('file:secret') } },
      credsStore: 'missing',
      credHelpers: { 'ghcr.io': 'own' },
    });
    helper('own', '{"ServerURL":"ghcr.io","Username":"helped","Secret":"s"}');
    expect(await found('ghcr.io')).toEqual(password('helped', 's'));
  });

  it('given a store that knows a token, then it is an identity; what the store does not know is looked up in the file', async () => {
    configured({ auths: { 'ghcr.io': {}, other: { auth: base64('file:secret') } }, credsStore: 'store' });
    helper('store', '{"Username":"<token>","Secret":"t"}');
    expect(await found('ghcr.io')).toEqual({ kind: 'identity', token: 't' });
    expect(await found('other')).toEqual(password('file', 'secret'));
  });

  it('given a helper that is not there or fails, then the error names it', async () => {
    configured({ credsStore: 'missing' });
    await expect(found('ghcr.io')).rejects.toThrow('docker-credential-missing, and it is not in PATH');
    configured({ credsStore: 'broken' });
    const path = join(folder, 'docker-credential-broken');
    writeFileSync(path, '#!/bin/sh\nexit 3\n');
    chmodSync(path, 0o755);
    await expect(found('ghcr.io')).rejects.toThrow(
      'docker-credential-broken could not say the credentials for ghcr.io (exit code 3)',
    );
  });

  it('given a file that is not JSON, then the error has its path and nothing of its content', async () => {
    configured('{"auths": secret');
    const error = await found('ghcr.io').catch((thrown: unknown) => thrown);
    expect((error as Error).message).toBe(`${join(folder, 'config.json')} is not JSON`);
  });
});
