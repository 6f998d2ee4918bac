// SPDX-License-Identifier: Apache-2.0
/** The errors for which client-go refuses a kubeconfig, in its words. All findings are reported at once. */
import { parseProxyUrl } from '../connection/proxy.ts';
import type { Files } from './files.ts';
import type { Chosen } from './kubeconfig-format.ts';

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
  const [only] = findings;
  if (findings.length === 1 && only === emptyCluster) throw new EmptyConfigError();
  if (only === undefined) return;
  throw new Error(`invalid configuration: ${findings.length === 1 ? only : `[${findings.join(', ')}]`}`);
}

function contextFindings({ contextName, contextExists }: Chosen): string[] {
  if (contextName === '' || contextExists) return [];
  return [`context was not found for specified context: ${contextName}`];
}

async function clusterFindings(files: Files, { clusterName, cluster }: Chosen): Promise<string[]> {
  const { name: _name, ...settings } = cluster;
  if (Object.values(settings).every((value) => value === undefined || value === '' || value === false)) {
    return [emptyCluster];
  }
  const findings: string[] = [];
  if (cluster.server === '') {
    findings.push(
      clusterName === '' ? 'default cluster has no server defined' : `no server found for cluster "${clusterName}"`,
    );
  }
  const proxy = cluster.proxyUrl ?? '';
  const proxyFault = proxy === '' ? undefined : faultOf(() => parseProxyUrl(proxy));
  // Unlike client-go's, the text leaves the address out: it may hold a password.
  if (proxyFault !== undefined) findings.push(`invalid 'proxy-url' for cluster "${clusterName}": ${proxyFault}`);
  const path = cluster.caFile ?? '';
  if (path !== '' && (cluster.caData ?? '') !== '') {
    findings.push(
      `certificate-authority-data and certificate-authority are both specified for ${clusterName}. certificate-authority-data will override.`,
    );
  }
  const fault = await readFault(files, path);
  if (fault !== undefined)
    findings.push(`unable to read certificate-authority ${path} for ${clusterName} due to ${fault}`);
  return findings;
}

async function userFindings(files: Files, { userName, user }: Chosen): Promise<string[]> {
  const findings = [...(await certificateFindings(files, { userName, user })), ...execFindings({ userName, user })];
  const methods = [
    ...((user.token ?? '') === '' ? [] : ['token']),
    ...((user.username ?? '') === '' && (user.password ?? '') === '' ? [] : ['basicAuth']),
  ];
  if (methods.length > 1) {
    findings.push(
      `more than one authentication method found for ${userName}; found [${methods.join(' ')}], only one is allowed`,
    );
  }
  return findings;
}

type NamedUser = Pick<Chosen, 'userName' | 'user'>;

async function certificateFindings(files: Files, { userName, user }: NamedUser): Promise<string[]> {
  const [certificate = '', certificateData = ''] = [user.certFile, user.certData];
  const [key = '', keyData = ''] = [user.keyFile, user.keyData];
  if (certificate === '' && certificateData === '') return [];
  const findings: string[] = [];
  if (certificate !== '' && certificateData !== '') {
    findings.push(
      `client-cert-data and client-cert are both specified for ${userName}. client-cert-data will override.`,
    );
  }
  if (key !== '' && keyData !== '') {
    findings.push(`client-key-data and client-key are both specified for ${userName}; client-key-data will override`);
  }
  if (key === '' && keyData === '') {
    findings.push(
      `client-key-data or client-key must be specified for ${userName} to use the clientCert authentication method.`,
    );
  }
  const certificateFault = await readFault(files, certificate);
  if (certificateFault !== undefined) {
    findings.push(`unable to read client-cert ${certificate} for ${userName} due to ${certificateFault}`);
  }
  const keyFault = await readFault(files, key);
  if (keyFault !== undefined) findings.push(`unable to read client-key ${key} for ${userName} due to ${keyFault}`);
  return findings;
}

function execFindings({ userName, user }: NamedUser): string[] {
  const { exec } = user;
  if (exec === undefined || exec === null) return [];
  const findings: string[] = [];
  if ((user.authProvider ?? null) !== null) {
    findings.push(`authProvider cannot be provided in combination with an exec plugin for ${userName}`);
  }
  if ((exec.command ?? '') === '') {
    findings.push(`command must be specified for ${userName} to use exec authentication plugin`);
  }
  if ((exec.apiVersion ?? '') === '') {
    findings.push(`apiVersion must be specified for ${userName} to use exec authentication plugin`);
  }
  if ((exec.env ?? []).some(({ name }) => (name ?? '') === '')) {
    findings.push(`env variable name must be specified for ${userName} to use exec authentication plugin`);
  }
  const mode = exec.interactiveMode ?? '';
  // Unlike client-go, this assumes that a plugin of version v1 without an interactive mode needs no input.
  if (!['', 'Never', 'IfAvailable', 'Always'].includes(mode)) {
    findings.push(`invalid interactiveMode for ${userName}: ${JSON.stringify(mode)}`);
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
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
