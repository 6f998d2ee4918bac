// SPDX-License-Identifier: Apache-2.0
/** Charts of other releases: copies of ours with another version, and with definitions as they were. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump, load } from 'js-yaml';
import { inject } from 'vitest';
import type { Definition } from '../snapshot-api/definitions.ts';
import { repositoryRoot } from '../processes/program.ts';

export type ChartName = 'snapshot-controller' | 'csi-driver';

export function chartFolder(name: ChartName): string {
  return join(repositoryRoot, 'charts', name);
}

export interface ChartCopy {
  readonly version: string;
  /** From a definition of ours to that of the other release. */
  readonly definition?: (definition: Definition) => object;
}

/** Returns the folder of the copy. */
export function copyChart(name: ChartName, { version, definition }: ChartCopy): string {
  const folder = join(mkdtempSync(join(inject('cluster').scratch, 'chart-')), name);
  cpSync(chartFolder(name), folder, { recursive: true });
  const manifest = join(folder, 'Chart.yaml');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/^version: .*$/m, `version: ${version}`));
  if (definition !== undefined) {
    const crds = join(folder, 'files', 'crds');
    for (const file of readdirSync(crds)) {
      const path = join(crds, file);
      writeFileSync(path, dump(definition(load(readFileSync(path, 'utf8')) as Definition)));
    }
  }
  return folder;
}

/**
 * As release 8.5 of the snapshot API had it: no v1 of the kinds of groups, and contents of groups are converted by a webhook. (There is
 * no module with the files of that release; docs/behaviour/snapshot-api.md has the differences.)
 */
export function asOfRelease85(definition: Definition): object {
  if (definition.spec.group !== 'groupsnapshot.storage.k8s.io') return definition;
  const versions = definition.spec.versions.filter(({ name }) => name !== 'v1');
  const conversion =
    definition.spec.names.kind === 'VolumeGroupSnapshotContent' ? { conversion: webhookOfRelease85 } : {};
  return { ...definition, spec: { ...definition.spec, ...conversion, versions } };
}

const webhookOfRelease85 = {
  strategy: 'Webhook',
  webhook: {
    conversionReviewVersions: ['v1'],
    clientConfig: { service: { namespace: 'default', name: 'snapshot-conversion-webhook-service', path: '/convert' } },
  },
};

/** As a later release may have it: a version that we do not know. */
export function asOfLaterRelease(definition: Definition): object {
  const versions = definition.spec.versions.map((version) => ({ ...version, storage: false }));
  const [first] = definition.spec.versions;
  return {
    ...definition,
    spec: { ...definition.spec, versions: [...versions, { ...first, name: 'v2', served: true, storage: true }] },
  };
}
