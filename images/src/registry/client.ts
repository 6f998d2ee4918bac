// SPDX-License-Identifier: Apache-2.0
/** Requests to a registry (OCI distribution specification 1.1): credentials when it asks for them, and errors that say what to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Credentials } from './credentials.ts';
import type { Target } from './target.ts';

export interface RegistryRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** A path of the registry, or an address that it has answered. */
  readonly to: string;
  /** What a token must allow, for example `repository:a:pull,push`. */
  readonly scopes: readonly string[];
  readonly type?: string;
  readonly body?: Uint8Array;
}

export interface RegistryAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where it came from, for relative addresses in it. */
  readonly url: string;
}

/** Resolves to answers of any status that is not a reason for another attempt. */
export type RegistryClient = (request: RegistryRequest) => Promise<RegistryAnswer>;

const busy: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const attempts = 4;

/** Nothing has answered, or it was not the expected answer. */
export class RegistryError extends Error {
  /** Whether it may be different in a moment. */
  readonly retry: boolean;

  constructor(message: string, retry: boolean) {
    super(message);
    this.retry = retry;
  }
}

/** `operation` must be one that may be repeated from its start. */
export async function patiently<T>(
  operation: () => Promise<T>,
  pause: (milliseconds: number) => Promise<unknown> = sleep,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof RegistryError && error.retry) || attempt === attempts) throw error;
    }
    await pause(1000 * 2 ** (attempt - 1));
  }
}

export function createClient({ target, credentials }: Asker): RegistryClient {
  /** Scopes -> value of the header. */
  const known = new Map<string, string>();
  const exchange = async (request: RegistryRequest): Promise<RegistryAnswer> => {
    const url = new URL(request.to, target.url);
    if (target.url.startsWith('https:') && url.protocol !== 'https:') {
      throw new Error(`${target.name} wants data at http://${url.host}, without TLS: it does not know its own address`);
    }
    const authorization = known.get(keyOf(request));
    return await ask(url, {
      method: request.method,
      headers: {
        ...(request.type !== undefined && { 'content-type': request.type }),
        // An address on another host has its own permission in it.
        ...(authorization !== undefined && url.origin === target.url && { authorization }),
      },
      ...(request.body !== undefined && { body: request.body as Uint8Array<ArrayBuffer> }),
    });
  };
  return async (request) => {
    let answer = await exchange(request);
    if (answer.status === 401) {
      const challenge = answer.headers.get('www-authenticate') ?? '';
      known.set(keyOf(request), await authorizationFor(challenge, request.scopes, { target, credentials }));
      answer = await exchange(request);
    }
    if (busy.has(answer.status)) throw refusal(answer, { target, credentials });
    return answer;
  };
}

function keyOf({ scopes }: RegistryRequest): string {
  return scopes.join(' ');
}

export interface Asker {
  readonly target: Target;
  readonly credentials: Credentials;
}

/** The answer to a challenge of the registry, as the value of a header. */
async function authorizationFor(challenge: string, scopes: readonly string[], asker: Asker): Promise<string> {
  const { target, credentials } = asker;
  if (credentials.kind === 'bearer') return `Bearer ${credentials.token}`;
  const parameters = /\bBearer\s+(.*)/i.exec(challenge)?.[1];
  if (parameters !== undefined) return `Bearer ${await fetchToken(parameters, scopes, asker)}`;
  if (!/\bBasic\b/i.test(challenge)) {
    throw new Error(`${target.host} asks for credentials of a kind that is not known here: ${challenge || 'none'}`);
  }
  if (credentials.kind !== 'password')
    throw new Error(`${target.host} asks for a password: docker login ${target.host}`);
  return basic(credentials);
}

