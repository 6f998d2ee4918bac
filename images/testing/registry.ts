// SPDX-License-Identifier: Apache-2.0
/**
 * A registry in this process that keeps to the rules of the OCI distribution specification and refuses what breaks them: tokens by
 * scopes, uploads with a state of their own, digests that are compared, manifests whose parts must be there.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { digestOf } from '../src/oci/layout.ts';

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RegistryOptions {
  /** Default: everybody may do everything. `identity`: a token of the user is exchanged for one of the registry. */
  readonly auth?: 'bearer' | 'basic' | 'identity';
  /** `never`: an upload is opened instead, as the specification allows. */
  readonly mounts?: 'never';
  /** Before anything else; `drop` closes the connection. */
  readonly interfere?: (request: string) => Reply | 'drop' | undefined;
  /** What is stored in place of what was sent. */
  readonly tamper?: (body: Buffer) => Buffer;
}

export interface Repository {
  readonly blobs: Map<string, Buffer>;
  readonly manifests: Map<string, Buffer>;
  readonly tags: Map<string, string>;
}

export interface TestRegistry extends AsyncDisposable {
  /** `localhost:1234` */
  readonly host: string;
  /** Method and path of each request, without queries and digests. */
  readonly log: string[];
  /** The header of each request. */
  readonly authorizations: (string | undefined)[];
  readonly repositories: ReadonlyMap<string, Repository>;
}

export const account = { user: 'robot$push', password: 'pass:word', identity: 'a refresh token' };
const basic = `Basic ${Buffer.from(`${account.user}:${account.password}`).toString('base64')}`;

