// SPDX-License-Identifier: Apache-2.0
/** Writes the CustomResourceDefinitions of the snapshot API, and those of populators and of snapshot metadata, into the chart. `npm run check` fails when a file is not up to date. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { toDefinition } from './crds/definition.ts';
import { groupSnapshotKinds } from './crds/group-snapshots.ts';
import { snapshotMetadataKinds } from './crds/snapshot-metadata.ts';
import { snapshotKinds } from './crds/snapshots.ts';
import { volumePopulatorKinds } from './crds/volume-populators.ts';

const folder = join(import.meta.dirname, '..', 'charts', 'snapshot-controller', 'files', 'crds');
const head = '# Generated from scripts/crds (`npm run generate`).\n';

mkdirSync(folder, { recursive: true });
const kinds = [...snapshotKinds, ...groupSnapshotKinds, ...volumePopulatorKinds, ...snapshotMetadataKinds];
for (const { name, definition } of kinds.map(toDefinition)) {
  writeFileSync(join(folder, `${name}.yaml`), `${head}${dump(definition, { noRefs: true, lineWidth: 140 })}`);
}
