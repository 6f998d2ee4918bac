// SPDX-License-Identifier: Apache-2.0
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  account,
  failure,
  startRegistry,
  tokenFor,
  type RegistryOptions,
  type TestRegistry,
} from '../../testing/registry.ts';
import { blobPath, digestOf, layerOf, layoutOf, type Image, type Layer } from '../oci/layout.ts';
import { createClient } from './client.ts';
import type { Credentials } from './credentials.ts';
import { checkRegistry, pushImages, type PushedImage } from './push.ts';
import { parseTarget } from './target.ts';

const runtime = layerOf('runtime', [{ kind: 'file', path: 'node', content: Buffer.from('node') }]);
const layer = (name: string): Layer => layerOf(name, [{ kind: 'file', path: name, content: Buffer.from(name) }]);

function anImage(name: string): Image {
  const platform = (architecture: 'amd64' | 'arm64') => ({
    platform: { os: 'linux', architecture } as const,
    layers: [runtime, layer(name)],
    entrypoint: [`/${name}`],
    env: [architecture],
    labels: {},
  });
  return {
    reference: `${name}:v1`,
    created: '2026-01-02T03:04:05Z',
    annotations: {},
    platforms: [platform('amd64'), platform('arm64')],
  };
}

const layout = layoutOf([anImage('a'), anImage('b')]);
const images: readonly PushedImage[] = ['a', 'b'].map((name) => ({
  name,
  tags: ['v1', `v4.0.0-${name}`],
  digest: layout.digests.get(`${name}:v1`)!,
}));
const password: Credentials = { kind: 'password', user: account.user, password: account.password };

let open = new AsyncDisposableStack();
afterEach(async () => {
  await open.disposeAsync();
  open = new AsyncDisposableStack();
});
const registryWith = async (options: RegistryOptions = {}): Promise<TestRegistry> =>
  open.use(await startRegistry(options));

interface Pushed {
  readonly lines: readonly string[];
  readonly pauses: readonly number[];
}

async function push(host: string, credentials: Credentials = { kind: 'none' }, what = images): Promise<Pushed> {
  const target = parseTarget(`${host}/team`, { insecure: false });
  const [lines, pauses]: [string[], number[]] = [[], []];
  const client = createClient({ target, credentials });
  await checkRegistry({ target, credentials, client });
  await pushImages(layout, what, {
    target,
    credentials,
    client,
    report: (line) => void lines.push(line),
    pause: async (milliseconds) => void pauses.push(milliseconds),
  });
  return { lines, pauses };
}

const failing = async (host: string, credentials?: Credentials): Promise<string> =>
  await push(host, credentials).then(
    () => 'it succeeded',
    (error: unknown) => (error as Error).message,
  );

function expectComplete({ repositories }: TestRegistry): void {
  expect([...repositories.keys()]).toEqual(['team/a', 'team/b']);
  for (const { name, tags, digest } of images) {
    const { blobs, manifests, tags: stored } = repositories.get(`team/${name}`)!;
    expect([...stored]).toEqual(tags.map((tag) => [tag, digest]));
    // Two layers and two configurations; two manifests and the index.
    expect([blobs.size, manifests.size]).toEqual([4, 3]);
    for (const [found, content] of [...blobs, ...manifests]) {
      expect(digestOf(content)).toBe(found);
      expect(content.equals(layout.files.get(blobPath(found))!)).toBe(true);
    }
  }
}

