// SPDX-License-Identifier: Apache-2.0
/**
 * Pushes the images of a layout, each to a repository of its name: first blobs, then the manifests of the platforms, and the tags at the
 * end, so that a tag never names something that is not there.
 */
import { blobPath, digestOf, type Descriptor, type Digest, type Layout } from '../oci/layout.ts';
import { patiently, refusal, type Asker, type RegistryAnswer, type RegistryClient } from './client.ts';

export interface PushedImage {
  readonly name: string;
  readonly tags: readonly string[];
  /** The digest of its index. */
  readonly digest: Digest;
}

export interface PushDeps extends Asker {
  readonly client: RegistryClient;
  readonly report: (line: string) => void;
  /** Before another attempt. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

interface Repository {
  readonly name: string;
  readonly scope: string;
}

type Fate = 'there' | 'mounted' | 'sent';

/** Worth a line before it is sent. */
const largeBytes = 5e6;

export async function pushImages(
  { files }: Pick<Layout, 'files'>,
  images: readonly PushedImage[],
  deps: PushDeps,
): Promise<void> {
  /** Blob -> a repository of this push that has it. */
  const homes = new Map<string, Repository>();
  const contentOf = (digest: Digest): Uint8Array => {
    const content = files.get(blobPath(digest));
    if (content === undefined || digestOf(content) !== digest) throw new Error(`the layout has no blob ${digest}`);
    return content;
  };
  const read = (digest: Digest): Manifest => JSON.parse(Buffer.from(contentOf(digest)).toString()) as Manifest;
  for (const { name, tags, digest } of images) {
    const path = `${deps.target.path}${name}`;
    const repository: Repository = { name: path, scope: `repository:${path}:pull,push` };
    const index = read(digest);
    const platforms = index.manifests ?? [];
    const fates: Fate[] = [];
    for (const manifest of platforms) {
      const { config, layers = [] } = read(manifest.digest);
      for (const blob of [...layers, ...(config === undefined ? [] : [config])]) {
        const push: BlobPush = { repository, blob, content: contentOf(blob.digest), home: homes.get(blob.digest) };
        fates.push(await patiently(() => pushBlob(push, deps), deps.pause));
        homes.set(blob.digest, homes.get(blob.digest) ?? repository);
      }
      await putManifest({ repository, type: manifest.mediaType, content: contentOf(manifest.digest) }, deps);
    }
    for (const tag of tags) {
      await putManifest({ repository, type: index.mediaType, content: contentOf(digest), tag }, deps);
    }
    const count = (fate: Fate): number => fates.filter((each) => each === fate).length;
    deps.report(
      `${deps.target.name}/${name}:${tags[0]}@${digest}: ${count('sent')} blobs sent, ${count('mounted')} mounted, ${count('there')} there already`,
    );
  }
}

interface Manifest {
  readonly mediaType: string;
  readonly manifests?: readonly Descriptor[];
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
}

/** Throws where nothing listens, or something else does, or the credentials are refused: before the images are built. */
export async function checkRegistry(deps: Omit<PushDeps, 'report'>): Promise<void> {
  const answer = await deps.client({ method: 'GET', to: '/v2/', scopes: [] });
  if (answer.status === 404) throw new Error(`${deps.target.url} is no registry: it has no /v2/`);
  // Some refuse this request to those who may push.
  if (answer.status >= 400 && answer.status !== 403) throw refusal(answer, deps);
}

interface BlobPush {
  readonly repository: Repository;
  readonly blob: Descriptor;
  readonly content: Uint8Array;
  readonly home: Repository | undefined;
}

async function pushBlob({ repository, blob, content, home }: BlobPush, deps: PushDeps): Promise<Fate> {
  const { client } = deps;
  const scopes = [repository.scope];
  const uploads = `/v2/${repository.name}/blobs/uploads/`;
  const head = await client({ method: 'HEAD', to: `/v2/${repository.name}/blobs/${blob.digest}`, scopes });
  if (head.status === 200) return 'there';
  if (head.status !== 404) throw refusal(head, deps);
  let opened: RegistryAnswer | undefined;
  if (home !== undefined && home.name !== repository.name) {
    const query = new URLSearchParams({ mount: blob.digest, from: home.name });
    const mount = {
      method: 'POST',
      to: `${uploads}?${query.toString()}`,
      scopes: [...scopes, `repository:${home.name}:pull`],
    } as const;
    opened = await client(mount);
    if (opened.status === 201) return 'mounted';
  }
  // A registry that does not mount has opened an upload instead, or refuses the parameters.
  if (opened?.status !== 202) opened = await client({ method: 'POST', to: uploads, scopes });
  const location = opened.headers.get('location');
  if (opened.status !== 202 || location === null) throw refusal(opened, deps);
  if (blob.size > largeBytes) deps.report(`${repository.name}: sending ${(blob.size / 1e6).toFixed(1)} MB`);
  // Its query is the registry's, to the letter.
  const address = new URL(location, opened.url).href;
  const to = `${address}${address.includes('?') ? '&' : '?'}digest=${encodeURIComponent(blob.digest)}`;
  const put = await client({ method: 'PUT', to, scopes, type: 'application/octet-stream', body: content });
  if (put.status !== 201) throw refusal(put, deps);
  return 'sent';
}

interface ManifestPush {
  readonly repository: Repository;
  readonly type: string;
  readonly content: Uint8Array;
  /** Default: it is known by its digest only. */
  readonly tag?: string;
}

async function putManifest({ repository, type, content, tag }: ManifestPush, deps: PushDeps): Promise<void> {
  const digest = digestOf(content);
  const to = `/v2/${repository.name}/manifests/${tag ?? digest}`;
  const put = { method: 'PUT', to, scopes: [repository.scope], type, body: content } as const;
  const answer = await patiently(() => deps.client(put), deps.pause);
  if (answer.status !== 201) throw refusal(answer, deps);
  const stored = answer.headers.get('docker-content-digest');
  if (stored !== null && stored !== digest) {
    throw new Error(`${deps.target.host} has stored ${repository.name}:${tag ?? digest} as ${stored}, not ${digest}`);
  }
}
