// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { dataSourceValidatorProgram } from './flags.ts';
import { runDataSourceValidator } from './program.ts';

void runMain(dataSourceValidatorProgram.name, runDataSourceValidator, { lateCompilers: ['maglev', 'turbofan'] });