describe('pushImages', () => {
  it('[packaging#54][packaging#55] given an empty registry, then every blob is sent once, shared ones are mounted, and digests are those of the layout', async () => {
    const registry = await registryWith();
    const { lines } = await push(registry.host);

    expectComplete(registry);
    expect(lines).toEqual([
      `${registry.host}/team/a:v1@${images[0]!.digest}: 4 blobs sent, 0 mounted, 2 there already`,
      `${registry.host}/team/b:v1@${images[1]!.digest}: 3 blobs sent, 1 mounted, 2 there already`,
    ]);
  });

  it('[packaging#56] given one image, then its requests come in an order in which nothing is named before it is there', async () => {
    const registry = await registryWith();
    await push(registry.host, undefined, images.slice(0, 1));

    const blob = [
      'HEAD /v2/team/a/blobs/DIGEST',
      'POST /v2/team/a/blobs/uploads/',
      'PUT /v2/team/a/blobs/uploads/session',
    ];
    const manifest = 'PUT /v2/team/a/manifests/DIGEST';
    expect(registry.log).toEqual([
      'GET /v2/',
      ...blob,
      ...blob,
      ...blob,
      manifest,
      blob[0],
      blob[0],
      ...blob,
      manifest,
      'PUT /v2/team/a/manifests/v1',
      'PUT /v2/team/a/manifests/v4.0.0-a',
    ]);
  });

  it('[packaging#55] given a second push, then no blob is sent again', async () => {
    const registry = await registryWith();
    await push(registry.host);
    registry.log.length = 0;
    await push(registry.host);

    expect(registry.log.filter((line) => /^POST|uploads/.test(line))).toEqual([]);
    expectComplete(registry);
  });

  it('[packaging#55] given a registry that does not mount, then the upload that it opens instead is used', async () => {
    const registry = await registryWith({ mounts: 'never' });
    await push(registry.host);

    expectComplete(registry);
    const count = (method: string): number =>
      registry.log.filter((line) => line.startsWith(method) && line.includes('uploads')).length;
    expect([count('POST'), count('PUT')]).toEqual([8, 8]);
  });

  it('[packaging#55] given a registry that refuses to mount, then the blob is sent', async () => {
    let refused = 0;
    const registry = await registryWith({
      interfere: (request) => {
        const mounts = request === 'POST /v2/team/b/blobs/uploads/' && refused === 0;
        if (mounts) refused += 1;
        return mounts ? failure(403, 'DENIED', 'no mounts') : undefined;
      },
    });
    await push(registry.host);
    expectComplete(registry);
    expect(refused).toBe(1);
  });
});

describe('credentials', () => {
  it.each([
    ['bearer', password],
    ['basic', password],
    ['identity', { kind: 'identity', token: account.identity }],
  ] as const)(
    '[packaging#57] given a registry that asks for %s, then it gets what it asks for',
    async (auth, credentials) => {
      const registry = await registryWith({ auth });
      const { lines } = await push(registry.host, credentials);
      expectComplete(registry);
      expect(lines[1]).toMatch(/ 3 blobs sent, 1 mounted, 2 there already$/);
    },
  );

  it('[packaging#57] given a token of the registry itself, then it is sent as it is', async () => {
    const registry = await registryWith({ auth: 'bearer' });
    const token = tokenFor(
      ['a', 'b'].flatMap((name) => [`repository:team/${name}:pull,push`, `repository:team/${name}:pull`]),
    );
    await push(registry.host, { kind: 'bearer', token });
    expectComplete(registry);
    expect(registry.log.filter((line) => line.includes('/token'))).toEqual([]);
  });

  it('[packaging#59] given a challenge of an unknown kind, then the error has it', async () => {
    for (const challenge of ['Bearer service="x"', 'Negotiate']) {
      const headers = { 'www-authenticate': challenge };
      const { host } = await registryWith({ interfere: () => ({ status: 401, headers }) });
      expect(await failing(host)).toContain(challenge.replace('Bearer ', ''));
    }
  });

  it('[packaging#57] given a token, then it is asked for once for the same rights', async () => {
    const registry = await registryWith({ auth: 'bearer' });
    await push(registry.host, password);
    // For no repository, for a, for b, and for b with a as the source of a mount.
    expect(registry.log.filter((line) => line.startsWith('GET /token'))).toHaveLength(4);
  });

  it('[packaging#59] given no credentials, then the error says how to log in', async () => {
    for (const auth of ['bearer', 'basic'] as const) {
      const { host } = await registryWith({ auth });
      expect(await failing(host)).toContain(`docker login ${host}`);
    }
  });

  it('[packaging#59] given a wrong password, then the error says so and does not have it', async () => {
    const { host } = await registryWith({ auth: 'bearer' });
    const message = await failing(host, { kind: 'password', user: 'me', password: 'wrong-secret' });
    expect(message).toBe(
      `${host} answered 401 UNAUTHORIZED "incorrect username or password". The credentials of docker for it are not accepted, or may not push to ${host}/team: docker login ${host}`,
    );
  });

  it('[packaging#58] given tokens and uploads of another place, then the credentials of the registry do not go there', async () => {
    const elsewhere = await registryWith({ interfere: () => ({ status: 201 }) });
    const registry = await registryWith({
      auth: 'basic',
      interfere: (request) =>
        request.startsWith('POST')
          ? { status: 202, headers: { location: `http://${elsewhere.host}/upload?x=y` } }
          : undefined,
    });
    await push(registry.host, password).catch(() => undefined);
    expect(elsewhere.log[0]).toBe('PUT /upload');
    expect(new Set(elsewhere.authorizations)).toEqual(new Set([undefined]));
  });
});

