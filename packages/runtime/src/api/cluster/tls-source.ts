// SPDX-License-Identifier: Apache-2.0
/**
 * The certificates to verify the server with and to show it, as they rotate: files are looked at every five minutes at most,
 * when a request is made; what an exec plugin printed, at each request. If something cannot be read or parsed, the current
 * certificates stay in use.
 */
import { X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  getCACertificates,
  type ConnectionOptions,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls';
import type { Clock } from '../../clock/clock.ts';
import type { Logger } from '../../log/logger.ts';
import type { Rotation, TlsSource } from '../connection/server-transport.ts';
import type { Identity } from '../credentials.ts';
import type { TlsSettings, Pem } from './cluster-config.ts';
import { type Files, readText } from './files.ts';

const checkEveryMs = 5 * 60_000;

export interface TlsSourceDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What an exec plugin printed last, instead of what the settings name: the same object until it prints another one. */
  readonly issued?: (() => Identity | undefined) | undefined;
  /** `getCACertificates` of Node.js by default. */
  readonly listAuthorities?: typeof getCACertificates;
}

interface Material {
  readonly authorities: string | undefined;
  readonly identity: Identity | undefined;
}

/** Rejects if the certificates at the start cannot be used. */
export async function loadTlsSource(deps: TlsSourceDeps, settings: TlsSettings): Promise<TlsSource> {
  const { clock, logger, issued } = deps;
  let material: Material = {
    authorities: await readAuthorities(deps, settings),
    identity: await readIdentity(deps, settings),
  };
  let context: SecureContext | undefined;
  let checkedMs = clock.monotonicMs();

  const adopt = (after: Material): Rotation => {
    const before = material;
    const identityChanged =
      after.identity?.cert !== before.identity?.cert || after.identity?.key !== before.identity?.key;
    material = after;
    if (!identityChanged && after.authorities === before.authorities) return 'same';
    context = undefined;
    if (!identityChanged) return 'trust';
    if (before.identity !== undefined) {
      logger.info(1, 'Certificate rotation detected, shutting down client connections to start using new credentials');
    }
    return 'identity';
  };
  const check = async (): Promise<Rotation> => {
    const before = material;
    const authorities = await orBefore(
      () => readAuthorities(deps, settings),
      before.authorities,
      'Failed to load CA data from file',
    );
    const identity = await orBefore(
      () => readIdentity(deps, settings),
      before.identity,
      'Failed to load client certificate',
    );
    return adopt({ authorities, identity });
  };
  const orBefore = async <T>(read: () => Promise<T>, before: T, message: string): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      logger.error(error, message);
      return before;
    }
  };

  return {
    options: (): ConnectionOptions => {
      context ??= createSecureContext(contextOptions(deps, material));
      return {
        secureContext: context,
        rejectUnauthorized: settings.verify === 'server',
        ...(settings.serverName !== undefined && { servername: settings.serverName }),
      };
    },
    refresh: () => {
      if (issued !== undefined && issued() !== material.identity) {
        return adopt({ ...material, identity: issued() });
      }
      if (!mayRotate(settings) || clock.monotonicMs() - checkedMs < checkEveryMs) return undefined;
      checkedMs = clock.monotonicMs();
      return check();
    },
  };
}

function mayRotate({ authorities, identity }: TlsSettings): boolean {
  return [authorities, identity?.certificate, identity?.key].some((pem) => pem?.kind === 'file');
}

async function readAuthorities({ files }: TlsSourceDeps, { authorities }: TlsSettings): Promise<string | undefined> {
  if (authorities === undefined) return undefined;
  const text = await readPem(files, authorities);
  try {
    checkCertificates(text);
  } catch (cause) {
    throw new Error(`unable to load root certificates: ${(cause as Error).message}`, { cause });
  }
  return text;
}

/** Returns both or neither, because the files do not match while they are being replaced. */
async function readIdentity({ files, issued }: TlsSourceDeps, settings: TlsSettings): Promise<Identity | undefined> {
  if (issued !== undefined) return issued();
  if (settings.identity === undefined) return undefined;
  const { certificate, key } = settings.identity;
  const pair = { cert: await readPem(files, certificate), key: await readPem(files, key) };
  createSecureContext(pair);
  return pair;
}

function contextOptions(deps: TlsSourceDeps, { authorities, identity }: Material): SecureContextOptions {
  return { ...identity, ca: authorities ?? systemAuthorities(deps) };
}

/** Go trusts the authorities of the system. Node.js by default trusts its own, which are used here only if the system has none. */
export function systemAuthorities({
  listAuthorities = getCACertificates,
}: Pick<TlsSourceDeps, 'listAuthorities'>): string[] | undefined {
  const found = listAuthorities('system');
  return found.length > 0 ? found : undefined;
}

async function readPem(files: Files, pem: Pem): Promise<string> {
  return pem.kind === 'file' ? readText(files, pem.path) : pem.text();
}

/** Throws unless the text holds certificates, all of them readable. */
export function checkCertificates(text: string): void {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (blocks === null) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  for (const block of blocks) void new X509Certificate(block);
}
