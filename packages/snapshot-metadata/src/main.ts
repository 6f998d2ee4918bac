// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { snapshotMetadataProgram } from './flags.ts';
import { runSnapshotMetadata } from './program.ts';

void runMain(snapshotMetadataProgram.name, runSnapshotMetadata);