describe('[packaging#59] errors', () => {
  const first = (method: string, reply: ReturnType<typeof failure> | 'drop', times = Infinity) => {
    let left = times;
    return (request: string) => {
      if (!request.startsWith(method) || left === 0) return undefined;
      left -= 1;
      return reply;
    };
  };

  it('given a port without a listener, then the error names it at once', async () => {
    const registry = await startRegistry();
    await registry[Symbol.asyncDispose]();
    expect(await failing(registry.host)).toMatch(new RegExp(`^${registry.host} cannot be reached: .*ECONNREFUSED`));
  });

  it('given a host that does not exist, then the error names it', async () => {
    expect(await failing('nobody.invalid')).toMatch(/^nobody\.invalid cannot be reached: .*nobody\.invalid/);
  });

  it('given something that is no registry, then the error says so', async () => {
    const { host } = await registryWith({ interfere: first('GET', { status: 404, body: 'not here' }) });
    expect(await failing(host)).toBe(`http://${host} is no registry: it has no /v2/`);
  });

  it('given an account that may not push, then the error has the words of the registry', async () => {
    const { host } = await registryWith({
      interfere: first('POST', failure(403, 'DENIED', 'requested access is denied')),
    });
    expect(await failing(host)).toBe(
      `${host} answered 403 DENIED "requested access is denied". There are no credentials for it: docker login ${host}`,
    );
  });

  it('given a registry that creates no repositories, then the error says what to create', async () => {
    const { host } = await registryWith({ interfere: first('POST', failure(404, 'NAME_UNKNOWN', 'unknown')) });
    expect(await failing(host)).toContain(`to be created before: one for each image below ${host}/team`);
  });

  it('given data that changes on the way, then the error says so, and no tag is written', async () => {
    const registry = await registryWith({ tamper: (body) => Buffer.concat([body, Buffer.from('x')]) });
    expect(await failing(registry.host)).toContain(
      '400 DIGEST_INVALID "provided digest differs". Something on the way',
    );
    expect(registry.log.filter((line) => line.includes('manifests'))).toEqual([]);
  });

  it('given a limit for the size of requests, then the error names the proxy', async () => {
    const { host } = await registryWith({ interfere: first('PUT', { status: 413, body: '<html>' }) });
    expect(await failing(host)).toBe(
      `${host} answered 413. A proxy in front of it has a limit for the size of a request`,
    );
  });

  it('given a registry that stores something else than it was sent, then that is an error', async () => {
    const { host } = await registryWith({
      interfere: first('PUT /v2/team/a/manifests', { status: 201, headers: { 'docker-content-digest': 'sha256:0' } }),
    });
    expect(await failing(host)).toContain('as sha256:0, not sha256:');
  });

  it.each([
    ['a lost connection', 'drop'],
    ['503', failure(503, 'UNAVAILABLE', 'busy')],
    ['429', failure(429, 'TOOMANYREQUESTS', 'slower')],
  ] as const)('given %s during uploads, then they are begun again, and the push succeeds', async (_what, reply) => {
    const registry = await registryWith({ interfere: first('PUT', reply, 3) });
    const { pauses } = await push(registry.host);
    expect(pauses).toEqual([1000, 2000, 4000]);
    expectComplete(registry);
  });

  it('given a registry that stays busy, then the push ends after four attempts', async () => {
    const registry = await registryWith({ interfere: first('PUT', failure(429, 'TOOMANYREQUESTS', 'slower')) });
    expect(await failing(registry.host)).toBe(
      `${registry.host} answered 429 TOOMANYREQUESTS "slower". It has a limit for requests: try again later`,
    );
    expect(registry.log.filter((line) => line.startsWith('PUT'))).toHaveLength(4);
  });
});

it('[packaging#58] given a registry with TLS that wants data or sends for tokens without it, then nothing is sent there', async () => {
  const target = parseTarget('registry.example.com/team', { insecure: false });
  const client = createClient({ target, credentials: { kind: 'none' } });
  const upload = client({ method: 'PUT', to: 'http://registry.example.com/upload', scopes: [] });
  await expect(upload).rejects.toThrow('wants data at http://registry.example.com, without TLS');

  const headers = { 'www-authenticate': 'Bearer realm="http://tokens.example.com/",service="s"' };
  const fetched = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('', { status: 401, headers }));
  try {
    const get = client({ method: 'GET', to: '/v2/', scopes: [] });
    await expect(get).rejects.toThrow('sends for tokens to tokens.example.com without TLS');
    expect(fetched).toHaveBeenCalledTimes(1);
  } finally {
    fetched.mockRestore();
  }
});