export async function startRegistry(options: RegistryOptions = {}): Promise<TestRegistry> {
  const log: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const repositories = new Map<string, Repository>();
  const uploads = new Map<string, string>();
  const repositoryNamed = (name: string): Repository => {
    const found = repositories.get(name) ?? { blobs: new Map(), manifests: new Map(), tags: new Map() };
    repositories.set(name, found);
    return found;
  };
  let host = '';

  const answer = (request: IncomingMessage, body: Buffer): Reply => {
    const url = new URL(request.url ?? '', `http://${host}`);
    if (url.pathname === '/token') return token(request, url, body);
    const wanted = scopesOf(request, url);
    const refusal = authorize(request, wanted);
    if (refusal !== undefined) return refusal;
    if (url.pathname === '/v2/') return { status: 200 };
    const [, name = '', kind = '', rest = ''] = /^\/v2\/(.+)\/(blobs|manifests)\/(.*)$/.exec(url.pathname) ?? [];
    if (kind === 'manifests') return putManifest(name, rest, { type: request.headers['content-type'], body });
    if (rest === 'uploads/' && request.method === 'POST') return openUpload(name, url);
    if (kind === 'blobs' && request.method === 'HEAD') {
      return { status: repositoryNamed(name).blobs.has(rest) ? 200 : 404 };
    }
    if (rest.startsWith('uploads/') && request.method === 'PUT') return putBlob(name, url, body);
    return failure(404, 'NAME_UNKNOWN', 'no such repository');
  };
  const openUpload = (name: string, url: URL): Reply => {
    const [mount, from] = [url.searchParams.get('mount'), url.searchParams.get('from')];
    const content = mount && from ? repositories.get(from)?.blobs.get(mount) : undefined;
    if (mount && content !== undefined && options.mounts !== 'never') {
      repositoryNamed(name).blobs.set(mount, content);
      return { status: 201, headers: { location: `/v2/${name}/blobs/${mount}` } };
    }
    // A state that a client must give back to the letter.
    const state = `a+b%2Fc=${uploads.size}`;
    uploads.set(state, name);
    return { status: 202, headers: { location: `/v2/${name}/blobs/uploads/session?_state=${state}` } };
  };
  const putBlob = (name: string, url: URL, sent: Buffer): Reply => {
    const [, state = '', digest = ''] = /^\?_state=(.*)&digest=(.*)$/.exec(url.search) ?? [];
    if (uploads.get(state) !== name) return failure(404, 'BLOB_UPLOAD_UNKNOWN', 'no such upload');
    uploads.delete(state);
    const body = options.tamper?.(sent) ?? sent;
    if (digestOf(body) !== decodeURIComponent(digest)) return failure(400, 'DIGEST_INVALID', 'provided digest differs');
    repositoryNamed(name).blobs.set(digestOf(body), body);
    return { status: 201 };
  };
  const putManifest = (
    name: string,
    reference: string,
    { type, body }: { type: string | undefined; body: Buffer },
  ): Reply => {
    const { blobs, manifests, tags } = repositoryNamed(name);
    const content = JSON.parse(body.toString()) as {
      readonly mediaType: string;
      readonly manifests?: readonly { readonly digest: string }[];
      readonly config?: { readonly digest: string };
      readonly layers?: readonly { readonly digest: string }[];
    };
    if (content.mediaType !== type) return failure(400, 'MANIFEST_INVALID', 'media type');
    const parts = [...(content.layers ?? []), ...(content.config === undefined ? [] : [content.config])];
    if (parts.some(({ digest }) => !blobs.has(digest))) return failure(404, 'MANIFEST_BLOB_UNKNOWN', 'blob unknown');
    if (content.manifests?.some(({ digest }) => !manifests.has(digest)))
      return failure(404, 'MANIFEST_UNKNOWN', 'unknown');
    const digest = digestOf(body);
    if (reference.startsWith('sha256:') && reference !== digest) return failure(400, 'DIGEST_INVALID', 'digest');
    manifests.set(digest, body);
    if (!reference.startsWith('sha256:')) tags.set(reference, digest);
    return { status: 201, headers: { 'docker-content-digest': digest } };
  };
  const authorize = (request: IncomingMessage, wanted: readonly string[]): Reply | undefined => {
    const sent = request.headers.authorization ?? '';
    if (options.auth === undefined) return undefined;
    if (options.auth === 'basic') {
      return sent === basic ? undefined : challenge('Basic realm="registry"');
    }
    const granted = sent.startsWith('Bearer ') ? Buffer.from(sent.slice(7), 'base64').toString().split(' ') : [];
    // The challenge names what the request needs, and a client that knows more may ask for more.
    const complete = sent !== '' && wanted.every((scope) => granted.includes(scope));
    const named = `Bearer realm="http://${host}/token",service="test, registry",scope="${wanted.join(' ')}"`;
    return complete ? undefined : challenge(named);
  };
  const token = (request: IncomingMessage, url: URL, body: Buffer): Reply => {
    const identity = request.method === 'POST';
    const fields = identity ? new URLSearchParams(body.toString()) : url.searchParams;
    const known = identity
      ? fields.get('grant_type') === 'refresh_token' && fields.get('refresh_token') === account.identity
      : request.headers.authorization === basic;
    if (!known || fields.get('service') !== 'test, registry')
      return failure(401, 'UNAUTHORIZED', 'incorrect username or password');
    const scopes = fields.getAll('scope').flatMap((scope) => scope.split(' '));
    const granted = tokenFor(scopes);
    // Registries have it under either name.
    return { status: 200, body: JSON.stringify(identity ? { access_token: granted } : { token: granted }) };
  };

  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]);
      const line = `${request.method} ${(request.url ?? '').replace(/\?.*/, '').replace(/sha256:\w+/, 'DIGEST')}`;
      log.push(line);
      authorizations.push(request.headers.authorization);
      const reply = options.interfere?.(line) ?? answer(request, body);
      if (reply === 'drop') {
        request.socket.destroy();
        return;
      }
      response.writeHead(reply.status, reply.headers ?? {}).end(reply.body);
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    host,
    log,
    authorizations,
    repositories,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A token of this registry. */
export function tokenFor(scopes: readonly string[]): string {
  return Buffer.from(scopes.join(' ')).toString('base64');
}

function scopesOf(request: IncomingMessage, url: URL): readonly string[] {
  const name = /^\/v2\/(.+)\/(?:blobs|manifests)\//.exec(url.pathname)?.[1];
  const from = request.method === 'POST' ? url.searchParams.get('from') : null;
  return [
    ...(name === undefined ? [] : [`repository:${name}:pull,push`]),
    ...(from === null ? [] : [`repository:${from}:pull`]),
  ];
}

function challenge(value: string): Reply {
  return { ...failure(401, 'UNAUTHORIZED', 'authentication required'), headers: { 'www-authenticate': value } };
}

export function failure(status: number, code: string, message: string): Reply {
  return { status, body: JSON.stringify({ errors: [{ code, message }] }) };
}
