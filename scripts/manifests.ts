// SPDX-License-Identifier: Apache-2.0
/** All programs. Imports are relative on purpose: manifests are no part of what packages offer to each other. */
import {
  allInOneManifest,
  combinedManifest,
  auditManifest,
  doctorManifest,
  explainManifest,
  leftoversManifest,
} from '../packages/all-in-one/src/manifest.ts';
import { attacherManifest } from '../packages/attacher/src/manifest.ts';
import { healthMonitorManifest } from '../packages/health-monitor/src/manifest.ts';
import { dataSourceValidatorManifest } from '../packages/data-source-validator/src/manifest.ts';
import { livenessprobeManifest } from '../packages/livenessprobe/src/manifest.ts';
import { nodeDriverRegistrarManifest } from '../packages/node-driver-registrar/src/manifest.ts';
import { provisionerManifest } from '../packages/provisioner/src/manifest.ts';
import { resizerManifest } from '../packages/resizer/src/manifest.ts';
import { webhookManifest } from '../packages/snapshot-conversion-webhook/src/manifest.ts';
import { snapshotMetadataManifest } from '../packages/snapshot-metadata/src/manifest.ts';
import { snapshotterManifest } from '../packages/snapshotter/src/manifest.ts';
import { snapshotControllerManifest } from '../packages/snapshot-controller/src/manifest.ts';
import type { ProgramManifest } from '@csi-sidecars/sidecar';

/** In the order of the reference pages. */
export const manifests: readonly (ProgramManifest & { readonly name: ProgramName })[] = [
  provisionerManifest,
  attacherManifest,
  resizerManifest,
  snapshotterManifest,
  healthMonitorManifest,
  snapshotControllerManifest,
  snapshotMetadataManifest,
  dataSourceValidatorManifest,
  webhookManifest,
  nodeDriverRegistrarManifest,
  livenessprobeManifest,
  combinedManifest,
  allInOneManifest,
  leftoversManifest,
  explainManifest,
  doctorManifest,
  auditManifest,
];

export type ProgramName =
  | BuiltControllerName
  | (typeof nodeDriverRegistrarManifest)['name']
  | (typeof livenessprobeManifest)['name']
  | (typeof allInOneManifest)['name']
  | (typeof snapshotMetadataManifest)['name']
  | (typeof webhookManifest)['name'];

/** Programs that exist and talk to the API server. */
export type BuiltControllerName =
  | (typeof provisionerManifest)['name']
  | (typeof attacherManifest)['name']
  | (typeof resizerManifest)['name']
  | (typeof snapshotterManifest)['name']
  | (typeof healthMonitorManifest)['name']
  | (typeof snapshotControllerManifest)['name']
  | (typeof dataSourceValidatorManifest)['name'];
