// SPDX-License-Identifier: Apache-2.0
/** The configuration that Kubernetes gives every pod: two variables and the files of the service account. */
import { parseEndpoint } from '../connection/endpoint.ts';
import type { Environment } from '../connection/proxy.ts';
import type { Logger } from '../../log/logger.ts';
import type { ClusterConfig, Pem } from './cluster-config.ts';
import { type Files, readText } from './files.ts';
import { checkCertificates } from './tls-source.ts';

const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
const tokenPath = `${folder}/token`;
const authorityPath = `${folder}/ca.crt`;

export interface LoadDeps {
  readonly files: Files;
  readonly env: Environment;
  readonly logger: Logger;
}

export function isInCluster({ env, files }: LoadDeps): Promise<boolean> {
  if (serviceOf(env) === undefined) return Promise.resolve(false);
  return files.read(tokenPath).then(
    () => true,
    () => false,
  );
}

export async function loadInClusterConfig({ files, env, logger }: LoadDeps): Promise<ClusterConfig> {
  const server = serviceOf(env);
  if (server === undefined) {
    throw new Error(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  }
  // Checks only that the file can be read. Its content is read when it is needed.
  await files.read(tokenPath);
  return {
    endpoint: parseEndpoint(server, 'https'),
    tls: {
      authorities: await usableAuthority(files, logger),
      verify: 'server',
    },
    user: { kind: 'tokenFile', path: tokenPath },
  };
}

function serviceOf(env: Environment): string | undefined {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '';
  if (host === '' || port === '') return undefined;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** If it is missing, the authorities of the system are used, as in client-go. */
async function usableAuthority(files: Files, logger: Logger): Promise<Pem | undefined> {
  try {
    const text = await readText(files, authorityPath);
    try {
      checkCertificates(text);
      return { kind: 'file', path: authorityPath };
    } catch (cause) {
      throw new Error(`error creating pool from ${authorityPath}: ${(cause as Error).message}`, { cause });
    }
  } catch (error) {
    logger.error(
      error,
      `Expected to load root CA config from ${authorityPath}, but got err: ${(error as Error).message}`,
    );
  }
  return undefined;
}
