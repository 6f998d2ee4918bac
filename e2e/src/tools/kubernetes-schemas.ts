// SPDX-License-Identifier: Apache-2.0
/**
 * JSON schemas for kubeconform: made from the OpenAPI document in Kubernetes' own module, at three minor versions, and kept in the cache
 * outside of the repository. Beside them are those of the snapshot API, from the files of the chart, and of kinds of others.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { snapshotDefinitions } from '../snapshot-api/definitions.ts';
import { withoutAddresses } from './ensure-tools.ts';
import { cacheFolder, type Environment } from '../../../scripts/cache-folder.ts';
import { type CustomKind, fromDefinitions } from './schemas/from-definitions.ts';
import { fromSwagger, type Swagger } from './schemas/from-swagger.ts';
import type { Schema } from './schemas/json-schema.ts';
import { othersClusterSchemas, othersSchemas } from './schemas/others.ts';

export interface KubernetesSchemas {
  /** For example `1.37`. */
  readonly minor: string;
  /** With a file for each kind: `deployment-apps-v1.json`. */
  readonly folder: string;
}

interface Source {
  readonly version: string;
  /** The checksum of the module, as go.sum has it. */
  readonly sum: string;
}

const module = 'k8s.io/kubernetes';

/** The oldest that the charts accept, the one before the one that the suite runs on, and that one. */
const sources: readonly Source[] = [
  { version: 'v1.30.14', sum: 'h1:MrlKXh9uhLIJpyxOeXhcndzRVSvwiV9iJ8NgH8nqPsg=' },
  { version: 'v1.36.3', sum: 'h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o=' },
  { version: 'v1.37.2', sum: 'h1:A2VDEiObzkYqFTKhSsn0ZEb0RlLEXpHWj93gi2HqEwE=' },
];

export const schemaVersions: readonly string[] = sources.map(({ version }) => version);

export async function ensureKubernetesSchemas(env: Environment = process.env): Promise<readonly KubernetesSchemas[]> {
  const made: KubernetesSchemas[] = [];
  for (const source of sources) made.push(await ensureSchemas(source, env));
  return made;
}

async function ensureSchemas({ version, sum }: Source, env: Environment): Promise<KubernetesSchemas> {
  const minor = version.slice(1).split('.').slice(0, 2).join('.');
  const parent = join(cacheFolder(env), 'schemas');
  const folder = join(parent, `${version}-${contentKey()}`);
  if (existsSync(folder)) return { minor, folder };
  mkdirSync(parent, { recursive: true });
  const swagger = await readSwagger({ version, sum }, parent);
  // Renamed into place, so that an interrupted run leaves nothing that looks finished.
  const draft = mkdtempSync(join(parent, '.draft-'));
  try {
    for (const files of [fromSwagger(swagger), fromDefinitions(customKinds(), swagger)]) {
      for (const [file, schema] of files) writeFileSync(join(draft, file), JSON.stringify(schema));
    }
    if (!existsSync(folder)) renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return { minor, folder };
}

interface Download {
  readonly Dir: string;
  readonly Sum: string;
}

async function readSwagger({ version, sum }: Source, cwd: string): Promise<Swagger> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', `${module}@${version}`], {
    cwd,
    env: { ...process.env, GOFLAGS: '' },
  }).catch((error: unknown): never => {
    // Not as its cause: a download error names the module proxy.
    const reason = withoutAddresses(error instanceof Error ? error.message : String(error));
    throw new Error(`cannot download ${module} ${version}: ${reason}`);
  });
  const { Dir, Sum } = JSON.parse(stdout) as Download;
  if (Sum !== sum) throw new Error(`${module} ${version} has the sum ${Sum}, not ${sum}`);
  return JSON.parse(readFileSync(join(Dir, 'api', 'openapi-spec', 'swagger.json'), 'utf8')) as Swagger;
}

function customKinds(): readonly CustomKind[] {
  const ours = snapshotDefinitions(['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io']).flatMap(({ spec }) =>
    spec.versions
      .filter(({ served }) => served)
      .map((version) => ({
        group: spec.group,
        version: version.name,
        kind: spec.names.kind,
        schema: (version as unknown as { readonly schema: { readonly openAPIV3Schema: Schema } }).schema
          .openAPIV3Schema,
      })),
  );
  return [...ours, ...othersSchemas, ...othersClusterSchemas];
}

/** A key of everything but the module that decides what is in the files. */
function contentKey(): string {
  const hash = createHash('sha256');
  const code = join(import.meta.dirname, 'schemas');
  for (const file of readdirSync(code).sort()) hash.update(readFileSync(join(code, file)));
  hash.update(JSON.stringify(customKinds()));
  return hash.digest('hex').slice(0, 16);
}
