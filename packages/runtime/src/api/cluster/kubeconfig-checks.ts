// SPDX-License-Identifier: Apache-2.0
/** The errors for which client-go refuses a kubeconfig, in its words. All findings are reported at once. */
import { parseProxyUrl } from '../connection/proxy.ts';
import type { Files } from './files.ts';
import type { Chosen, Cluster, User } from './kubeconfig-format.ts';

/** The configuration is empty. */
export class EmptyConfigError extends Error {
  override readonly name = 'EmptyConfigError';
  constructor() {
    super(
      'invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
    );
  }
}

const emptyCluster = 'cluster has no server defined';

export async function confirmUsable(files: Files, chosen: Chosen): Promise<void> {
  const findings = [
    ...contextFindings(chosen),
    ...(await userFindings(files, chosen)),
    ...(await clusterFindings(files, chosen)),
  ];
  const [first] = findings;
  // The findings about the cluster are the last ones, so it is the only one.
  if (first === emptyCluster) throw new EmptyConfigError();
  if (first === undefined) return;
  throw new Error(`invalid configuration: ${findings.length === 1 ? first : `[${findings.join(', ')}]`}`);
}

function contextFindings({ missingContext: name }: Chosen): string[] {
  return name === undefined ? [] : [`context was not found for specified context: ${name}`];
}

/** Undefined: none is set. Throws if it cannot be used. */
export function proxyOf({ proxyUrl = '' }: Cluster): URL | undefined {
  return proxyUrl === '' ? undefined : parseProxyUrl(proxyUrl);
}

async function clusterFindings(files: Files, { cluster }: Chosen): Promise<string[]> {
  const { name, ...settings } = cluster;
  if (Object.values(settings).every((value) => value === undefined || value === '' || value === false)) {
    return [emptyCluster];
  }
  const findings: string[] = [];
  if (cluster.server === '') findings.push(`no server found for cluster "${name}"`);
  const proxyFault = faultOf(() => proxyOf(cluster));
  // Unlike client-go's, the text leaves the address out: it may hold a password.
  if (proxyFault !== undefined) findings.push(`invalid 'proxy-url' for cluster "${name}": ${proxyFault}`);
  const path = cluster.caFile ?? '';
  if (path !== '' && (cluster.caData ?? '') !== '') {
    findings.push(
      `certificate-authority-data and certificate-authority are both specified for ${name}. certificate-authority-data will override.`,
    );
  }
  const fault = await readFault(files, path);
  if (fault !== undefined) findings.push(`unable to read certificate-authority ${path} for ${name} due to ${fault}`);
  return findings;
}

async function userFindings(files: Files, { user }: Chosen): Promise<string[]> {
  const findings = [...(await certificateFindings(files, user)), ...execFindings(user)];
  const methods = [
    ...((user.token ?? '') === '' ? [] : ['token']),
    ...((user.username ?? '') === '' && (user.password ?? '') === '' ? [] : ['basicAuth']),
  ];
  if (methods.length > 1) {
    findings.push(
      `more than one authentication method found for ${user.name}; found [${methods.join(' ')}], only one is allowed`,
    );
  }
  return findings;
}

async function certificateFindings(files: Files, user: User): Promise<string[]> {
  const { name, certFile: certificate = '', certData: certificateData = '', keyFile: key = '', keyData = '' } = user;
  if (certificate === '' && certificateData === '') return [];
  const findings: string[] = [];
  if (certificate !== '' && certificateData !== '') {
    findings.push(`client-cert-data and client-cert are both specified for ${name}. client-cert-data will override.`);
  }
  if (key !== '' && keyData !== '') {
    findings.push(`client-key-data and client-key are both specified for ${name}; client-key-data will override`);
  }
  if (key === '' && keyData === '') {
    findings.push(
      `client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`,
    );
  }
  const certificateFault = await readFault(files, certificate);
  if (certificateFault !== undefined) {
    findings.push(`unable to read client-cert ${certificate} for ${name} due to ${certificateFault}`);
  }
  const keyFault = await readFault(files, key);
  if (keyFault !== undefined) findings.push(`unable to read client-key ${key} for ${name} due to ${keyFault}`);
  return findings;
}

function execFindings({ name, exec, authProvider }: User): string[] {
  if (exec === undefined) return [];
  const findings: string[] = [];
  if (authProvider !== undefined) {
    findings.push(`authProvider cannot be provided in combination with an exec plugin for ${name}`);
  }
  if ((exec.command ?? '') === '') {
    findings.push(`command must be specified for ${name} to use exec authentication plugin`);
  }
  if ((exec.apiVersion ?? '') === '') {
    findings.push(`apiVersion must be specified for ${name} to use exec authentication plugin`);
  }
  if ((exec.env ?? []).some((variable) => (variable.name ?? '') === '')) {
    findings.push(`env variable name must be specified for ${name} to use exec authentication plugin`);
  }
  const mode = exec.interactiveMode ?? '';
  // Unlike client-go, this assumes that a plugin of version v1 without an interactive mode needs no input.
  if (!['', 'Never', 'IfAvailable', 'Always'].includes(mode)) {
    findings.push(`invalid interactiveMode for ${name}: ${JSON.stringify(mode)}`);
  }
  return findings;
}

async function readFault(files: Files, path: string): Promise<string | undefined> {
  if (path === '') return undefined;
  return files.read(path).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

function faultOf(check: () => unknown): string | undefined {
  try {
    check();
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}
