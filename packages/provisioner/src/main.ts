// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { provisionerProgram } from './flags.ts';
import { runProvisioner } from './program.ts';

void runMain(provisionerProgram.name, runProvisioner);