async function fetchToken(parameters: string, scopes: readonly string[], asker: Asker): Promise<string> {
  const { target, credentials } = asker;
  const named = new Map([...parameters.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]));
  const realm = URL.parse(named.get('realm') ?? '');
  if (realm === null) throw new Error(`${target.host} does not say where its tokens come from: ${parameters}`);
  if (target.url.startsWith('https:') && realm.protocol !== 'https:') {
    throw new Error(`${target.host} sends for tokens to ${realm.host} without TLS; credentials are not sent there`);
  }
  const service = named.get('service');
  const wanted = scopes.length > 0 ? scopes : (named.get('scope')?.split(' ') ?? []);
  const fields = new URLSearchParams(service === undefined ? {} : { service });
  // One field with all of them in a form, one for each in an address: so docker does it.
  for (const scope of credentials.kind === 'identity' ? [wanted.join(' ')] : wanted) fields.append('scope', scope);
  let answer: RegistryAnswer;
  if (credentials.kind === 'identity') {
    fields.append('grant_type', 'refresh_token');
    fields.append('refresh_token', credentials.token);
    fields.append('client_id', 'csi-sidecars');
    answer = await ask(realm, { method: 'POST', body: fields });
  } else {
    for (const [name, value] of fields) realm.searchParams.append(name, value);
    const headers = credentials.kind === 'password' ? { authorization: basic(credentials) } : {};
    answer = await ask(realm, { method: 'GET', headers });
  }
  if (answer.status !== 200) throw refusal(answer, asker);
  const { token, access_token: accessToken } = parsed(answer.text) as Readonly<Record<string, unknown>>;
  const found = token ?? accessToken;
  if (typeof found !== 'string') throw new Error(`${realm.host} answered without a token`);
  return found;
}

function basic({ user, password }: Extract<Credentials, { kind: 'password' }>): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Connections that were lost; a name that is unknown, or a port without a listener, stays so. */
const passing: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

async function ask(url: URL, init: RequestInit): Promise<RegistryAnswer> {
  try {
    const response = await fetch(url, init);
    // Read to its end, because the connection is used again.
    return { status: response.status, headers: response.headers, text: await response.text(), url: response.url };
  } catch (error) {
    const code = codeOf(error);
    throw new RegistryError(`${url.host} cannot be reached: ${reasonOf(error)}${adviceFor(code)}`, passing.has(code));
  }
}

function codeOf(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'string') return each.code;
  }
  return '';
}

/** fetch has the reason in the cause of its error; a host with two addresses has one for each. */
function reasonOf(error: unknown): string {
  let last = error;
  while (last instanceof Error && last.cause instanceof Error) last = last.cause;
  if (last instanceof AggregateError) return last.errors.map(reasonOf).join(', ');
  return last instanceof Error ? last.message : String(last);
}

function adviceFor(code: string): string {
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(code)) {
    return '. NODE_EXTRA_CA_CERTS names a file with the authority of its certificate';
  }
  if (/SSL|EPROTO/.test(code)) return '. If it has no TLS, add --insecure';
  return '';
}

/** The error for an unexpected answer. */
export function refusal(answer: RegistryAnswer, asker: Asker): RegistryError {
  const { errors } = parsed(answer.text) as { readonly errors?: readonly Readonly<Record<string, unknown>>[] };
  const first = Array.isArray(errors) ? errors[0] : undefined;
  const code = typeof first?.['code'] === 'string' ? first['code'] : '';
  const message = typeof first?.['message'] === 'string' ? first['message'] : '';
  const said = [answer.status, code, message && `"${message}"`].filter((part) => part !== '').join(' ');
  return new RegistryError(
    `${asker.target.host} answered ${said}${advice(answer.status, code, asker)}`,
    busy.has(answer.status),
  );
}

function advice(status: number, code: string, { target, credentials }: Asker): string {
  const login = `docker login ${target.host}`;
  if (status === 401 || status === 403) {
    return credentials.kind === 'none'
      ? `. There are no credentials for it: ${login}`
      : `. The credentials of docker for it are not accepted, or may not push to ${target.name}: ${login}`;
  }
  if (code === 'NAME_UNKNOWN' || status === 404) {
    return `. Some registries want a repository or a project to be created before: one for each image below ${target.name}`;
  }
  if (code === 'DIGEST_INVALID') return '. Something on the way has changed the data: try again';
  if (status === 413) return '. A proxy in front of it has a limit for the size of a request';
  if (status === 429) return '. It has a limit for requests: try again later';
  return '';
}

function parsed(text: string): unknown {
  try {
    return (JSON.parse(text) as unknown) ?? {};
  } catch {
    return {};
  }
}
