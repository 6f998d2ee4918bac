// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { snapshotterProgram } from './flags.ts';
import { runSnapshotter } from './program.ts';

void runMain(snapshotterProgram.name, runSnapshotter);
